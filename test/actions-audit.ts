/** Whether traces and actions in tables that nobody writes hold together, and with transactions and balances. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { bytes } from '../clickhouse/literal.ts';
import { RowReader } from '../clickhouse/rowbinary.ts';
import { type ActionRow, actions } from '../clickhouse/tables/actions.ts';
import { columnNames } from '../clickhouse/tables/sql.ts';
import { parseAddress, rawAddress } from '../src/chain/address.ts';
import { hashKey } from '../src/chain/hash.ts';
import { createCast } from '../src/devnet/actors/cast.ts';
import { type InitialAccount, initialAccounts } from '../src/devnet/actors/initial-accounts.ts';
import { jettonWalletCode, readJettonWallet } from '../src/devnet/contracts/jettons.ts';
import { saysTheSame, tellingRows, tellTrace } from '../streams/project/action-rows.ts';
import { newCounters } from '../streams/project/counters.ts';
import { createKnownStore } from '../streams/project/known-contracts.ts';
import { createOpenTraces, type OpenTrace, placesOf } from '../streams/project/open-traces.ts';

const { signal } = new AbortController();
const TIMEOUT_MS = 300_000;
const MOST_TOLD = 20;

export interface AuditedActions {
  clickhouse: ClickHouse;
  /** Accounts that were there before the first block. */
  genesis: readonly InitialAccount[];
  /** The newest of them are told again. */
  traces: number;
}

const zeroState = z.object({ seed: z.string(), traders: z.number() });

/** Accounts of the zero state of the devnet in a folder. */
export function genesisIn(folder: string): InitialAccount[] {
  const text = readFileSync(join(folder, 'devnet.json'), 'utf8');
  return initialAccounts(createCast(zeroState.parse(JSON.parse(text))));
}

/** @returns what does not hold, and how much was looked at */
export async function auditActions(audited: AuditedActions) {
  const problems = [...(await strayTransactions(audited)), ...(await strayAccounts(audited))];
  const retold = await toldOtherwise(audited);
  const sums = await unevenBalances(audited);
  return {
    problems: [...problems, ...retold.problems, ...sums.problems],
    traces: retold.traces,
    actions: retold.actions,
    balances: sums.balances,
  };
}

const counted = z.object({ n: z.coerce.number() });

async function count({ clickhouse }: AuditedActions, sql: string): Promise<number> {
  const [row] = await clickhouse.json(`SELECT count() AS n FROM (${sql})`, counted, { timeoutMs: TIMEOUT_MS });
  return row?.n ?? 0;
}

/** Where the transactions of each trace stand, as its rows have them. */
const PLACES = `SELECT trace_id, toFixedString(substring(places, at + 1, 36), 36) AS account,
    reinterpretAsUInt64(reverse(substring(places, at + 37, 8))) AS lt
  FROM (SELECT DISTINCT trace_id, mc_seqno, places FROM traces) ARRAY JOIN range(0, length(places), 44) AS at`;

/** Every transaction is in one trace, once, and in the one that it names. */
async function strayTransactions(audited: AuditedActions): Promise<string[]> {
  const own = 'SELECT DISTINCT trace_id, account, lt FROM transactions';
  const found = {
    'transactions that are in no trace, or another': await count(
      audited,
      `${own} WHERE (trace_id, account, lt) NOT IN (${PLACES})`,
    ),
    'places of traces without a transaction': await count(
      audited,
      `SELECT * FROM (${PLACES}) WHERE (trace_id, account, lt) NOT IN (${own})`,
    ),
    'transactions that are in traces more than once': await count(
      audited,
      `SELECT account, lt FROM (${PLACES}) GROUP BY account, lt HAVING count() > 1`,
    ),
  };
  return Object.entries(found).flatMap(([what, n]) => (n === 0 ? [] : [`${n} ${what}`]));
}

/** Actions are found by the accounts that they name, and by no others. */
async function strayAccounts(audited: AuditedActions): Promise<string[]> {
  const key = 'trace_end_lt, trace_id, number';
  const newest = (table: string, more: string) =>
    `SELECT ${key}, type${more} FROM (SELECT * FROM ${table} ORDER BY ${key}${more}, mc_seqno DESC LIMIT 1 BY ${key}${more}) WHERE type != ''`;
  const text = `concat(toString(toInt64(reinterpretAsUInt32(reverse(substring(account, 1, 4)))) - 2147483648), ':', hex(substring(account, 5)))`;
  const found = `SELECT ${key}, type, ${text} AS raw FROM (${newest('action_accounts', ', account')})`;
  const named = `SELECT ${key}, type, raw FROM (SELECT * FROM actions ORDER BY ${key}, mc_seqno DESC LIMIT 1 BY ${key})
    ARRAY JOIN arrayDistinct(JSONExtract(content, 2, 'Array(String)')) AS raw WHERE type != ''`;
  const stray = await count(audited, `(${found} EXCEPT ${named}) UNION ALL (${named} EXCEPT ${found})`);
  return stray === 0 ? [] : [`${stray} accounts that actions name and are not found by, or the other way round`];
}

const COLUMNS = columnNames(Object.keys(actions.columns)).join(', ');

/** How each trace was told last. */
async function tellings(clickhouse: ClickHouse, ids: readonly Buffer[]): Promise<Map<string, ActionRow[]>> {
  const found = new Map<string, ActionRow[]>();
  const rows = new RowReader(
    await clickhouse.query(
      `SELECT ${COLUMNS} FROM actions WHERE trace_id IN (${ids.map(bytes)})
       ORDER BY trace_id, number, mc_seqno DESC LIMIT 1 BY trace_id, number`,
      { timeoutMs: TIMEOUT_MS },
    ),
  );
  while (!rows.done) {
    const row: Record<string, unknown> = {};
    for (const [name, column] of Object.entries(actions.columns)) {
      const value = column.read(rows);
      row[name] = Buffer.isBuffer(value) ? Buffer.from(value) : value;
    }
    const telling = row as ActionRow;
    found.set(hashKey(telling.traceId), [...(found.get(hashKey(telling.traceId)) ?? []), telling]);
  }
  return found;
}

/** What the tables say of a trace is what the classifier says of it, from its stored transactions and what is known now. */
async function toldOtherwise({ clickhouse, traces: most }: AuditedActions) {
  const ids: Buffer[] = [];
  const rows = new RowReader(
    await clickhouse.query(
      `SELECT DISTINCT trace_id, end_lt FROM traces WHERE state = 'complete' ORDER BY end_lt DESC LIMIT ${most}`,
      { timeoutMs: TIMEOUT_MS },
    ),
  );
  for (; !rows.done; rows.u64()) ids.push(Buffer.from(rows.fixed(32)));
  const batch = { number: 1, firstMcSeqno: 0xffff_ffff };
  const open = createOpenTraces(clickhouse, () => undefined);
  const known = createKnownStore(clickhouse);
  const traces = await open.find(ids, batch, signal);
  const told = await tellings(clickhouse, ids);
  const work = { known, batch, counters: newCounters(), signal };
  const problems: string[] = [];
  let seen = 0;
  for (const trace of traces.values()) {
    const before = told.get(hashKey(trace.traceId)) ?? [];
    const now = await toldNow(trace, before, work, open);
    seen += now.length;
    if (saysTheSame(now, before)) continue;
    if (problems.length < MOST_TOLD) {
      const text = (row: ActionRow): string => `${row.type} ${row.success} ${row.content}`;
      problems.push(
        `trace ${trace.traceId.toString('base64')} is told as ${before.map(text).join('; ')}, not ${now.map(text).join('; ')}`,
      );
    }
  }
  return { problems, traces: traces.size, actions: seen };
}

async function toldNow(
  trace: OpenTrace,
  before: readonly ActionRow[],
  work: Parameters<typeof tellTrace>[3],
  open: ReturnType<typeof createOpenTraces>,
): Promise<ActionRow[]> {
  const places = [...placesOf(trace)];
  const all = new Set(places.map(({ account }) => rawAddress(account)));
  await work.known.begin({ all, likely: new Map(), looked: all }, work.batch, signal);
  const endMcSeqno = before[0]?.endMcSeqno ?? 0;
  const told = await tellTrace(trace, endMcSeqno, await open.transactions(places, signal), work);
  return tellingRows(trace, told, { mcSeqno: before[0]?.mcSeqno ?? 0, endMcSeqno });
}

const wallet = z.object({ address: z.string(), owner: z.string(), jetton: z.string(), balance: z.string() });
const text = z.string().nullish();
const leg = z.object({ asset: text, source: text, destination: text, amount: z.string() });
const moves = z.looseObject({
  asset: text,
  sender: text,
  sender_jetton_wallet: text,
  receiver: text,
  owner: text,
  stake_holder: text,
  amount: text,
  tokens_minted: text,
  tokens_burnt: text,
  dex_incoming_transfer: leg.nullish(),
  dex_outgoing_transfer: leg.nullish(),
});

/**
 * What actions tell of each jetton's owners is what their balances have changed by, where nothing is on its way; but for
 * mintless jettons, of which no action tells what was claimed.
 */
async function unevenBalances({ clickhouse, genesis }: AuditedActions) {
  const told = new Map<string, bigint>();
  const add = (jetton: string | null | undefined, owner: string | null | undefined, amount: bigint): void => {
    if (!jetton || !owner) return;
    told.set(`${jetton} ${owner}`, (told.get(`${jetton} ${owner}`) ?? 0n) + amount);
  };
  const one = z.object({ type: z.string(), content: z.string() });
  const shown = await clickhouse.json(
    `SELECT type, content FROM (SELECT type, success, content FROM actions
       ORDER BY trace_end_lt, trace_id, number, mc_seqno DESC LIMIT 1 BY trace_end_lt, trace_id, number) WHERE type != '' AND success`,
    one,
    { timeoutMs: TIMEOUT_MS },
  );
  const hexed = (column: string): string => `lower(hex(${column})) AS ${column}`;
  const wallets = await clickhouse.json(
    `SELECT ${hexed('address')}, ${hexed('owner')}, ${hexed('jetton')}, toString(w.balance) AS balance FROM jetton_wallets AS w FINAL
     WHERE mintless_is_claimed IS NULL`,
    wallet,
    { timeoutMs: TIMEOUT_MS },
  );
  const raw = (hex: string): string => rawAddress(Buffer.from(hex, 'hex'));
  const owners = new Map(wallets.map(({ address, owner }) => [raw(address), raw(owner)]));
  for (const { type, content } of shown) {
    const details = moves.parse(JSON.parse(content)[0]);
    const units = (amount: string | null | undefined): bigint => BigInt(amount ?? 0);
    if (type === 'jetton_transfer') {
      // Of a governed jetton the master may send what is another's.
      const from = details.sender_jetton_wallet;
      add(details.asset, (from && owners.get(from)) ?? details.sender, -units(details.amount));
      add(details.asset, details.receiver, units(details.amount));
    } else if (type === 'jetton_swap') {
      for (const side of [details.dex_incoming_transfer, details.dex_outgoing_transfer]) {
        add(side?.asset, side?.source, -units(side?.amount));
        add(side?.asset, side?.destination, units(side?.amount));
      }
    } else if (type === 'jetton_mint') add(details.asset, details.receiver, units(details.amount));
    else if (type === 'jetton_burn') add(details.asset, details.owner, -units(details.amount));
    else if (type === 'stake_deposit') add(details.asset, details.stake_holder, units(details.tokens_minted));
    else if (type === 'stake_withdrawal') add(details.asset, details.stake_holder, -units(details.tokens_burnt));
  }
  const moving = new Set<string>();
  const state = `SELECT trace_id FROM traces GROUP BY trace_id HAVING argMax(state, mc_seqno) != 'complete'`;
  const rows = new RowReader(
    await clickhouse.query(`SELECT DISTINCT account FROM (${PLACES}) WHERE trace_id IN (${state})`, {
      timeoutMs: TIMEOUT_MS,
    }),
  );
  while (!rows.done) moving.add(rawAddress(rows.fixed(36)));
  const first = new Map(
    genesis.flatMap(({ address, code, data }) =>
      code.equals(jettonWalletCode)
        ? [
            [
              rawAddress(parseAddress(address.toRawString()) ?? Buffer.alloc(0)),
              readJettonWallet(data).balance,
            ] as const,
          ]
        : [],
    ),
  );
  const problems: string[] = [];
  let balances = 0;
  for (const { address, owner, jetton, balance } of wallets) {
    if (moving.has(raw(address)) || moving.has(raw(owner))) continue;
    balances++;
    const change = BigInt(balance) - (first.get(raw(address)) ?? 0n);
    const sum = told.get(`${raw(jetton)} ${raw(owner)}`) ?? 0n;
    if (change !== sum)
      problems.push(`the balance of ${raw(owner)} in ${raw(jetton)} changed by ${change}, actions tell of ${sum}`);
  }
  return { problems: problems.slice(0, MOST_TOLD), balances };
}
