import { describe, expect, it } from 'vitest';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes } from '../../clickhouse/literal.ts';
import { RowWriter } from '../../clickhouse/rowbinary.ts';
import { accountData } from '../../clickhouse/tables/accounts.ts';
import { jettonWallets } from '../../clickhouse/tables/jettons.ts';
import type { Row } from '../../clickhouse/tables/table.ts';
import { addressOf, rawAddress } from '../../src/chain/address.ts';
import { Builder, toBoc } from '../../src/chain/builder.ts';
import type { JettonWalletRecord, TokenCandidates } from '../../src/chain/contract-records.ts';
import { noContracts } from '../../test/fake-source.ts';
import { madeHash } from '../../test/made-chain.ts';
import { createKnownStore } from './known-contracts.ts';
import { createStepRows } from './step-rows.ts';

const { signal } = new AbortController();
const account = (name: string) => addressOf(0, madeHash(name));
const [wallet, owner, other, master] = ['wallet', 'owner', 'other', 'master'].map(account);

/** Tables that hold one wallet, first seen in a step. */
function tablesWith(step: number): { clickhouse: ClickHouse; asked: string[] } {
  const asked: string[] = [];
  const query = async (sql: string): Promise<Buffer> => {
    asked.push(sql);
    const out = new RowWriter(256);
    if (sql.includes('FROM jetton_wallets') && sql.includes(bytes(wallet))) {
      out.fixed(wallet, 36);
      out.u64((BigInt(step) << 24n).toString());
      out.u32(step);
      for (const one of [owner, master]) out.fixed(one, 36);
      out.endRow();
    }
    return Buffer.concat(out.take());
  };
  return { clickhouse: { query } as Partial<ClickHouse> as ClickHouse, asked };
}

const NO_TOKENS = { items: [], collections: [], masters: [], wallets: [] };
const batch = { number: 1, firstMcSeqno: 10 };
const found = { owner: rawAddress(owner), jetton: rawAddress(master) };

const walletRow: Row<typeof jettonWallets> = {
  address: wallet,
  id: '1',
  mcSeqno: 10,
  lastTransactionLt: '5',
  codeHash: madeHash('code'),
  dataHash: madeHash('data'),
  balance: '1',
  owner,
  jetton: master,
  mintlessIsClaimed: null,
};

const likelyAny = { all: new Set([rawAddress(wallet)]), likely: new Map(), looked: new Set<string>() };
const likelyNone = { ...likelyAny, likely: new Map([[rawAddress(wallet), new Set<never>()]]) };

describe('what is known of contracts', () => {
  it('is looked up once, and known from then on', async () => {
    const { clickhouse, asked } = tablesWith(9);
    const store = createKnownStore(clickhouse);
    const first = store.known();
    expect(first.contracts.jettonWallet(rawAddress(wallet))).toBeUndefined();
    expect([...first.missing.keys()]).toEqual(['jettonWallet']);
    await store.loadMissing(first.missing, batch, signal);
    const second = store.known();
    expect(second.contracts.jettonWallet(rawAddress(wallet))).toEqual(found);
    expect(second.missing.size).toBe(0);
    await store.begin(likelyAny, batch, signal);
    expect(asked.filter((sql) => sql.includes('jetton_wallets'))).toHaveLength(1);
  });

  it('is looked up when it is asked for where nothing was likely', async () => {
    const { clickhouse, asked } = tablesWith(9);
    const store = createKnownStore(clickhouse);
    await store.begin(likelyNone, batch, signal);
    expect(asked).toEqual([]);
    const { contracts, missing } = store.known();
    expect(contracts.jettonWallet(rawAddress(wallet))).toBeUndefined();
    await store.loadMissing(missing, batch, signal);
    expect(store.known().contracts.jettonWallet(rawAddress(wallet))).toEqual(found);
  });

  it('is looked up once a batch where a transfer may be a bid, or a deployment an item', async () => {
    const { clickhouse, asked } = tablesWith(9);
    const store = createKnownStore(clickhouse);
    await store.begin({ ...likelyNone, looked: new Set([rawAddress(wallet)]) }, batch, signal);
    expect(asked.map((sql) => sql.match(/FROM (\w+)/)?.[1]).sort()).toEqual(['nft_auctions', 'nft_items']);
    const { contracts, missing } = store.known();
    expect(contracts.nftAuction(rawAddress(wallet)) ?? contracts.nftItem(rawAddress(wallet))).toBeUndefined();
    expect(missing.size).toBe(0);
  });

  it('is not asked of tables that have few contracts, none of them these, as long as none come', async () => {
    const { clickhouse, asked } = tablesWith(9);
    const store = createKnownStore(clickhouse, { takesAll: true, cached: 1 });
    await store.begin(likelyAny, batch, signal);
    expect(asked.every((sql) => sql.startsWith('SELECT DISTINCT address FROM '))).toBe(true);
    expect(store.known().contracts.jettonWallet(rawAddress(wallet))).toBeUndefined();
    const rows = createStepRows(10);
    rows.add(jettonWallets, walletRow);
    store.take(rows, 1);
    store.written(1);
    // Forgotten for another one.
    await store.begin({ ...likelyAny, all: new Set([rawAddress(other)]) }, { number: 2, firstMcSeqno: 11 }, signal);
    await store.begin(likelyAny, { number: 3, firstMcSeqno: 12 }, signal);
    expect(store.known().contracts.jettonWallet(rawAddress(wallet))).toEqual(found);
    expect(asked.filter((sql) => sql.includes('FROM jetton_wallets WHERE'))).toHaveLength(1);
  });

  it('is asked of what answers for whole steps, where there is such, of the kinds that it has', async () => {
    const { clickhouse, asked } = tablesWith(9);
    const row = { address: wallet, owner: other, jetton: master } as JettonWalletRecord;
    const tokens = async (candidates: TokenCandidates) => ({
      ...NO_TOKENS,
      wallets: candidates.wallets.map(() => row),
    });
    const store = createKnownStore(clickhouse, { shown: { ...noContracts(), tokens } });
    await store.begin(likelyAny, batch, signal);
    const { contracts, missing } = store.known();
    expect(contracts.jettonWallet(rawAddress(wallet))).toEqual({ ...found, owner: rawAddress(other) });
    expect(contracts.nftAuction(rawAddress(wallet))).toBeUndefined();
    expect(missing.size).toBe(0);
    expect(asked.map((sql) => sql.match(/FROM (\w+)/)?.[1]).sort()).toEqual([
      'dedust_pools',
      'multisig_orders',
      'nominator_pools',
    ]);
  });

  it('is asked for again where the tables did not answer', async () => {
    const { clickhouse } = tablesWith(9);
    let isAway = true;
    const query = (sql: string, ...rest: []) =>
      isAway ? Promise.reject(new Error('away')) : clickhouse.query(sql, ...rest);
    const store = createKnownStore({ query } as Partial<ClickHouse> as ClickHouse);
    await expect(store.begin(likelyAny, batch, signal)).rejects.toThrow('away');
    isAway = false;
    await store.begin(likelyAny, batch, signal);
    expect(store.known().contracts.jettonWallet(rawAddress(wallet))).toEqual(found);
  });

  it('is not what a batch that is repeated had written', async () => {
    const store = createKnownStore(tablesWith(10).clickhouse);
    await store.begin(likelyAny, batch, signal);
    const { contracts, missing } = store.known();
    expect(contracts.jettonWallet(rawAddress(wallet))).toBeUndefined();
    expect(missing.size).toBe(0);
  });

  it('follows the steps, whatever the tables have by then', async () => {
    const store = createKnownStore(tablesWith(9).clickhouse);
    await store.begin(likelyAny, batch, signal);
    const rows = createStepRows(10);
    rows.add(jettonWallets, { ...walletRow, owner: other });
    store.take(rows, 1);
    const now = () => store.known().contracts.jettonWallet(rawAddress(wallet));
    expect(now()).toEqual({ ...found, owner: rawAddress(other) });
    store.written(1);
    expect(now()).toEqual({ ...found, owner: rawAddress(other) });
  });

  it('is the data that the step left, though the tables have it last and nobody asked before', async () => {
    const store = createKnownStore({ query: async () => Buffer.alloc(0) } as Partial<ClickHouse> as ClickHouse);
    const ask = async (number: number): Promise<number | null | undefined> => {
      const { contracts, missing } = store.known();
      contracts.data(rawAddress(wallet));
      await store.loadMissing(missing, { number, firstMcSeqno: number }, signal);
      return store.known().contracts.data(rawAddress(wallet))?.opcode;
    };
    const shown = (mcSeqno: number, opcode: number) => {
      const rows = createStepRows(mcSeqno);
      const boc = toBoc(new Builder().u(opcode, 32).cell());
      rows.add(accountData, { account: wallet, lt: String(mcSeqno), mcSeqno, dataHash: madeHash(`${opcode}`), boc });
      return rows;
    };
    store.take(shown(1, 7), 1);
    // Of the batch itself, and of one before it that is on its way.
    expect(await ask(1)).toBe(7);
    store.take(shown(2, 8), 2);
    expect(await ask(2)).toBe(8);
    store.written(1);
    expect(await ask(3)).toBe(8);
    store.written(2);
    expect(await ask(3)).toBe(8);
  });
});
