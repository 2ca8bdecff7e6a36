import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type ClickHouse, ClickHouseQueryError } from '../../clickhouse/client.ts';
import { masterHash } from '../../clickhouse/master-hash.ts';
import { tablesId } from '../../clickhouse/tables-id.ts';
import type { Window } from '../window/window.ts';
import type { Archive } from './archive.ts';
import { endsBelow, newestDone, newestWritten, readSlab, type SlabStep, type Steps, someSteps } from './slab.ts';
import type { ArchiveState } from './state.ts';

export interface FillOptions {
  archive: Archive;
  /** On a local disk. */
  folder: string;
  /** Of the archive, about; less where the disk has less than twice as much to give. Infinity for all there is. */
  maxBytes: number;
  window: Pick<Window, 'state'>;
  clickhouse: Pick<ClickHouse, 'query'>;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Told after each commit of its rows. */
  onWritten?: (rows: number) => void;
  /** Transactions read from the tables at a time; some have 50 KB. */
  slabTransactions?: number;
  /** For the tests: what is rested between commits, as a share of the time a commit took. */
  rest?: number;
}

/** Transactions read at a time: some 30 MB, and about a second of ClickHouse for tables of some millions. */
const SLAB_TRANSACTIONS = 20_000;
/** Bytes of rows in one commit: some 20 ms without a turn of the event loop. */
const COMMIT_BYTES = 1024 * 1024;
/** Rested after each commit and each read, for those who answer meanwhile: so many times as long as it took. */
const REST = 1;
const IDLE_MS = 1_000;
const TROUBLE_MS = 5_000;
/**
 * Share of the window's steps, from its oldest on, that the archive has as well; brought up to the first once it is
 * down to the second.
 */
const OVERLAP = 1 / 4;
const LEAST_OVERLAP = 1 / 8;
/** Of the bytes, up to where older steps are filled in; what newer steps take beyond it takes out the oldest. */
const FILLED_UP_TO = 0.95;
/** So many times the room as when it was full: what others do with the disk changes it a little all the time. */
const MORE_ROOM = 1.25;
/** Share of the free disk that the archive may take. */
const DISK_SHARE = 0.5;
const WAIT_FOR_WINDOW_MS = 20;
const WAIT_FOR_WINDOW_MOST_MS = 60_000;
/** A result that is larger than the client takes is asked for in parts. */
const SMALLER = 4;

/**
 * Fills the archive from the tables, the newest steps below the window first, and keeps it at the window's border from
 * then on. One that was filled from other tables is begun anew.
 */
export function createFilling(options: FillOptions) {
  const { archive, window, clickhouse, logger, onWritten } = options;
  const { slabTransactions = SLAB_TRANSACTIONS, rest = REST } = options;
  let transactions = slabTransactions;
  /** Bytes there was room for when the oldest steps had to go; older ones are not fetched again for less than more room. */
  let fullAt = 0;
  /** Its steps are of the chain that the tables go on with. */
  let isOfChain = false;

  async function resting<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const began = performance.now();
    const result = await work();
    await sleep(rest * (performance.now() - began), undefined, { signal });
    return result;
  }

  /** Of the archive, given what the disk has left. */
  async function room(): Promise<number> {
    const { bavail, bsize } = await statfs(options.folder);
    return Math.min(options.maxBytes, (archive.bytes + bavail * bsize) * DISK_SHARE);
  }

  /**
   * What the tables have of these steps, once the window has every step that may have replaced some of it: who looks
   * into the window after the archive finds what is missing here.
   */
  async function read(steps: Steps, signal: AbortSignal): Promise<SlabStep[]> {
    const slab = await resting(() => readSlab(clickhouse, steps, signal), signal).catch((error: unknown) => {
      if (error instanceof ClickHouseQueryError && error.code === 'too_large') {
        transactions = Math.max(1, Math.floor(transactions / SMALLER));
      }
      throw error;
    });
    transactions = slabTransactions;
    const newest = await newestWritten(clickhouse, signal);
    const giveUpAt = performance.now() + WAIT_FOR_WINDOW_MOST_MS;
    while ((window.state?.head ?? 0) < newest) {
      if (performance.now() > giveUpAt) throw new Error(`the window does not reach step ${newest}, which is written`);
      await sleep(WAIT_FOR_WINDOW_MS, undefined, { signal });
    }
    return slab;
  }

  /** Writes a slab that goes on from a state, in commits of its own, in this order. */
  async function write(
    was: ArchiveState,
    steps: readonly SlabStep[],
    spanAfter: (done: readonly SlabStep[], isLast: boolean) => Pick<ArchiveState, 'first' | 'head' | 'below'>,
    signal: AbortSignal,
    mayGoOn: () => boolean = () => true,
  ): Promise<void> {
    let state = was;
    for (let at = 0; at < steps.length && (at === 0 || mayGoOn()); ) {
      const some = firstOf(steps.slice(at));
      at += some.length;
      const span = spanAfter(some, at === steps.length);
      state = await resting(() => archive.add(state, some, span), signal);
      onWritten?.(some.reduce((sum, { rows, told }) => sum + rows.length + told.length, 0));
    }
  }

  /** Goes on behind the last step, up to this one. */
  async function goUp(state: ArchiveState, to: number, signal: AbortSignal): Promise<void> {
    const { first, below } = state;
    const within = { low: state.head + 1, high: to };
    const found = await someSteps(clickhouse, { within, end: 'oldest', transactions }, signal);
    const high = found === null || found.reachesEnd ? to : found.steps.high;
    const slab = found === null ? [] : await read({ low: within.low, high }, signal);
    if (slab.length === 0) await archive.add(state, [], { first, head: high, below });
    const headOf = (done: readonly SlabStep[], isLast: boolean): number =>
      isLast ? high : done[done.length - 1].mcSeqno;
    await write(state, slab, (done, isLast) => ({ first, head: headOf(done, isLast), below }), signal);
  }

  /** Goes on before the first step, for as long as there is room. */
  async function goDown(state: ArchiveState, mayGoOn: () => boolean, signal: AbortSignal): Promise<void> {
    const { head } = state;
    const within = { low: 0, high: state.first - 1 };
    const found = await someSteps(clickhouse, { within, end: 'newest', transactions }, signal);
    if (found === null) {
      await archive.add(state, [], { first: state.first, head, below: null });
      return;
    }
    const { low } = found.steps;
    const under = found.reachesEnd ? null : await endsBelow(clickhouse, low, signal);
    const slab = await read({ low, high: within.high }, signal);
    const belowOf = new Map<number, ArchiveState['below']>();
    let below = under;
    for (const { mcSeqno, maxLt, maxUtime } of slab) {
      belowOf.set(mcSeqno, below);
      const { lt, utime } = below ?? { lt: 0n, utime: 0 };
      below = { lt: maxLt > lt ? maxLt : lt, utime: Math.max(utime, maxUtime) };
    }
    const spanFrom = (first: number) => ({ first, head, below: belowOf.get(first) ?? null });
    await write(state, slab.reverse(), (done) => spanFrom(done[done.length - 1].mcSeqno), signal, mayGoOn);
  }

  /** Tables that were brought back from a copy may have gone on with another chain than the archive was filled with. */
  async function isOfOthers(state: ArchiveState, signal: AbortSignal): Promise<boolean> {
    if (isOfChain) return false;
    const found = await masterHash(clickhouse, state.head, signal);
    isOfChain = found === null || found === (archive.masterHash(state.head) ?? found);
    return !isOfChain;
  }

  /** One piece of work; false when there is none. */
  async function work(signal: AbortSignal): Promise<boolean> {
    const { state: held } = window;
    // Where the window has everything, nothing is below it.
    if (!held?.speaks || held.below === null) return false;
    const tables = await tablesId(clickhouse, signal);
    const { state } = archive;
    const steps = held.head - held.first;
    const border = async () => Math.min(held.first + Math.floor(steps * OVERLAP), await newestDone(clickhouse, signal));
    const isForeign = state === null || state.tables !== tables || state.globalId !== held.globalId;
    if (isForeign || state.head > held.head || (await isOfOthers(state, signal))) {
      const head = await border();
      const below = await endsBelow(clickhouse, head + 1, signal);
      fullAt = 0;
      isOfChain = true;
      await archive.begin({ tables, globalId: held.globalId, head, below });
      logger.info({ step: head }, 'the archive begins anew');
      return true;
    }
    const maxBytes = await room();
    if (archive.bytes > maxBytes && state.first < held.first) {
      fullAt = maxBytes;
      await resting(() => archive.evict(), signal);
      return true;
    }
    if (state.head < held.first + Math.floor(steps * LEAST_OVERLAP)) {
      const to = await border();
      if (to > state.head) {
        await goUp(state, to, signal);
        return true;
      }
    }
    const hasRoom = () => archive.bytes <= FILLED_UP_TO * maxBytes;
    if (state.below === null || !hasRoom() || maxBytes <= fullAt * MORE_ROOM) return false;
    await goDown(state, hasRoom, signal);
    return true;
  }

  return {
    work,
    /** Until the signal aborts. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        let pause = 0;
        try {
          if (!(await work(signal))) pause = IDLE_MS;
        } catch (error) {
          if (signal.aborted) return;
          logger.warn({ err: error }, 'the archive cannot be filled, trying again');
          pause = TROUBLE_MS;
        }
        await sleep(pause, undefined, { signal }).catch(() => undefined);
      }
    },
  };
}

/** The first of these, one at least, with about so many bytes of rows. */
function firstOf(steps: readonly SlabStep[]): readonly SlabStep[] {
  let bytes = 0;
  let count = 0;
  for (const { rows, told } of steps) {
    if (count > 0 && bytes > COMMIT_BYTES) break;
    for (const { row } of rows) bytes += row.length;
    for (const { entry } of told) bytes += entry.length;
    count++;
  }
  return steps.slice(0, count);
}
