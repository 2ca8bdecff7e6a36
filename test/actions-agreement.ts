/** Whether the ways to ask for actions agree: each filter gives those of the whole list that pass it, in its order. */
import { z } from 'zod';

const action = z.looseObject({
  action_id: z.string(),
  trace_id: z.string(),
  trace_end_lt: z.string(),
  trace_end_utime: z.int(),
  trace_mc_seqno_end: z.int(),
  type: z.string(),
  transactions: z.array(z.string()),
  accounts: z.array(z.string()),
  details: z.looseObject({
    opcode: z.string().nullish(),
    asset: z.string().nullish(),
    value: z.string().nullish(),
    amount: z.string().nullish(),
  }),
});
type Action = z.output<typeof action>;

const page = z.object({ actions: z.array(action), next_cursor: z.string().nullable().optional() });

const PAGE = 200;
const MOST = 1_000;
const FIRST_ACCOUNTS = 12;

type Question = [query: string, passes: (action: Action) => boolean];

async function ask(url: string, query: string) {
  const response = await fetch(`${url}/api/v3/actions?include_accounts=true&${query}`);
  // Recorded by itself, a block may lack the masterchain block that its step is named after.
  if (response.status === 404 && query.startsWith('mc_seqno')) return null;
  if (!response.ok) throw new Error(`${query}: ${response.status} ${await response.text()}`);
  return page.parse(await response.json());
}

/** The newest actions, page by page: all those that end at the same lt, or none. */
async function readAll(url: string, endLt: string): Promise<Action[]> {
  const all: Action[] = [];
  let cursor: string | null | undefined = '';
  while (typeof cursor === 'string' && all.length < MOST) {
    const found = await ask(url, `limit=${PAGE}&end_lt=${endLt}&cursor=${cursor}`);
    all.push(...(found?.actions ?? []));
    cursor = found?.next_cursor;
  }
  if (typeof cursor !== 'string') return all;
  const oldest = all[all.length - 1].trace_end_lt;
  return all.filter(({ trace_end_lt }) => trace_end_lt !== oldest);
}

function questionsOf(all: readonly Action[]): Question[] {
  const accounts = [...new Set(all.flatMap((one) => one.accounts))].slice(0, FIRST_ACCOUNTS);
  const [account, other] = accounts;
  const middle = all[Math.floor(all.length / 2)];
  const { trace_id, type, trace_mc_seqno_end: step, trace_end_utime: time, trace_end_lt: lt } = middle;
  const [transaction] = middle.transactions;
  const text = encodeURIComponent;
  const opcode = all.find((one) => one.details.opcode)?.details.opcode;
  const jetton = all.find((one) => one.details.asset)?.details.asset;
  const worth = ({ details }: Action): bigint | null => toBigInt(details.value ?? details.amount);
  const value = worth(all.find((one) => worth(one) !== null) ?? middle);
  const names = (one: Action, address: string): boolean =>
    JSON.stringify([one.details, one.accounts]).includes(address);
  const of = (one: Action, some: readonly string[]): boolean => some.some((address) => one.accounts.includes(address));
  return [
    [`account=${account}`, (one) => of(one, [account])],
    [accounts.map((one) => `account=${one}`).join('&'), (one) => of(one, accounts)],
    [`account=${account}&exclude_account=${other}`, (one) => of(one, [account]) && !of(one, [other])],
    [`account=${account}&action_type=${type}`, (one) => of(one, [account]) && one.type === type],
    [
      `account=${account}&tx_hash=${text(transaction)}`,
      (one) => of(one, [account]) && hasTransaction(one, transaction),
    ],
    [`action_type=${type}`, (one) => one.type === type],
    [`exclude_action_type=${type}`, (one) => one.type !== type],
    [`tx_hash=${text(transaction)}`, (one) => hasTransaction(one, transaction)],
    [`trace_id=${text(trace_id)}`, (one) => one.trace_id === trace_id],
    [`action_id=${text(middle.action_id)}`, (one) => one.action_id === middle.action_id],
    [`mc_seqno=${step}`, (one) => one.trace_mc_seqno_end === step],
    [`start_lt=${lt}`, (one) => BigInt(one.trace_end_lt) >= BigInt(lt)],
    ...(opcode ? told(`opcode=${opcode}`, (one) => one.details.opcode === opcode) : []),
    ...(jetton ? told(`jetton=${jetton}`, (one) => names(one, jetton)) : []),
    ...(value === null
      ? []
      : [
          ...told(`min_value=${value}`, (one) => (worth(one) ?? -1n) >= value),
          ...told(
            `max_value=${value}&account=${account}`,
            (one) => of(one, [account]) && (worth(one) ?? value + 1n) <= value,
          ),
        ]),
    [`start_utime=${time}`, (one) => one.trace_end_utime >= time],
  ];
}

const told = (query: string, passes: Question[1]): Question[] => [[query, passes]];

const toBigInt = (text: string | null | undefined): bigint | null => (text && /^\d+$/.test(text) ? BigInt(text) : null);

/** What has extra currencies with it is shown under another type than the one it is found by. */
const isFoundAsShown = ({ type }: Action): boolean => type !== 'extra_currency_transfer';

const hasTransaction = ({ transactions }: Action, hash: string): boolean => transactions.includes(hash);

const keyOf = ({ action_id }: Action): string => action_id;

/**
 * @param url of a service that stands still, or whose actions up to `endLt` do
 * @returns the questions that are answered in another way than the whole list says, and how many were asked
 */
export async function disagreements(url: string, endLt?: string): Promise<{ asked: number; different: string[] }> {
  const newest = (await ask(url, `limit=1${endLt === undefined ? '' : `&end_lt=${endLt}`}`))?.actions[0];
  if (newest === undefined) return { asked: 0, different: [] };
  const all = (await readAll(url, newest.trace_end_lt)).filter(isFoundAsShown);
  // Below the oldest that was read there may be more that pass.
  const since = `start_lt=${all[all.length - 1].trace_end_lt}&end_lt=${newest.trace_end_lt}`;
  const questions = questionsOf(all);
  const different: string[] = [];
  for (const [query, passes] of questions) {
    const bounds = query.startsWith('start_lt') ? `end_lt=${newest.trace_end_lt}` : since;
    const answer = await ask(url, `${query}&${bounds}&limit=1000`);
    if (answer === null) continue;
    const expected = all.filter(passes).map(keyOf);
    // Times order what ends in one second in another way.
    const [found, wanted] = [answer.actions.filter(isFoundAsShown).map(keyOf), expected].map((keys) =>
      query.startsWith('start_utime') ? keys.toSorted() : keys,
    );
    if (found.join() !== wanted.join()) different.push(`${query}: ${found.length} actions, not ${wanted.length}`);
  }
  return { asked: questions.length, different };
}

const CHANGES_ASKED = 20;
const changes = z.object({ changes: z.record(z.string(), z.number()), jettons: z.record(z.string(), z.unknown()) });

/** Actions whose changes are of accounts that their trace does not change, and how many were asked for. */
export async function strayChanges(url: string): Promise<{ asked: number; stray: string[] }> {
  const read = async (query: string) => {
    const response = await fetch(`${url}/api/v3/balanceChanges?${query}`);
    if (!response.ok) throw new Error(`${query}: ${response.status} ${await response.text()}`);
    return changes.parse(await response.json()).changes;
  };
  const newest = (await ask(url, `limit=${CHANGES_ASKED}&exclude_action_type=contract_deploy`))?.actions ?? [];
  const stray: string[] = [];
  for (const { action_id, trace_id } of newest) {
    const whole = await read(`trace_id=${encodeURIComponent(trace_id)}`);
    const own = await read(`action_id=${encodeURIComponent(action_id)}`);
    if (Object.keys(own).some((account) => whole[account] === undefined)) stray.push(action_id);
  }
  return { asked: newest.length, stray };
}
