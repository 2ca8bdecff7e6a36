import { setTimeout as sleep } from 'node:timers/promises';
import type { BlockIdExt } from '../../src/chain/model.ts';
import type { ChainNode } from '../../src/node/chain-node.ts';
import { IngestError } from './check.ts';
import type { Patience } from './follow-patience.ts';

/** A masterchain block as the head's follower learnt of it. */
export interface SeenBlock {
  id: BlockIdExt;
  /** `performance.now()` of that moment. */
  atMs: number;
}

/** The end of the chain as the servers show it. */
export interface ChainHead {
  /** Newest masterchain seqno. */
  readonly seqno: number;
  /** The id that came with the long poll, for blocks near the head. */
  seen(seqno: number): SeenBlock | null;
  /**
   * Follows until the signal aborts; then it rejects with the signal's reason.
   * @throws IngestError `unproven` when the head is behind what was told before
   */
  follow(): Promise<never>;
}

export interface HeadOptions {
  node: ChainNode;
  patience: Patience;
  first: BlockIdExt;
  onAdvance: (seqno: number) => void;
  /** How long the next block is waited for before the head is asked for again. */
  pollMs: number;
  signal: AbortSignal;
}

const REMEMBERED = 1_024;
/** Answers faster than this are about blocks that were there already. */
const QUICK_MS = 20;
/** So many of them in a row, and the head is asked for instead of being walked to block by block. */
const QUICK_ANSWERS = 3;
/** Against a server that ends a long poll at once without a block. */
const EMPTY_PAUSE_MS = 200;

/** Follows the head by long poll: one request is always waiting for the next masterchain block. */
export function createHead({ node, patience, first, onAdvance, pollMs, signal }: HeadOptions): ChainHead {
  const ids = new Map<number, SeenBlock>([[first.seqno, { id: first, atMs: performance.now() }]]);
  let newest = first.seqno;

  function note(id: BlockIdExt): void {
    ids.set(id.seqno, { id, atMs: performance.now() });
    for (const oldest of ids.keys()) {
      if (ids.size <= REMEMBERED) break;
      ids.delete(oldest);
    }
    if (id.seqno <= newest) return;
    newest = id.seqno;
    onAdvance(newest);
  }

  async function waitNext(): Promise<{ id: BlockIdExt | null; tookMs: number }> {
    return patience.untilDone(`waiting for masterchain block ${newest + 1}`, async () => {
      const since = performance.now();
      const id = await node.waitMasterchainBlock(newest + 1, pollMs, signal);
      return { id, tookMs: performance.now() - since };
    });
  }

  const askHead = (): Promise<BlockIdExt> => patience.untilDone('asking for the head', () => node.head(signal));

  /** No block came: who told of the head may have made it up, and what was begun for it is in vain. */
  async function checkHead(): Promise<void> {
    const { seqno } = await askHead();
    if (seqno >= newest) return;
    const what = `the head was ${newest}, and is ${seqno}: who told of it is gone or made it up`;
    throw new IngestError('unproven', null, `${what}; beginning anew`);
  }

  return {
    get seqno() {
      return newest;
    },
    seen: (seqno) => ids.get(seqno) ?? null,
    async follow() {
      for (let quick = 0; ; ) {
        const { id, tookMs } = await waitNext();
        if (id !== null) note(id);
        else {
          await checkHead();
          if (tookMs < EMPTY_PAUSE_MS) await sleep(EMPTY_PAUSE_MS, undefined, { signal });
        }
        quick = id !== null && tookMs < QUICK_MS ? quick + 1 : 0;
        if (quick < QUICK_ANSWERS) continue;
        quick = 0;
        note(await askHead());
      }
    },
  };
}
