/**
 * Steps that the tables have and the topic of steps lacks, published again: of a database older than the topic, or
 * after the topic was lost. The blocks topic says what happened, the tables what was known around it.
 */
import type { ClickHouse } from '../../clickhouse/client.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { decodeStates } from '../../clickhouse/states.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Hash, Message } from '../../src/chain/model.ts';
import type { Config } from '../../src/config.ts';
import { decodeEnvelope } from '../envelope.ts';
import type { LiveStep } from '../live-steps.ts';
import { firstStepFrom } from '../step-search.ts';
import { readSteps, type Step } from '../steps.ts';
import { BlockError, type DecodedStep, decodeStep } from './decode.ts';
import { createLiveDraft, emptyLiveStep, type LiveDraft, type LiveLinks } from './live.ts';
import type { ProjectorOptions } from './options.ts';
import { inOrder } from './order.ts';
import type { OpenMessage } from './packed.ts';
import { createPauses } from './pause.ts';
import { type Batch, PositionError } from './position.ts';
import type { Publisher } from './publish.ts';
import { readSender, readTrace, SENDER_COLUMNS, type Sender, TRACE_COLUMNS, transactionKey } from './sent.ts';

export interface RestateOptions extends Pick<ProjectorOptions, 'log' | 'topics' | 'clickhouse' | 'logger'> {
  config: Pick<Config, 'maxDataBytes'>;
  publisher: Publisher;
  /** The last batch that every table has. */
  done: Batch;
}

/** Bytes of blocks whose surroundings are read from the tables at once. */
const GROUP_BYTES = 16 * 1024 * 1024;
const TIMEOUT_MS = 60_000;

/**
 * Publishes what the topic lacks up to `done`, as far back as the topic keeps. To be done before anything newer is
 * published. Ended in the middle, it goes on from there the next time.
 *
 * @throws {PositionError} when the tables do not have a transaction of a step that they are said to have
 */
export async function restateSteps(options: RestateOptions, signal: AbortSignal): Promise<void> {
  const { log, topics, publisher, done, logger } = options;
  if (publisher.last !== null && publisher.last >= done.mcSeqno) return;
  const from = await firstStepFrom(log, topics.blocks, await publisher.reach(done.nextOffset, publisher.last));
  if (from === null || from >= done.nextOffset) return;
  const before = from > 0 ? await log.get(topics.blocks, from - 1) : null;
  let previous = before === null ? 0 : decodeEnvelope(before, topics.blocks).mcSeqno;
  logger.info({ to: done.mcSeqno }, 'publishing steps again that the topic of steps lacks');
  let restated = 0;
  for await (const steps of groups(options, from, signal)) {
    const live = await restate(options, steps, previous, signal);
    await publisher.publish(live);
    previous = steps[steps.length - 1].mcSeqno;
    restated += steps.length;
    logger.info({ steps: restated, step: previous, to: done.mcSeqno }, 'steps published again');
  }
}

/** Steps up to `done`, so many at a time that one question to the tables pays. */
async function* groups(
  { log, topics, done }: RestateOptions,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<Step[]> {
  let group: Step[] = [];
  let bytes = 0;
  for await (const some of readSteps(log, topics.blocks, from, { signal, stopAtEnd: true, maxBytes: GROUP_BYTES })) {
    for (const step of some) {
      if (step.nextOffset > done.nextOffset) break;
      group.push(step);
      bytes += step.blocks.reduce((sum, { boc }) => sum + boc.length, 0);
      if (bytes < GROUP_BYTES) continue;
      yield group;
      group = [];
      bytes = 0;
    }
    if (some[some.length - 1].nextOffset >= done.nextOffset) break;
  }
  signal.throwIfAborted();
  if (group.length > 0) yield group;
}

async function restate(
  { clickhouse, config }: RestateOptions,
  steps: readonly Step[],
  after: number,
  signal: AbortSignal,
): Promise<LiveStep[]> {
  const [from, to] = [steps[0].mcSeqno, steps[steps.length - 1].mcSeqno];
  const [links, senders] = await Promise.all([
    readLinks(clickhouse, from, to, signal),
    readSenders(clickhouse, from, to, signal),
  ]);
  const pause = createPauses();
  const live: LiveStep[] = [];
  let previous = after;
  for (const step of steps) {
    await pause();
    const decoded = decodeOrNull(step);
    const draft = decoded && draftOf(decoded, links, senders, config.maxDataBytes);
    live.push(draft?.seal(step, previous) ?? emptyLiveStep(step, previous));
    previous = step.mcSeqno;
  }
  return live;
}

/** Null for a step that the projector has left out as well. */
function decodeOrNull(step: Step): DecodedStep | null {
  try {
    return decodeStep(step);
  } catch (error) {
    if (error instanceof BlockError) return null;
    throw error;
  }
}

type Links = Omit<LiveLinks, 'arrival'>;

function draftOf(
  { mcSeqno, blocks }: DecodedStep,
  links: Map<string, Links>,
  senders: Map<string, Sender>,
  maxDataBytes: number,
): LiveDraft {
  const draft = createLiveDraft(blocks, maxDataBytes);
  // The code each account had before, for whom it is known.
  const codes = new Map<string, Hash | null>();
  for (const placed of inOrder({ mcSeqno, firstOffset: 0, blocks })) {
    const { transaction, block, after } = placed;
    const found = links.get(transactionKey(transaction.account, transaction.lt));
    if (found === undefined) {
      throw new PositionError(
        `table transactions has no row of transaction ${transaction.hash.toString('hex')} of step ${mcSeqno}, which is done: run "tonstream rebuild"`,
      );
    }
    const { traceId, externalHash, before } = found;
    draft.transaction(placed, { traceId, externalHash, before, arrival: arrivalOf(transaction.inMsg, found, senders) });
    const key = hashKey(transaction.account);
    if (before !== null && !codes.has(key)) codes.set(key, before.codeHash);
    if (after === null) continue;
    draft.state(after, block, codes.get(key) ?? null, null);
    codes.set(key, after.codeHash);
  }
  return draft;
}

function arrivalOf(
  message: Message | null,
  { traceId, externalHash }: Links,
  senders: Map<string, Sender>,
): OpenMessage | null {
  const sender = message && senders.get(hashKey(message.hash));
  return sender ? { ...sender, traceId, externalHash } : null;
}

async function readLinks(
  clickhouse: ClickHouse,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<Map<string, Links>> {
  const found = await clickhouse.query(
    `SELECT account, lt, ${TRACE_COLUMNS}, states FROM transactions WHERE mc_seqno BETWEEN ${from} AND ${to}`,
    { label: 'reading traces and states of steps', signal, timeoutMs: TIMEOUT_MS },
  );
  const rows = new RowReader(found);
  const links = new Map<string, Links>();
  while (!rows.done) {
    const key = transactionKey(rows.fixed(36), rows.u64());
    links.set(key, { ...readTrace(rows), before: decodeStates(rows.bytes()).before });
  }
  return links;
}

async function readSenders(
  clickhouse: ClickHouse,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<Map<string, Sender>> {
  const found = await clickhouse.query(
    `SELECT hash, ${SENDER_COLUMNS} FROM messages
     WHERE in_mc_seqno BETWEEN ${from} AND ${to} AND out_mc_seqno > 0`,
    { label: 'reading senders of messages', signal, timeoutMs: TIMEOUT_MS },
  );
  const rows = new RowReader(found);
  const senders = new Map<string, Sender>();
  while (!rows.done) senders.set(hashKey(rows.fixed(32)), readSender(rows));
  return senders;
}
