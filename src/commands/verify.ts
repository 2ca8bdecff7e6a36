import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { BlockError, decodeStep } from '../../streams/project/decode.ts';
import { createPositionStore } from '../../streams/project/position.ts';
import { readSteps, type Step } from '../../streams/steps.ts';
import { topicNames } from '../../streams/topics.ts';
import { createProgress } from '../progress.ts';
import { readGaps } from '../status.ts';
import { openParts } from './parts.ts';
import type { Running } from './running.ts';

/** Count and sum of hashes: equal for equal sets, whatever their order. */
interface Tally {
  count: number;
  sum: bigint;
}

interface Tallies {
  blocks: Tally;
  transactions: Tally;
  sent: Tally;
  received: Tally;
}

const tallyRow = z.object({ count: z.coerce.number(), sum: z.string() });
const STEPS_PER_CHECK = 2_000;

/** `tonstream verify`: compares the tables with the log, step for step, and the tables with each other. */
export async function runVerify(running: Running): Promise<number> {
  const { config, shutdown, print } = running;
  const { clickhouse, log } = await openParts(running);
  const { signal } = shutdown;
  const { done, intent } = await createPositionStore(clickhouse).read(signal);
  const topic = topicNames(config.topicPrefix).blocks;
  const problems: string[] = [];
  const progress = createProgress({ out: process.stderr });
  let group: Step[] = [];
  let steps = 0;
  const check = async () => {
    problems.push(...(await compareSteps(clickhouse, group, signal)));
    const at = group.at(-1)?.nextOffset ?? 0;
    progress.update({ label: 'verifying', blocks: at, bytes: at, totalBytes: done?.nextOffset ?? 0 });
    group = [];
  };
  if (done) {
    for await (const batch of readSteps(log, topic, 0, { signal, stopAtEnd: true })) {
      const projected = batch.filter((step) => step.nextOffset <= done.nextOffset);
      group.push(...projected);
      steps += projected.length;
      if (group.length >= STEPS_PER_CHECK) await check();
      if (projected.length < batch.length) break;
    }
    if (group.length > 0) await check();
    problems.push(...(await compareTables(clickhouse, signal)));
  }
  progress.end();
  const gaps = await readGaps(clickhouse);
  for (const gap of gaps) print(`gap: step ${gap.mc_seqno}: ${gap.error}`);
  if (intent) print(`a batch up to step ${intent.mcSeqno} was begun and not finished: the projector will repeat it`);
  for (const problem of problems) print(`differs: ${problem}`);
  print(
    `${steps} steps compared up to masterchain block ${done?.mcSeqno ?? '(none)'}: ${problems.length} differences, ${gaps.length} gaps`,
  );
  return problems.length === 0 ? 0 : 1;
}

/** What the log says of some steps against what the tables say of them. */
async function compareSteps(clickhouse: ClickHouse, steps: Step[], signal: AbortSignal): Promise<string[]> {
  const expected = tallyLog(steps);
  const first = steps[0].mcSeqno;
  const last = steps[steps.length - 1].mcSeqno;
  const range = (column: string) => `${column} BETWEEN ${first} AND ${last}`;
  const found: Tallies = {
    blocks: await tally(clickhouse, `blocks FINAL WHERE ${range('mc_seqno')}`, 'root_hash', signal),
    transactions: await tally(clickhouse, `transactions FINAL WHERE ${range('mc_seqno')}`, 'hash', signal),
    sent: await tally(clickhouse, `messages FINAL WHERE ${range('out_mc_seqno')}`, 'hash', signal),
    received: await tally(clickhouse, `messages FINAL WHERE ${range('in_mc_seqno')}`, 'hash', signal),
  };
  return (Object.keys(found) as (keyof Tallies)[])
    .filter((kind) => found[kind].count !== expected[kind].count || found[kind].sum !== expected[kind].sum)
    .map(
      (kind) =>
        `steps ${first} to ${last}: ${kind}: the log has ${expected[kind].count}, the tables have ${found[kind].count}` +
        (found[kind].count === expected[kind].count ? ' with other hashes' : ''),
    );
}

function tallyLog(steps: Step[]): Tallies {
  const tallies: Tallies = { blocks: none(), transactions: none(), sent: none(), received: none() };
  for (const step of steps) {
    try {
      for (const block of decodeStep(step).blocks) {
        add(tallies.blocks, block.record.header.rootHash);
        for (const { hash, inMsg, outMsgs } of block.transactions) {
          add(tallies.transactions, hash);
          if (inMsg) add(tallies.received, inMsg.hash);
          for (const message of outMsgs) add(tallies.sent, message.hash);
        }
      }
    } catch (error) {
      // A step that cannot be decoded is left out of the tables as a whole and reported as a gap.
      if (!(error instanceof BlockError)) throw error;
    }
  }
  return tallies;
}

const none = (): Tally => ({ count: 0, sum: 0n });

function add(tally: Tally, hash: Buffer): void {
  tally.count++;
  tally.sum = BigInt.asUintN(64, tally.sum + hash.readBigUInt64LE(0));
}

async function tally(clickhouse: ClickHouse, from: string, hash: string, signal: AbortSignal): Promise<Tally> {
  const [row] = await clickhouse.json(
    `SELECT count() AS count, toString(sum(reinterpretAsUInt64(substring(${hash}, 1, 8)))) AS sum FROM ${from}`,
    tallyRow,
    { label: 'counting rows', signal, timeoutMs: 600_000 },
  );
  return { count: row.count, sum: BigInt.asUintN(64, BigInt(row.sum)) };
}

/** Key tables must have the rows of the tables they come from; balances must be those of the accounts. */
async function compareTables(clickhouse: ClickHouse, signal: AbortSignal): Promise<string[]> {
  const rows = (from: string) => `(SELECT count() FROM ${from})`;
  const pairs: [string, string, string][] = [
    ['blocks_by_id', rows('blocks_by_id FINAL'), rows('blocks FINAL')],
    ['blocks_by_time', rows('blocks_by_time FINAL'), rows('blocks FINAL')],
    ['transactions_by_lt', rows('transactions_by_lt FINAL'), rows('transactions FINAL')],
    ['transactions_by_time', rows('transactions_by_time FINAL'), rows('transactions FINAL')],
    ['transactions_by_hash', rows('transactions_by_hash FINAL'), rows('transactions FINAL')],
    ['messages_by_source', rows('messages_by_source FINAL'), rows('messages FINAL')],
    ['messages_by_destination', rows('messages_by_destination FINAL'), rows('messages FINAL')],
    ['messages_by_body', rows('messages_by_body FINAL'), rows('messages FINAL')],
    ['messages_by_time', rows('messages_by_time FINAL'), rows('messages FINAL')],
    ['accounts', '(SELECT uniqExact(account) FROM transactions)', rows('accounts FINAL')],
    ['balances', '(SELECT sum(sign) FROM balances)', rows('accounts FINAL')],
    [
      'sum of balances',
      '(SELECT sum(toInt256(balance) * sign) FROM balances)',
      '(SELECT sum(toInt256(balance)) FROM accounts FINAL)',
    ],
  ];
  const problems: string[] = [];
  const pairRow = z.object({ a: z.string(), b: z.string() });
  for (const [name, a, b] of pairs) {
    const [row] = await clickhouse.json(`SELECT toString(${a}) AS a, toString(${b}) AS b`, pairRow, {
      label: 'comparing tables',
      signal,
      timeoutMs: 600_000,
    });
    if (row.a !== row.b) problems.push(`${name}: ${row.a} against ${row.b}`);
  }
  return problems;
}
