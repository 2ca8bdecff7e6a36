/** Transfers and burns of contracts that were confirmed later, as windows that begin anywhere around them show them. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import type { EventFilter, TokenEvent } from '../src/chain/contract-records.ts';
import { hashKey } from '../src/chain/hash.ts';
import { archiveOf, LARGE_SLAB } from './archived.ts';
import { context, type Projected, type SharedWindows, type Windowed, windowFrom } from './windowed.ts';

const LATE = [
  { question: 'jettonTransfers', table: 'jetton_transfers', contract: 'source_wallet', owner: 'source' },
  { question: 'nftTransfers', table: 'nft_transfers', contract: 'nft_address', owner: 'old_owner' },
] as const;
const lateRow = z.object({ contract: z.string(), owner: z.string(), lt: z.string(), told: z.int(), made: z.int() });

/** Rows of a step that tell of a transaction of an earlier one. */
async function lateRows(clickhouse: ClickHouse, { table, contract, owner }: (typeof LATE)[number]) {
  const aborted = table === 'jetton_transfers' ? 'NOT transaction_aborted' : 'true';
  const sql = `SELECT lower(hex(e.${contract})) AS contract, lower(hex(e.${owner})) AS owner,
      toString(e.transaction_lt) AS lt, e.mc_seqno AS told, t.mc_seqno AS made
    FROM ${table} AS e FINAL INNER JOIN transactions AS t ON t.account = e.${contract} AND t.lt = e.transaction_lt
    WHERE e.mc_seqno > t.mc_seqno AND ${aborted} ORDER BY told, lt`;
  return clickhouse.json(sql, lateRow);
}

/** Hashes of their transactions, standard base64. */
export async function lateTransactions(clickhouse: ClickHouse): Promise<Set<string>> {
  const each = LATE.map(
    ({ table }) => `SELECT base64Encode(transaction_hash) AS hash FROM ${table} WHERE transaction_hash != ''`,
  );
  const rows = await clickhouse.json(each.join(' UNION ALL '), z.object({ hash: z.string() }));
  return new Set(rows.map(({ hash }) => hash));
}

const ALL: EventFilter = {
  owners: [],
  contracts: [],
  utime: {},
  ltWindow: {},
  sort: 'desc',
  page: { limit: 1_000, offset: 0 },
};

const shown = ({ transaction: { transaction, mcSeqno }, token }: TokenEvent): string =>
  [hashKey(transaction.hash), mcSeqno, token && hashKey(token)].join();

export function describeLateEvents(
  served: () => Pick<Projected, 'tables' | 'steps' | 'clickhouse'> & { windows: SharedWindows },
): void {
  it.each(LATE)('tells $question of contracts that were confirmed later, the same in windows', async (kind) => {
    const { tables, steps, clickhouse, windows } = served();
    const late = await lateRows(clickhouse, kind);
    expect(late.length).toBeGreaterThan(0);
    const [first] = late;
    const [contract, owner] = [first.contract, first.owner].map((hex) => Buffer.from(hex, 'hex'));
    const page = { limit: 3, offset: 1 };
    const filters: EventFilter[] = [
      ALL,
      { ...ALL, sort: 'asc' },
      { ...ALL, sort: 'asc', page },
      { ...ALL, contracts: [contract] },
      { ...ALL, contracts: [contract], page: { limit: 1, offset: 0 }, sort: 'asc' },
      { ...ALL, owners: [owner], direction: 'out' },
      { ...ALL, owners: [owner], page },
      { ...ALL, utime: { start: 1 }, page },
      { ...ALL, ltWindow: { start: first.lt, end: first.lt } },
    ];
    const answers = await Promise.all(filters.map((filter) => tables.contracts[kind.question](filter, context())));
    expect(answers[0].length).toBeGreaterThan(late.length);
    expect(answers[3].map(({ transaction }) => transaction.transaction.lt)).toContain(first.lt);
    expect(answers.at(-1)?.map(({ transaction }) => transaction.mcSeqno)).toContain(first.made);
    // Subscribers hear what a step tells of its own transactions.
    const type = kind.question === 'jettonTransfers' ? 'jetton_transfer' : 'nft_transfer';
    const places = late.flatMap(({ contract: hex, lt, made, told }) =>
      [made, told].map((mcSeqno) => ({ account: Buffer.from(hex, 'hex'), lt, mcSeqno })),
    );
    expect(await tables.contracts.transferTokens(type, places, context())).toEqual([]);
    const starts = [first.made, first.made + 1, first.told, first.told + 1].map((seqno) =>
      steps.findIndex(({ step }) => step.mcSeqno >= seqno),
    );
    for (const start of new Set([0, ...starts])) await compare(await windows.from(start), start);
    const archived = archiveOf({ clickhouse }, LARGE_SLAB);
    try {
      for (const start of [starts[1], starts[3]]) {
        const windowed = await windowFrom({ tables, steps }, start, undefined, archived.archive);
        try {
          await archived.fill(windowed.window);
          await compare(windowed, start);
        } finally {
          await windowed.remove();
        }
      }
    } finally {
      await archived.remove();
    }

    async function compare(windowed: Windowed, start: number): Promise<void> {
      for (const [i, filter] of filters.entries()) {
        const found = await windowed.source.contracts[kind.question](filter, context());
        expect(found.map(shown), `${start}, ${i}`).toEqual(answers[i].map(shown));
      }
    }
  });
}
