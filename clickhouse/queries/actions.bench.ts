/**
 * Lists of actions of which there are many, made up, in an embedded server: p50 of one client, and CPU time of the server
 * and of this process. Run by `npm run bench:listings`; BENCH_LISTED sets another number.
 */
import type { Address } from '../../src/chain/model.ts';
import { type ActionFilter, ANY_ACTION } from '../../src/chain/records.ts';
import { benchListings, context, type Listings, line } from '../../test/listing-bench.ts';
import type { ClickHouse } from '../client.ts';
import { RowReader } from '../rowbinary.ts';
import { actionQueries } from './actions.ts';

const COUNT = Number(process.env.BENCH_LISTED ?? 3_000_000);
const DEEP = COUNT / 10;
const ROUNDS = 9;
/** Accounts that take part in every action in turn, and those that seldom do. */
const REGULARS = 5_003;
const SELDOM = COUNT / 10;
/** One in so many is of the busiest account. */
const BUSIEST = 10;
/** Actions of a step. */
const STEP = 20;
const LAST = Math.floor((COUNT - 1) / STEP) + 1;

/** SQL: an account by its name. */
const account = (name: string): string => `toFixedString(concat(unhex('80000000'), SHA256(${name})), 36)`;
const BUSY = account("'busy'");

await benchListings({ fill, lastStep: LAST, rounds: ROUNDS }, measure);

/** Two actions a trace, nothing of which was told again. */
async function fill(clickhouse: ClickHouse): Promise<void> {
  const key = `1000 + 10 * intDiv(number, 2) AS lt, SHA256(toString(intDiv(number, 2))) AS trace, number % 2,
    toUInt32(1 + intDiv(number, ${STEP})) AS step, step, step,
    multiIf(number % 10 < 5, 'ton_transfer', number % 10 < 8, 'call_contract', number % 10007 = 9, 'auction_bid', 'contract_deploy')`;
  const columns = 'trace_end_lt, trace_id, number, mc_seqno, end_mc_seqno, trace_end_utime, type';
  await clickhouse.command(
    `INSERT INTO actions (${columns}, action_id, success, transactions, content)
     SELECT ${key}, SHA256('a' || toString(number)), true, trace, '[{"value":"' || toString(number) || '"},[]]' FROM numbers(${COUNT})`,
    context,
  );
  const named = [`'m' || toString(number % ${REGULARS})`, `'s' || toString(intHash32(number) % ${SELDOM})`].map(
    account,
  );
  await clickhouse.command(
    `INSERT INTO action_accounts (${columns}, account) SELECT ${key}, who FROM numbers(${COUNT})
     ARRAY JOIN arrayConcat([${named.join(', ')}], if(number % ${BUSIEST} = 3, [${BUSY}], [])) AS who`,
    context,
  );
  line(`${COUNT.toLocaleString('en')} actions, ${(COUNT / BUSIEST).toLocaleString('en')} of them of one account`);
}

async function addressOf(clickhouse: ClickHouse, sql: string): Promise<Address> {
  return new RowReader(await clickhouse.query(`SELECT ${sql}`, { label: 'an account', ...context })).fixed(36);
}

async function measure({ clickhouse, reading, tell }: Listings): Promise<void> {
  const { actions } = actionQueries(reading);
  const busy = await addressOf(clickhouse, BUSY);
  const many: Address[] = [];
  for (let i = 0; i < 50; i++) many.push(await addressOf(clickhouse, account(`'m${7 * i}'`)));
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
