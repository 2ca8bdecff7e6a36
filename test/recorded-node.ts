/** A chain node over recorded blocks, which shows them over time, and fails, stalls and lies as it is told. */
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import { DecodeError } from '../src/chain/errors.ts';
import type { BlockId, BlockIdExt, Hash } from '../src/chain/model.ts';
import { type AccountBoc, type ChainNode, NodeError, type NodeErrorCode } from '../src/node/chain-node.ts';
import { blockKey } from '../streams/envelope.ts';
import { checkBlockAndTops } from '../streams/ingest/check.ts';
import { readSequence, type SequenceLine, sequenceFile } from './recorded-sequence.ts';

/** What the node is asked. `key` is the block's `workchain:shard:seqno`; `n` counts calls of this kind for it from 1 on. */
export interface NodeCall {
  method: keyof ChainNode;
  key: string;
  n: number;
}

/** Bytes or an id are given in place of the right answer; `stall` never ends by itself. */
export type Fault = NodeErrorCode | 'stall' | { bytes: Buffer } | { id: BlockIdExt };

export interface RecordedNodeOptions {
  /** Newest masterchain block shown at first; all are shown by default. */
  head?: number;
  /** Asked before each call. */
  fault?: (call: NodeCall) => Fault | null;
  /** Of each call, milliseconds. */
  latencyMs?: number;
  account?: (block: BlockIdExt, workchain: number, account: Hash) => AccountBoc | null;
  libraries?: Map<string, Buffer>;
  zeroState?: { rootHash: Hash; fileHash: Hash };
}

export interface RecordedNode extends ChainNode {
  /** Shows masterchain blocks up to this one, and the shard blocks they commit. */
  reveal(seqno: number): void;
  /** When a masterchain block was revealed, `performance.now()`. */
  revealedAt(seqno: number): number | undefined;
  setFault(fault: RecordedNodeOptions['fault']): void;
  /** Calls made, by method. */
  readonly calls: ReadonlyMap<string, number>;
  /** Greatest number of calls at the same time, without those that wait for a masterchain block. */
  readonly mostAtOnce: number;
  /** Masterchain seqnos in the recording, ascending. */
  readonly seqnos: number[];
  id(key: string): BlockIdExt;
}

interface Recorded {
  id: BlockIdExt;
  boc: Buffer;
  /** The masterchain block that commits it, itself for one of the masterchain. */
  step: number;
  genUtime: number;
}

export const MASTER_SHARD = '8000000000000000';

export function masterKey(seqno: number): string {
  return `-1:${MASTER_SHARD}:${seqno}`;
}

/** The node of a recorded sequence by its name on the shelf. */
export function recordedNode(name: string, options: RecordedNodeOptions = {}): RecordedNode {
  return createRecordedNode(readSequence(sequenceFile(name)), options);
}

export function createRecordedNode(lines: readonly SequenceLine[], options: RecordedNodeOptions = {}): RecordedNode {
  const blocks = new Map(lines.map((line) => [lineKey(line), recorded(line)] as const));
  const masters = [...blocks.values()].filter(({ id }) => id.workchain === -1).sort((a, b) => a.id.seqno - b.id.seqno);
  const seqnos = masters.map(({ id }) => id.seqno);
  const shown = new Map<number, number>();
  const calls = new Map<string, number>();
  const asked = new Map<string, number>();
  const waiters = new Set<() => void>();
  let fault = options.fault;
  let head = seqnos[0] - 1;
  let atOnce = 0;
  let mostAtOnce = 0;
  const zeroState = options.zeroState ?? genesisOf(masters[0]);

  function reveal(seqno: number): void {
    const now = performance.now();
    for (const known of seqnos) if (known > head && known <= seqno) shown.set(known, now);
    head = Math.max(head, Math.min(seqno, seqnos[seqnos.length - 1]));
    for (const wake of [...waiters]) wake();
  }
  reveal(options.head ?? Number.POSITIVE_INFINITY);

  async function meet(call: Omit<NodeCall, 'n'>, signal: AbortSignal): Promise<Exclude<Fault, string> | null> {
    calls.set(call.method, (calls.get(call.method) ?? 0) + 1);
    const name = `${call.method} ${call.key}`;
    const n = (asked.get(name) ?? 0) + 1;
    asked.set(name, n);
    if (signal.aborted) throw new NodeError('aborted', name);
    if (options.latencyMs !== undefined) await interruptible(sleep(options.latencyMs, undefined, { signal }), name);
    const met = fault?.({ ...call, n }) ?? null;
    if (met === 'stall') await untilAborted(signal, name);
    if (typeof met === 'string') throw new NodeError(met === 'stall' ? 'aborted' : met, `${name}: as told`);
    return met;
  }

  async function counted<T>(work: () => Promise<T>): Promise<T> {
    mostAtOnce = Math.max(mostAtOnce, ++atOnce);
    try {
      return await work();
    } finally {
      atOnce--;
    }
  }

  function find(id: BlockId): Recorded {
    const block = blocks.get(blockKey(id));
    if (block === undefined || block.step > head)
      throw new NodeError('not_found', `block ${blockKey(id)} is not known`);
    return block;
  }

  const idOf = (seqno: number): BlockIdExt => find({ workchain: -1, shard: MASTER_SHARD, seqno }).id;
  const masterFault = (met: Exclude<Fault, string> | null): BlockIdExt | null =>
    met !== null && 'id' in met ? met.id : null;

  return {
    seqnos,
    calls,
    reveal,
    revealedAt: (seqno) => shown.get(seqno),
    setFault(next) {
      fault = next;
    },
    get mostAtOnce() {
      return mostAtOnce;
    },
    id(key) {
      const block = blocks.get(key);
      if (block === undefined) throw new Error(`block ${key} is not recorded`);
      return block.id;
    },
    head: (signal) => counted(async () => masterFault(await meet({ method: 'head', key: '' }, signal)) ?? idOf(head)),
    async zeroState(signal) {
      await meet({ method: 'zeroState', key: '' }, signal);
      return zeroState;
    },
    async waitMasterchainBlock(seqno, timeoutMs, signal) {
      const told = masterFault(await meet({ method: 'waitMasterchainBlock', key: masterKey(seqno) }, signal));
      if (told !== null) return told;
      await shownOrLate(() => head >= seqno, timeoutMs, signal, waiters);
      return head >= seqno ? idOf(seqno) : null;
    },
    lookupBlock: (id, signal) =>
      counted(async () => masterFault(await meet({ method: 'lookupBlock', key: blockKey(id) }, signal)) ?? find(id).id),
    lookupByUtime: ({ workchain, shard }, utime, signal) =>
      counted(async () => {
        await meet({ method: 'lookupByUtime', key: `${workchain}:${shard}` }, signal);
        const found = masters.findLast(({ id, genUtime }) => id.seqno <= head && genUtime <= utime);
        if (found === undefined) throw new NodeError('not_found', `no block at ${utime}`);
        return found.id;
      }),
    block: (id, signal) =>
      counted(async () => {
        const met = await meet({ method: 'block', key: blockKey(id) }, signal);
        if (met !== null && 'bytes' in met) return met.bytes;
        const found = find(id);
        if (found.id.rootHash.equals(id.rootHash) && found.id.fileHash.equals(id.fileHash)) return found.boc;
        throw new NodeError('not_found', `block ${blockKey(id)} with these hashes is not known`);
      }),
    account: (block, workchain, account, signal) =>
      counted(async () => {
        await meet({ method: 'account', key: blockKey(block) }, signal);
        const found = options.account?.(block, workchain, account) ?? null;
        if (found === null) throw new NodeError('not_found', `no state after block ${blockKey(block)}`);
        return found;
      }),
    libraries: (hashes, signal) =>
      counted(async () => {
        await meet({ method: 'libraries', key: '' }, signal);
        const known = options.libraries ?? new Map<string, Buffer>();
        const found = hashes.map((hash) => hash.toString('hex')).filter((key) => known.has(key));
        return new Map(found.map((key) => [key, known.get(key) ?? Buffer.alloc(0)]));
      }),
  };
}

function lineKey({ workchain, shard, seqno }: SequenceLine): string {
  return `${workchain}:${shard}:${seqno}`;
}

function recorded(line: SequenceLine): Recorded {
  const { workchain, shard, seqno } = line;
  const [rootHash, fileHash] = [line.root_hash, line.file_hash].map((hash) => Buffer.from(hash, 'hex'));
  const boc = Buffer.from(line.boc, 'base64');
  const step = workchain === -1 ? seqno : (line.mc_seqno ?? Number.NEGATIVE_INFINITY);
  return { id: { workchain, shard, seqno, rootHash, fileHash }, boc, step, genUtime: genUtime(boc) };
}

function genUtime(boc: Buffer): number {
  try {
    return decodeBlock(openBoc(boc)).header.genUtime;
  } catch (error) {
    if (error instanceof DecodeError) return 0;
    throw error;
  }
}

/** Block 1 refers to the zero state; for recordings that begin later any hash does. */
function genesisOf({ id, boc }: Recorded): { rootHash: Hash; fileHash: Hash } {
  if (id.seqno !== 1) return { rootHash: Buffer.alloc(32, 7), fileHash: Buffer.alloc(32, 7) };
  const [{ rootHash, fileHash }] = checkBlockAndTops(boc, id, { file: 'block 1', line: null }).block.prev;
  return { rootHash, fileHash };
}

async function interruptible<T>(work: Promise<T>, name: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new NodeError('aborted', name, { cause: error });
  }
}

function untilAborted(signal: AbortSignal, name: string): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new NodeError('aborted', name)), { once: true });
  });
}

function shownOrLate(
  shown: () => boolean,
  timeoutMs: number,
  signal: AbortSignal,
  waiters: Set<() => void>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      waiters.delete(wake);
      signal.removeEventListener('abort', abort);
      resolve();
    };
    const wake = (): void => {
      if (shown()) end();
    };
    const abort = (): void => {
      end();
      reject(new NodeError('aborted', 'waiting for a masterchain block'));
    };
    const timer = setTimeout(end, timeoutMs);
    signal.addEventListener('abort', abort);
    waiters.add(wake);
    wake();
  });
}
