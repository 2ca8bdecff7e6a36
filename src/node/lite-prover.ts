import { checkLink, createSignerCache, type LinkedBlock } from '../chain/block-proof.ts';
import { ProofError } from '../chain/errors.ts';
import type { BlockIdExt } from '../chain/model.ts';
import { type BlockProver, NodeError, type ProvenBlock } from './chain-node.ts';
import { blockIdExtFromTl, blockIdExtToTl, type LiteAnswer, type LiteRequest, sameBlock } from './lite-api.ts';
import { linkFromTl } from './lite-links.ts';
import type { TrustedBlock } from './trusted-block.ts';

type ProofRequest = LiteRequest<'getBlockProof'>;

/** Asks one server or whichever can answer; `read` checks the answer and throws what is wrong with it. */
export type AskProof = <T>(
  request: ProofRequest,
  target: BlockIdExt,
  read: (answer: LiteAnswer<'getBlockProof'>) => T,
  signal: AbortSignal,
) => Promise<T>;

/** A prover that can also be told whom to ask; then what is wrong comes as it is. */
export interface LiteProver extends BlockProver {
  proveBy(ask: AskProof, id: BlockIdExt, signal: AbortSignal): Promise<ProvenBlock>;
}

export interface ProverContext {
  ask: AskProof;
  /** The head that the servers claim, to be proven before older blocks are proven by it. */
  head(signal: AbortSignal): Promise<BlockIdExt>;
  trusted: TrustedBlock;
  /** How far it is while many key blocks are proven one after the other. */
  onKeyBlock?: (keyBlock: BlockIdExt, target: BlockIdExt) => void;
}

/** A node's limit of the steps in one answer. */
const MAX_STEPS = 16;

/** Servers forget states: what old blocks are proven by must not be older. */
const NEWEST_MS = 60_000;

/** Where an answer has led. */
interface Led {
  block: LinkedBlock;
  keyBlocks: BlockIdExt[];
  complete: boolean;
}

/**
 * Proves blocks by `getBlockProof`: newer ones by links forward from the last key block, older ones by a link back from
 * the newest block proven. Stricter than the published clients: each step begins where the one before it ended, forward
 * links come from the key block just before their target, nothing behind the newest proven block is taken on the word of
 * signatures alone.
 */
export function createLiteProver({ ask: askAny, head, trusted, onKeyBlock }: ProverContext): LiteProver {
  const signers = createSignerCache();
  let keyBlock = trusted.first;
  let newest: ProvenBlock | null = null;
  let newestAtMs = Number.NEGATIVE_INFINITY;

  function advance(to: BlockIdExt): void {
    if (to.seqno <= keyBlock.seqno) return;
    keyBlock = to;
    trusted.keep(to);
  }

  async function forward(ask: AskProof, target: BlockIdExt, signal: AbortSignal): Promise<ProvenBlock> {
    const first = keyBlock;
    for (let at = first; ; ) {
      const from = at;
      const request = proofRequest(from, target);
      // Steps back and forth between the same key blocks would be true, and never come to an end.
      const mayStepBack = from === first;
      const read = (answer: LiteAnswer<'getBlockProof'>): Led => readForward(answer, { from, target, mayStepBack });
      const led = await ask(request, target, read, signal);
      for (const passed of led.keyBlocks) {
        advance(passed);
        onKeyBlock?.(passed, target);
      }
      at = led.block.id;
      if (!led.complete) continue;
      const proven = { id: target, genUtime: led.block.genUtime };
      // Another proof may have gone further meanwhile.
      if (newest === null || target.seqno >= newest.id.seqno) {
        newest = proven;
        newestAtMs = performance.now();
      }
      return proven;
    }
  }

  function readForward(
    answer: LiteAnswer<'getBlockProof'>,
    { from, target, mayStepBack }: { from: BlockIdExt; target: BlockIdExt; mayStepBack: boolean },
  ): Led {
    const { steps } = answer;
    if (!sameBlock(blockIdExtFromTl(answer.from), from))
      throw new ProofError('proof from another block than asked for');
    if (steps.length === 0) throw new ProofError('proof without steps');
    if (steps.length > MAX_STEPS) throw new ProofError(`proof of ${steps.length} steps`);
    const keyBlocks: BlockIdExt[] = [];
    let block: LinkedBlock = { id: from, keyBlock: true, genUtime: null };
    for (const [step, tl] of steps.entries()) {
      const link = linkFromTl(tl);
      if (!sameBlock(link.from, block.id)) throw new ProofError('step that does not begin where the one before ended');
      // From a block that is no key block the way leads over the one before it.
      if (link.kind === 'back' && (step > 0 || !mayStepBack)) throw new ProofError('step back within a proof forward');
      block = checkLink(link, signers);
      const isTarget = sameBlock(block.id, target);
      if (!isTarget && (block.id.seqno >= target.seqno || !block.keyBlock))
        throw new ProofError('proof of another block');
      if (block.keyBlock && link.kind === 'forward') keyBlocks.push(block.id);
    }
    if (!sameBlock(blockIdExtFromTl(answer.to), block.id))
      throw new ProofError('proof that does not end where it says');
    const complete = sameBlock(block.id, target);
    if (answer.complete !== complete) throw new ProofError('proof that is wrong on whether it is complete');
    return { block, keyBlocks, complete };
  }

  async function back(ask: AskProof, target: BlockIdExt, signal: AbortSignal): Promise<ProvenBlock> {
    if (newest === null || performance.now() - newestAtMs > NEWEST_MS)
      await forwardOrKnown(askAny, await head(signal), signal);
    const from = newest === null || newest.id.seqno < keyBlock.seqno ? keyBlock : newest.id;
    const read = (answer: LiteAnswer<'getBlockProof'>): ProvenBlock => {
      if (answer.steps.length !== 1) throw new ProofError(`proof back of ${answer.steps.length} steps`);
      const link = linkFromTl(answer.steps[0]);
      if (link.kind !== 'back') throw new ProofError('fork: signatures for a block that newer ones should remember');
      if (!sameBlock(link.from, from) || !sameBlock(link.to, target)) throw new ProofError('proof of another block');
      const { genUtime } = checkLink(link, signers);
      return { id: target, genUtime };
    };
    return ask(proofRequest(from, target), target, read, signal);
  }

  /** The head again, or further. */
  async function forwardOrKnown(ask: AskProof, target: BlockIdExt, signal: AbortSignal): Promise<void> {
    const known = [keyBlock, ...(newest === null ? [] : [newest.id])];
    if (known.some((each) => each.seqno >= target.seqno)) return;
    await forward(ask, target, signal);
  }

  async function proveBy(ask: AskProof, target: BlockIdExt, signal: AbortSignal): Promise<ProvenBlock> {
    if (target.workchain !== -1) throw new RangeError('only masterchain blocks are proven by signatures');
    for (const known of [newest, { id: keyBlock, genUtime: null }]) {
      if (known === null || known.id.seqno !== target.seqno) continue;
      if (sameBlock(known.id, target)) return known;
      throw new ProofError(`fork: another block ${target.seqno} is proven`);
    }
    const behind = target.seqno < Math.max(keyBlock.seqno, newest?.id.seqno ?? 0);
    return behind ? back(ask, target, signal) : forward(ask, target, signal);
  }

  return {
    async prove(id, signal) {
      try {
        return await proveBy(askAny, id, signal);
      } catch (error) {
        // Of a block that contradicts a proven one there is no proof, whoever is asked.
        if (error instanceof ProofError) throw new NodeError('not_found', error.message, { cause: error });
        throw error;
      }
    },
    proveBy,
    get keyBlock() {
      return keyBlock;
    },
    get newest() {
      return newest;
    },
  };
}

function proofRequest(from: BlockIdExt, target: BlockIdExt): ProofRequest {
  return {
    method: 'getBlockProof',
    mode: 1,
    knownBlock: blockIdExtToTl(from),
    targetBlock: blockIdExtToTl(target),
  };
}
