import type { BlockIdExt } from '../src/chain/model.ts';
import { type BlockEnvelope, blockKey, decodeBlockRecord, decodeEnvelope, type StoredBlock } from './envelope.ts';
import type { EventLog, ReadOptions, StoredRecord } from './log.ts';

/** All that one masterchain block commits: its shard blocks in canonical order, then itself. */
export interface Step {
  mcSeqno: number;
  firstOffset: number;
  /** Where the next step starts. */
  nextOffset: number;
  blocks: StoredBlock[];
  /** The masterchain block, the last of `blocks`; null in a loose step, which was imported without it. */
  masterBlock: StoredBlock | null;
}

export interface Network {
  globalId: number;
  zeroState?: Buffer | null;
}

export interface StepReadOptions extends ReadOptions {
  /** Refuse blocks of any other network. By default the first record decides. */
  network?: Network;
  /** Told of each record that had been seen before and was dropped. */
  onDuplicate?: (block: BlockEnvelope, offset: number) => void;
}

export type StepErrorCode =
  /** The block is of another network. */
  | 'network'
  /** A step holds more or fewer blocks than its seal says, or ends without a seal. */
  | 'incomplete'
  /** A masterchain seqno goes back to a step that was already sealed without this block. */
  | 'order'
  /** Two different blocks under one id. */
  | 'conflict'
  /** Reading was to start inside a step. */
  | 'boundary';

/** The records of a topic are not a sequence of steps. */
export class StepError extends Error {
  constructor(
    readonly code: StepErrorCode,
    readonly topic: string,
    readonly offset: number,
    message: string,
  ) {
    super(`${topic}, offset ${offset}: ${message}`);
    this.name = 'StepError';
  }
}

/** Steps whose block ids are remembered to tell a repeated record from one out of order. */
const REMEMBERED_STEPS = 256;

/**
 * Whole steps from an offset on, as many at a time as a batch of the log completes. An append repeated after a lost
 * acknowledgement, or by a second ingester, leaves records twice: the second ones are dropped. Memory is bounded by
 * `maxBytes` plus the largest step.
 *
 * @param fromOffset a step's first offset: 0, or the `nextOffset` of a step
 * @throws {StepError} @throws {EnvelopeError} @throws {LogError}
 */
export async function* readSteps(
  log: EventLog,
  topic: string,
  fromOffset: number,
  options: StepReadOptions,
): AsyncGenerator<Step[]> {
  const previous = fromOffset > 0 ? await log.get(topic, fromOffset - 1) : null;
  const collector = createCollector(topic, previous === null ? null : decodeEnvelope(previous, topic), options);
  for await (const batch of log.read(topic, fromOffset, options)) {
    const steps = batch.flatMap((record) => collector.add(record) ?? []);
    if (steps.length > 0) yield steps;
  }
}

function createCollector(topic: string, previous: BlockEnvelope | null, options: StepReadOptions) {
  const checkNetwork = networkCheck(topic, options.network);
  const seen = createMemory();
  let sealed = previous?.mcSeqno ?? -1;
  let open: Map<string, StoredBlock> = new Map();
  let openSeqno = -1;
  // A record before the start that seals nothing is either a late duplicate or the start lies inside its step.
  let insideOf = previous !== null && previous.seal === null ? previous.mcSeqno : null;

  const close = (block: StoredBlock): Step => {
    if (open.size !== block.seal) {
      const counts = `step ${block.mcSeqno} has ${open.size} blocks, its seal says ${block.seal}`;
      throw new StepError('incomplete', topic, block.offset, counts);
    }
    const blocks = [...open.values()];
    seen.remember(block.mcSeqno, blocks);
    sealed = block.mcSeqno;
    open = new Map();
    return {
      mcSeqno: block.mcSeqno,
      firstOffset: blocks[0].offset,
      nextOffset: block.offset + 1,
      blocks,
      masterBlock: block.id.workchain === -1 ? block : null,
    };
  };

  return {
    add(record: StoredRecord): Step | null {
      const block = decodeBlockRecord(record, topic);
      checkNetwork(block);
      if (block.mcSeqno === insideOf) {
        throw new StepError('boundary', topic, block.offset, `step ${block.mcSeqno} starts at an earlier offset`);
      }
      insideOf = null;
      const key = blockKey(block.id);
      const first = open.get(key) ?? (block.mcSeqno <= sealed ? seen.find(topic, block) : undefined);
      if (first !== undefined) {
        if (first !== 'forgotten') sameBlock(topic, first.id, block);
        options.onDuplicate?.(block, block.offset);
        return null;
      }
      if (open.size > 0 && block.mcSeqno !== openSeqno) {
        const what = `step ${openSeqno} is not sealed, yet a block of step ${block.mcSeqno} follows`;
        throw new StepError('incomplete', topic, block.offset, what);
      }
      openSeqno = block.mcSeqno;
      open.set(key, block);
      return block.seal === null ? null : close(block);
    },
  };
}

/** Ids of the newest steps. */
function createMemory() {
  const steps = new Map<number, Map<string, BlockIdExt>>();
  return {
    remember(mcSeqno: number, blocks: StoredBlock[]): void {
      // The hashes are views into the decoded headers, not into the block: keeping them keeps nothing else.
      steps.set(mcSeqno, new Map(blocks.map((block) => [blockKey(block.id), block.id])));
      for (const oldest of steps.keys()) {
        if (steps.size <= REMEMBERED_STEPS) break;
        steps.delete(oldest);
      }
    },
    /** The block of this id in its step; `forgotten` when the step was sealed too long ago to tell. */
    find(topic: string, block: StoredBlock): { id: BlockIdExt } | 'forgotten' {
      const step = steps.get(block.mcSeqno);
      if (step === undefined) return 'forgotten';
      const id = step.get(blockKey(block.id));
      if (id !== undefined) return { id };
      const what = `block ${blockKey(block.id)} comes after step ${block.mcSeqno} was sealed without it`;
      throw new StepError('order', topic, block.offset, what);
    },
  };
}

function sameBlock(topic: string, known: BlockIdExt, block: StoredBlock): void {
  if (known.rootHash.equals(block.id.rootHash) && known.fileHash.equals(block.id.fileHash)) return;
  throw new StepError('conflict', topic, block.offset, `a second, different block ${blockKey(block.id)}`);
}

function networkCheck(topic: string, expected: Network | undefined) {
  let globalId = expected?.globalId;
  let zeroState = expected?.zeroState ?? null;
  return (block: StoredBlock): void => {
    globalId ??= block.globalId;
    zeroState ??= block.zeroState;
    if (block.globalId !== globalId) {
      const what = `block ${blockKey(block.id)} is of network ${block.globalId}, expected ${globalId}`;
      throw new StepError('network', topic, block.offset, what);
    }
    if (zeroState !== null && block.zeroState !== null && !block.zeroState.equals(zeroState)) {
      const what = `block ${blockKey(block.id)} is of a network with another zero state`;
      throw new StepError('network', topic, block.offset, what);
    }
  };
}
