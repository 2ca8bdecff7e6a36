import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes, list } from '../../clickhouse/literal.ts';
import { KEYS_PER_QUERY, lotsOf } from '../../clickhouse/lots.ts';
import { NO_LT } from '../../clickhouse/tables/columns.ts';
import { BlockError, decodeStep } from '../../streams/project/decode.ts';
import type { Step } from '../../streams/steps.ts';

/** Count and sum of hashes: equal for equal sets, whatever their order. */
interface Tally {
  count: number;
  sum: bigint;
}

const KINDS = ['blocks', 'transactions', 'messages sent', 'messages received'] as const;
type Tallies = Record<(typeof KINDS)[number], Tally>;

interface LogTallies {
  tallies: Tallies;
  shardTops: number;
  /** External messages as text: one that two transactions received is one row, of the later one. */
  externals: Map<string, Buffer>;
}

const tallyRow = z.object({ count: z.coerce.number(), sum: z.string() });
const TIMEOUT_MS = 600_000;

/** What the log says of some steps against what the tables say of them: a line for each difference. */
export async function compareSteps(clickhouse: ClickHouse, steps: Step[], signal: AbortSignal): Promise<string[]> {
  const { tallies, shardTops, externals } = tallyLog(steps);
  const first = steps[0].mcSeqno;
  const last = steps[steps.length - 1].mcSeqno;
  const within = (column: string) => `FINAL WHERE ${column} BETWEEN ${first} AND ${last}`;
  const tally = (from: string, hash: string) => readTally(clickhouse, from, hash, signal);
  const found: Tallies = {
    blocks: await tally(`blocks ${within('mc_seqno')}`, 'root_hash'),
    transactions: await tally(`transactions ${within('mc_seqno')}`, 'hash'),
    'messages sent': await tally(`messages ${within('out_mc_seqno')}`, 'hash'),
    'messages received': await tally(`messages ${within('in_mc_seqno')} AND created_lt != ${NO_LT}`, 'hash'),
  };
  const problems = KINDS.filter(
    (kind) => found[kind].count !== tallies[kind].count || found[kind].sum !== tallies[kind].sum,
  ).map((kind) => [kind, tallies[kind].count, found[kind].count] as const);
  const counts = [
    ...problems,
    ['shard tops', shardTops, (await tally(`shard_tops ${within('mc_seqno')}`, "''")).count] as const,
    ['external messages', externals.size, await countExternals(clickhouse, [...externals.values()], signal)] as const,
  ];
  return counts
    .filter(([, expected, actual], at) => at < problems.length || expected !== actual)
    .map(
      ([kind, expected, actual]) =>
        `steps ${first} to ${last}: ${kind}: the log has ${expected}, the tables have ${actual}` +
        (expected === actual ? ' with other hashes' : ''),
    );
}

function tallyLog(steps: Step[]): LogTallies {
  const none = (): Tally => ({ count: 0, sum: 0n });
  const tallies: Tallies = {
    blocks: none(),
    transactions: none(),
    'messages sent': none(),
    'messages received': none(),
  };
  const result: LogTallies = { tallies, shardTops: 0, externals: new Map() };
  for (const step of steps) {
    try {
      tallyStep(result, step);
    } catch (error) {
      // A step that cannot be decoded is left out of the tables as a whole and reported as a gap.
      if (!(error instanceof BlockError)) throw error;
    }
  }
  return result;
}

function tallyStep(result: LogTallies, step: Step): void {
  const { tallies } = result;
  for (const block of decodeStep(step).blocks) {
    add(tallies.blocks, block.record.header.rootHash);
    result.shardTops += block.shardTops.length;
    for (const { hash, inMsg, outMsgs } of block.transactions) {
      add(tallies.transactions, hash);
      if (inMsg?.kind === 'external_in') result.externals.set(inMsg.hash.toString('hex'), Buffer.from(inMsg.hash));
      else if (inMsg) add(tallies['messages received'], inMsg.hash);
      for (const message of outMsgs) add(tallies['messages sent'], message.hash);
    }
  }
}

function add(tally: Tally, hash: Buffer): void {
  tally.count++;
  tally.sum = BigInt.asUintN(64, tally.sum + hash.readBigUInt64LE(0));
}

async function readTally(clickhouse: ClickHouse, from: string, hash: string, signal: AbortSignal): Promise<Tally> {
  const [row] = await clickhouse.json(
    `SELECT count() AS count, toString(sum(reinterpretAsUInt64(substring(${hash}, 1, 8)))) AS sum FROM ${from}`,
    tallyRow,
    { label: 'counting rows', signal, timeoutMs: TIMEOUT_MS },
  );
  return { count: row.count, sum: BigInt.asUintN(64, BigInt(row.sum)) };
}

async function countExternals(clickhouse: ClickHouse, hashes: Buffer[], signal: AbortSignal): Promise<number> {
  let count = 0;
  for (const some of lotsOf(hashes, KEYS_PER_QUERY)) {
    const from = `messages FINAL WHERE created_lt = ${NO_LT} AND hash IN ${list(some.map(bytes))} AND in_mc_seqno > 0`;
    count += (await readTally(clickhouse, from, 'hash', signal)).count;
  }
  return count;
}
