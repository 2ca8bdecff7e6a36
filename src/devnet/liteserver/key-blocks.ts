import type { BlockPlace, Chain } from '../model.ts';
import type { Blocks } from './blocks.ts';

/** The key blocks of the chain, and the zero state, which holds a configuration as they do. */
export interface KeyBlocks {
  has(seqno: number): boolean;
  /** The newest one before a masterchain block. */
  before(place: BlockPlace): BlockPlace;
  /** Those behind one up to another, by seqno. */
  between(after: number, upTo: number): BlockPlace[];
}

export function createKeyBlocks(chain: Chain, blocks: Blocks): KeyBlocks {
  const seqnos = [0];
  let knownUpTo = 0;

  /** Each header names the key block before it: the walk from the head ends at one that is known. */
  function learn(): void {
    const head = chain.head().mc;
    if (head.seqno === knownUpTo) return;
    const fresh: number[] = [];
    const newest = seqnos[seqnos.length - 1];
    let seqno = head.seqno;
    let { keyBlock, prevKeyBlockSeqno } = blocks.info(head);
    while (seqno > newest) {
      if (keyBlock) fresh.push(seqno);
      seqno = prevKeyBlockSeqno;
      if (seqno > newest) ({ keyBlock, prevKeyBlockSeqno } = blocks.info(blocks.masterAt(seqno)));
    }
    seqnos.push(...fresh.reverse());
    knownUpTo = head.seqno;
  }

  const indexBehind = (seqno: number): number => {
    learn();
    let [low, high] = [0, seqnos.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (seqnos[middle] > seqno) high = middle;
      else low = middle + 1;
    }
    return low;
  };

  return {
    has: (seqno) => seqnos[indexBehind(seqno) - 1] === seqno,
    before: ({ seqno }) => blocks.masterAt(seqnos[indexBehind(seqno - 1) - 1]),
    between: (after, upTo) => seqnos.slice(indexBehind(after), indexBehind(upTo)).map(blocks.masterAt),
  };
}
