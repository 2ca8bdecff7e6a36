import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ClickHouseSource } from '../../clickhouse/queries/source.ts';
import { createFollower, type Follower } from '../../streams/follow.ts';
import type { EventLog } from '../../streams/log.ts';
import { StepRecordError } from '../../streams/projected-step.ts';
import { newestSteps, type PublishedStep, readProjectedSteps } from '../../streams/steps-topic.ts';
import { createHostHead, type HostHead } from './head.ts';
import type { WindowState } from './state.ts';
import type { WindowView } from './view.ts';
import type { Below, Window } from './window.ts';

export interface FollowOptions {
  window: Window;
  log: EventLog;
  /** The topic of steps. */
  topic: string;
  clickhouse: Pick<ClickHouseSource, 'head' | 'below'>;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Which tables there are: steps of others are forgotten, at the start and later. Default: it is not asked. */
  tablesId?(signal: AbortSignal): Promise<string>;
  /** How often that is asked. */
  tablesEveryMs?: number;
  /**
   * Root hash of a masterchain block as the tables have it, hex, null for none: steps of another chain are forgotten when
   * the window begins to follow. Default: it is not asked.
   */
  masterHash?(mcSeqno: number, signal: AbortSignal): Promise<string | null>;
  /** The log wakes its readers itself (a broker does): `wake` is not needed then. */
  continuous?: boolean;
  /** Told of steps once they can be seen. After a start some may come that were told of before. */
  onSteps?: (steps: readonly PublishedStep[]) => void;
}

export interface WindowFollower extends Follower {
  /** As the window's own, and null while it does not answer. */
  view(): WindowView | null;
  head: Pick<HostHead, 'seqno' | 'onAdvance'>;
}

const TABLES_POLL_MS = 20;
/** For so long steps of former tables are answered from behind a rebuild, where no further one comes. */
const TABLES_EVERY_MS = 2_000;
const QUERY_TIMEOUT_MS = 60_000;
/** Steps written in one commit while catching up: some 20 ms without a turn of the event loop. */
const BATCH_BYTES = 256 * 1024;
/**
 * Of the topic: a window that is empty begins with the newest steps, which takes a second or two. Older ones follow
 * (fill.ts).
 */
const FIRST_BYTES = 4 * 1024 * 1024;

/** Keeps the window at the end of the topic of steps. */
export function createWindowFollower(options: FollowOptions): WindowFollower {
  const { window, log, topic, clickhouse, logger, tablesId, masterHash, continuous = false } = options;
  const { tablesEveryMs = TABLES_EVERY_MS } = options;
  const { head: tables } = clickhouse;
  const head = createHostHead({
    window,
    tables,
    onError: (error) => logger.warn({ err: error }, 'it cannot be written down that the window is behind'),
  });
  /** False while the topic goes on with steps of a version that is not known here. */
  let readable = true;

  /** The tables are made again when they were dropped; the window must wait for them. */
  async function untilTablesHave(mcSeqno: number, signal: AbortSignal): Promise<void> {
    while (tables.seqno < mcSeqno) {
      await tables.refresh(signal);
      if (tables.seqno < mcSeqno) await sleep(TABLES_POLL_MS, undefined, { signal });
    }
  }

  /** Tables that were brought back from a copy may go on with another chain than the window has seen since. */
  async function forgetOthers({ head: newest, rootHash }: WindowState, signal: AbortSignal): Promise<void> {
    await untilTablesHave(newest, signal);
    const found = (await masterHash?.(newest, signal)) ?? rootHash;
    if (found === rootHash) return;
    logger.warn({ step: newest }, 'the window has steps of another chain than the tables: it begins anew');
    await window.clear();
  }

  async function below(mcSeqno: number, signal: AbortSignal): Promise<Below> {
    await untilTablesHave(mcSeqno, signal);
    const newest = await clickhouse.below(mcSeqno).newestBelow({ signal, timeoutMs: QUERY_TIMEOUT_MS });
    return newest && { lt: BigInt(newest.lt), utime: newest.utime };
  }

  const follower = createFollower<PublishedStep[]>({
    log,
    topic,
    continuous,
    maxBytes: BATCH_BYTES,
    async *read(from, reading) {
      for await (const steps of readProjectedSteps(log, topic, from, reading)) {
        yield { items: steps, nextOffset: steps[steps.length - 1].nextOffset };
      }
    },
    async position(signal) {
      if (tablesId) window.belongTo(await tablesId(signal));
      if (window.state) await forgetOthers(window.state, signal);
      const { state } = window;
      await head.decide(readable);
      if (state !== null && state.nextOffset >= (await log.low(topic))) return state.nextOffset;
      return newestSteps(log, topic, FIRST_BYTES);
    },
    async take(steps, signal) {
      const { step } = steps[steps.length - 1];
      const applied = await window.apply(steps, (mcSeqno) => below(mcSeqno, signal));
      if (applied === 'begun') logger.info({ step: window.state?.first }, 'the window begins anew');
      // Steps are published when the tables have their rows.
      if (applied !== 'known') tables.advance(step.mcSeqno, step.globalId);
      readable = true;
      await head.decide(readable);
      options.onSteps?.(steps);
    },
    onTrouble(error) {
      logger.warn({ err: error }, 'the window cannot follow the steps, trying again');
      if (error instanceof StepRecordError) readable = false;
    },
  });

  /** A topic that a rebuild has emptied tells nothing before there is a step again, which may be never. */
  async function watchTables(signal: AbortSignal): Promise<void> {
    while (tablesId && !signal.aborted) {
      await sleep(tablesEveryMs, undefined, { signal }).catch(() => undefined);
      // Tables that are away tell nothing of others.
      const id = await tablesId(signal).catch(() => null);
      if (id === null) continue;
      try {
        window.belongTo(id);
        // Emptied here, or by another process that was faster.
        if (window.state !== null || !head.windowAnswers) continue;
        logger.info({ step: head.seqno }, 'the window is empty, as after a rebuild: the tables answer alone');
        await head.decide(readable);
      } catch (error) {
        logger.warn({ err: error }, 'steps of former tables cannot be taken from the window, trying again');
      }
    }
  }

  return {
    ...follower,
    head,
    view: () => (head.windowAnswers ? window.view() : null),
    async run(signal) {
      await Promise.all([follower.run(signal), watchTables(signal)]);
    },
  };
}
