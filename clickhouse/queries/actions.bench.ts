/**
 * Lists of actions of which there are many, made up, in an embedded server: p50 of one client, and CPU time of the server
 * and of this process. Run by `npm run bench:listings`; BENCH_LISTED sets another number.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Address } from '../../src/chain/model.ts';
import { type ActionFilter, ANY_ACTION } from '../../src/chain/records.ts';
import { processUsage } from '../../test/process-usage.ts';
import { createClickHouse } from '../client.ts';
import { createQueryGate } from '../gate.ts';
import { migrate } from '../migrate.ts';
import { RowReader } from '../rowbinary.ts';
import { silent, startTestServer } from '../test-server.ts';
import { actionQueries } from './actions.ts';
import { createHead } from './head.ts';
import { createReading } from './reading.ts';

const COUNT = Number(process.env.BENCH_LISTED ?? 3_000_000);
const DEEP = COUNT / 10;
const ROUNDS = 9;
const TIMEOUT_MS = 600_000;
/** Accounts that take part in every action in turn, and those that seldom do. */
const REGULARS = 5_003;
const SELDOM = COUNT / 10;
/** One in so many is of the busiest account. */
const BUSIEST = 10;
/** Actions of a step. */
const STEP = 20;
const LAST = Math.floor((COUNT - 1) / STEP) + 1;

const line = (text: string): void => void process.stdout.write(`${text}\n`);
const context = { signal: new AbortController().signal, timeoutMs: TIMEOUT_MS };
/** SQL: an account by its name. */
const account = (name: string): string => `toFixedString(concat(unhex('80000000'), SHA256(${name})), 36)`;
const BUSY = account("'busy'");

const test = await startTestServer();
const clickhouse = createClickHouse({ url: test.server.url, database: 'listings', logger: silent });
try {
  await migrate({ clickhouse, logger: silent });
  await fill();
  await measure();
} finally {
  await clickhouse.close();
  await test.remove();
}

/** Two actions a trace, nothing of which was told again. */
async function fill(): Promise<void> {
  const key = `1000 + 10 * intDiv(number, 2) AS lt, SHA256(toString(intDiv(number, 2))) AS trace, number % 2,
    toUInt32(1 + intDiv(number, ${STEP})) AS step, step, step,
    multiIf(number % 10 < 5, 'ton_transfer', number % 10 < 8, 'call_contract', number % 10007 = 9, 'auction_bid', 'contract_deploy')`;
  const columns = 'trace_end_lt, trace_id, number, mc_seqno, end_mc_seqno, trace_end_utime, type';
  const options = { timeoutMs: TIMEOUT_MS };
  await clickhouse.command(
    `INSERT INTO actions (${columns}, action_id, success, transactions, content)
     SELECT ${key}, SHA256('a' || toString(number)), true, trace, '[{"value":"' || toString(number) || '"},[]]' FROM numbers(${COUNT})`,
    options,
  );
  const named = [`'m' || toString(number % ${REGULARS})`, `'s' || toString(intHash32(number) % ${SELDOM})`].map(
    account,
  );
  await clickhouse.command(
    `INSERT INTO action_accounts (${columns}, account) SELECT ${key}, who FROM numbers(${COUNT})
     ARRAY JOIN arrayConcat([${named.join(', ')}], if(number % ${BUSIEST} = 3, [${BUSY}], [])) AS who`,
    options,
  );
  // Merges would count as CPU time of the lists.
  const counted = z.object({ n: z.coerce.number() });
  const isMerging = async () => (await clickhouse.json('SELECT count() AS n FROM system.merges', counted))[0]?.n !== 0;
  for (let quiet = 0; quiet < 3; await sleep(500)) quiet = (await isMerging()) ? 0 : quiet + 1;
  line(`${COUNT.toLocaleString('en')} actions, ${(COUNT / BUSIEST).toLocaleString('en')} of them of one account`);
}

async function addressOf(sql: string): Promise<Address> {
  return new RowReader(await clickhouse.query(`SELECT ${sql}`, { label: 'an account', ...context })).fixed(36);
}

async function measure(): Promise<void> {
  const head = createHead(clickhouse);
  head.advance(LAST);
  const reading = createReading(clickhouse, createQueryGate({ maxConcurrent: 4, maxQueued: 100 }), head);
  const { actions } = actionQueries(reading);
  const busy = await addressOf(BUSY);
  const many: Address[] = [];
  for (let i = 0; i < 50; i++) many.push(await addressOf(account(`'m${7 * i}'`)));
  const page = { limit: 100, offset: 0 };
  const middle = Math.floor(LAST / 2);
  const cases: [string, Partial<ActionFilter>][] = [
    ['newest', {}],
    ['oldest', { sort: 'asc' }],
    ['newest at offset 1,000', { page: { limit: 100, offset: 1_000 } }],
    [`newest at offset ${DEEP}`, { page: { limit: 100, offset: DEEP } }],
    ['behind the last', { page: { limit: 100, offset: 2 ** 31 - 1 } }],
    ['of an account, 10', { accounts: many.slice(0, 1), page: { limit: 10, offset: 0 } }],
    ['of a busy account', { accounts: [busy] }],
    ['of a busy account at offset 10,000', { accounts: [busy], page: { limit: 100, offset: 10_000 } }],
    ['of 50 accounts', { accounts: many }],
    ['of 50 accounts and a type', { accounts: many, types: ['call_contract'] }],
    ['of a common type', { types: ['ton_transfer'] }],
    ['of a rare type', { types: ['auction_bid'] }],
    ['without a busy account', { excludeAccounts: [busy] }],
    ['up to a time', { utime: { end: middle } }],
    ['of a step', { mcSeqno: middle }],
  ];
  for (const [name, more] of cases) {
    await tell(name, () => actions({ ...ANY_ACTION, sort: 'desc', page, ...more }, context));
  }
}

async function tell(name: string, ask: () => Promise<unknown>): Promise<void> {
  const cpuOf = (): number[] => [test.server.pid ?? process.pid, process.pid].map((pid) => processUsage(pid).cpuMs);
  const times: number[] = [];
  const before = cpuOf();
  for (let i = 0; i < ROUNDS; i++) {
    const began = performance.now();
    await ask();
    times.push(performance.now() - began);
  }
  const [server, own] = cpuOf().map((ms, i) => ((ms - before[i]) / ROUNDS).toFixed(1).padStart(6));
  times.sort((a, b) => a - b);
  line(
    `${name.padEnd(40)} p50 ${times[ROUNDS >> 1].toFixed(1).padStart(7)} ms   CPU of the server ${server} ms, own ${own} ms`,
  );
}
