/** What is asked of contracts, over a real server with rows that are made up. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawAddress } from '../../src/chain/address.ts';
import type { ContractSource, JettonWalletFilter } from '../../src/chain/contract-records.ts';
import type { Address } from '../../src/chain/model.ts';
import type { ClickHouse } from '../client.ts';
import { createQueryGate } from '../gate.ts';
import { jettonHolders, jettonMasters, jettonWallets } from '../tables/jettons.ts';
import { dnsRecords } from '../tables/nfts.ts';
import { multisigOrders, multisigWallets, vestingContracts } from '../tables/services.ts';
import { contractQueries } from './contracts.ts';
import type { Head } from './head.ts';
import { BadCursor, makeCursor } from './keys.ts';
import { byBalance } from './keyset.ts';
import { createReading, type Reading } from './reading.ts';
import {
  ALICE,
  address,
  BOB,
  CAROL,
  type Contracts,
  context,
  detected,
  HEAD,
  numberOf,
  openContracts,
  page,
  walk,
} from './test-contracts.ts';

/** For a busy machine. */
const PATIENCE = { timeout: 180_000 };
const [GOLD, SILVER] = [address(0x61), address(0x62)];

const wallet = (n: number, owner: Address, jetton: Address, balance: string, lt?: number) => ({
  ...detected(n, n, lt),
  owner,
  jetton,
  balance,
  mintlessIsClaimed: null,
});

let contracts: Contracts;
let clickhouse: ClickHouse;
let head: Head;
let source: ContractSource;

beforeAll(async () => {
  contracts = await openContracts();
  ({ clickhouse, head, source } = contracts);
});
afterAll(() => contracts?.close());

const insert: Contracts['insert'] = (table, rows) => contracts.insert(table, rows);

describe('jettons', () => {
  const filter: JettonWalletFilter = {
    addresses: [],
    owners: [],
    jettons: [],
    excludeZeroBalance: false,
    byBalance: undefined,
    page,
  };
  const wallets = async (more: Partial<JettonWalletFilter>) =>
    (await source.jettonWallets({ ...filter, ...more }, context)).map(numberOf);

  beforeAll(async () => {
    const master = (n: number, admin: Address | null, lt?: number) => ({
      ...detected(n, 100 - n, lt),
      totalSupply: '10',
      mintable: true,
      adminAddress: admin,
      jettonContent: '{"symbol":"X"}',
      jettonWalletCodeHash: Buffer.alloc(32, 3),
    });
    // Silver goes from Alice to Bob.
    await insert(jettonMasters, [master(0x61, ALICE), master(0x62, ALICE), master(0x63, null)]);
    await insert(jettonMasters, [master(0x62, BOB, 1000)]);
    await insert(jettonWallets, [
      wallet(1, BOB, GOLD, '5'),
      wallet(2, ALICE, GOLD, '50'),
      wallet(3, ALICE, SILVER, '0'),
      wallet(4, CAROL, GOLD, '7'),
    ]);
    // A later state of the first.
    await insert(jettonWallets, [wallet(1, BOB, GOLD, '70', 1000)]);
    const holder = (n: number, balance: string, sign: number) => ({
      jetton: GOLD,
      balance,
      address: address(n),
      lt: String(100 + n),
      mcSeqno: 5,
      sign,
    });
    await insert(jettonHolders, [holder(1, '5', 1), holder(2, '50', 1), holder(4, '7', 1)]);
    await insert(jettonHolders, [holder(1, '5', -1), holder(1, '70', 1)]);
  });

  it('lists masters in the order of detection, and those of an admin as of now', async () => {
    const masters = async (addresses: Address[], admins: Address[], of = page) =>
      (await source.jettonMasters({ addresses, admins, page: of }, context)).map(numberOf);
    expect(await masters([], [])).toEqual([0x63, 0x62, 0x61]);
    expect(await masters([], [], { limit: 1, offset: 1 })).toEqual([0x62]);
    expect(await masters([GOLD, SILVER], [])).toEqual([0x62, 0x61]);
    expect(await masters([], [ALICE])).toEqual([0x61]);
    expect(await masters([], [BOB])).toEqual([0x62]);
  });

  it('lists wallets in the orders of the contract', async () => {
    expect(await wallets({})).toEqual([1, 2, 3, 4]);
    expect(await wallets({ page: { limit: 2, offset: 1 } })).toEqual([2, 3]);
    expect(await wallets({ addresses: [address(4), address(1)] })).toEqual([1, 4]);
    expect(await wallets({ owners: [BOB, ALICE] })).toEqual([2, 3, 1]);
    expect(await wallets({ owners: [ALICE], jettons: [SILVER, GOLD] })).toEqual([2, 3]);
    expect(await wallets({ jettons: [GOLD] })).toEqual([1, 2, 4]);
    expect(await wallets({ jettons: [GOLD], page: { limit: 1, offset: 2 } })).toEqual([4]);
    expect(await wallets({ excludeZeroBalance: true })).toEqual([1, 2, 4]);
    expect(await wallets({ byBalance: 'asc' })).toEqual([3, 4, 2, 1]);
  });

  it('lists the holders of a jetton by their newest balance', async () => {
    expect(await wallets({ jettons: [GOLD], byBalance: 'desc' })).toEqual([1, 2, 4]);
    expect(await wallets({ jettons: [GOLD], byBalance: 'asc' })).toEqual([4, 2, 1]);
    expect(await wallets({ jettons: [GOLD], byBalance: 'desc', page: { limit: 1, offset: 1 } })).toEqual([2]);
    const [first] = await source.jettonWallets({ ...filter, jettons: [GOLD], byBalance: 'desc' }, context);
    expect(first.balance).toBe('70');
  });

  it('lists holders behind cursors, whatever their balances', async () => {
    const jetton = address(0x64);
    const balances = ['-5', '-5', `-${2n ** 255n}`, '0', String(2n ** 255n - 1n)];
    const owed = balances.map((balance, i) => wallet(0x50 + i, CAROL, jetton, balance));
    await insert(jettonWallets, owed);
    await insert(
      jettonHolders,
      owed.map(({ address: one, balance }) => ({ jetton, balance, address: one, lt: '1', mcSeqno: 5, sign: 1 })),
    );
    for (const sort of ['asc', 'desc'] as const) {
      const of = { ...filter, jettons: [jetton], byBalance: sort };
      const whole = (await source.jettonWallets(of, context)).map(numberOf);
      expect(whole).toEqual(sort === 'asc' ? [0x52, 0x50, 0x51, 0x53, 0x54] : [0x54, 0x53, 0x51, 0x50, 0x52]);
      const walked = await walk(byBalance, (some) => source.jettonWallets({ ...of, ...some }, context));
      expect(walked.map(numberOf)).toEqual(whole);
    }
    const beyond = makeCursor('balance', [String(2n ** 255n), rawAddress(jetton)]);
    expect(() => byBalance.read(beyond)).toThrow(BadCursor);
  });

  it('tells what addresses are, the master of a wallet with it', async () => {
    const none = { items: [], collections: [], masters: [], wallets: [] };
    const tokens = await source.tokens({ ...none, wallets: [address(3), ALICE] }, context);
    expect(tokens.wallets.map(numberOf)).toEqual([3]);
    expect(tokens.masters.map(numberOf)).toEqual([0x62]);
  });

  it('looks at the wallets of a jetton once for those that have something, however often they were written', async () => {
    const tin = address(0x65);
    await clickhouse.command('SYSTEM STOP MERGES jetton_wallets_by_id');
    for (let i = 0; i < 7; i++) {
      await insert(jettonWallets, [wallet(0x31, CAROL, tin, '0', i), wallet(0x32 + i, CAROL, address(0x66), '0')]);
    }
    const reading = createReading(clickhouse, createQueryGate({ maxConcurrent: 4, maxQueued: 100 }), head);
    const labels: string[] = [];
    const rows: Reading['rows'] = (sql, label, of) => {
      labels.push(label);
      return reading.rows(sql, label, of);
    };
    const watched = contractQueries({ ...reading, rows }, async () => []);
    const asked = { ...filter, jettons: [tin], excludeZeroBalance: true, page: { limit: 1, offset: 0 } };
    expect(await watched.jettonWallets(asked, context)).toEqual([]);
    expect(labels.filter((label) => label === 'count of jetton wallets')).toHaveLength(1);
    await clickhouse.command('SYSTEM START MERGES jetton_wallets_by_id');
  });
});

describe('names, multisigs, vesting', () => {
  beforeAll(async () => {
    const record = (
      n: number,
      domain: string,
      owner: Address | null,
      to: Address | null,
      lt?: number,
      mcSeqno = HEAD + 1,
    ) => ({
      ...detected(n, n, lt),
      mcSeqno,
      domain,
      nftItemOwner: owner,
      dnsNextResolver: null,
      dnsWallet: to,
      dnsSiteAdnl: null,
      dnsStorageBagId: null,
    });
    await insert(dnsRecords, [
      record(0x21, 'zz.ton', ALICE, ALICE),
      record(0x22, 'bb.ton', ALICE, ALICE),
      record(0x23, 'a.ton', BOB, ALICE),
      record(0x24, 'longer.ton', ALICE, ALICE),
    ]);
    head.advance(HEAD + 1);
    const member = { threshold: 2, codeHash: Buffer.alloc(32), dataHash: Buffer.alloc(32) };
    const wallet_ = (n: number, signers: Address[], proposers: Address[]) => ({
      ...detected(n),
      ...member,
      nextOrderSeqno: '-1',
      signers,
      proposers,
    });
    await insert(multisigWallets, [wallet_(0x31, [ALICE, BOB], []), wallet_(0x32, [CAROL], [BOB])]);
    const order = (n: number, multisig: Address) => ({
      ...detected(n),
      ...member,
      multisigAddress: multisig,
      orderSeqno: '1',
      sentForExecution: false,
      approvalsMask: '1',
      approvalsNum: 1,
      expirationDate: '99',
      orderBoc: Buffer.from([1]),
      signers: [ALICE],
    });
    await insert(multisigOrders, [order(0x41, address(0x31)), order(0x42, address(0x31)), order(0x43, address(0x32))]);
    const vesting = (n: number, whitelist: Address[]) => ({
      ...detected(n),
      startTime: '1',
      totalDuration: 2,
      unlockPeriod: 1,
      cliffDuration: 0,
      totalAmount: '5',
      senderAddress: ALICE,
      ownerAddress: BOB,
      whitelist,
    });
    await insert(vestingContracts, [vesting(0x51, []), vesting(0x52, [CAROL])]);
  });

  it('lists names by their length, then by the alphabet', async () => {
    const names = async (filter: { wallet?: Address; domain?: string }) =>
      (await source.dnsRecords({ ...filter, page }, context)).map(({ domain }) => domain);
    expect(await names({ wallet: ALICE })).toEqual(['a.ton', 'bb.ton', 'zz.ton', 'longer.ton']);
    expect(await names({ domain: 'zz.ton' })).toEqual(['zz.ton']);
    expect(await names({ domain: "' OR 1 = 1 --" })).toEqual([]);
  });

  it('knows the shortest name that belongs to the account it leads to, and follows the head', async () => {
    await expect.poll(() => source.domainOf(ALICE), PATIENCE).toBe('bb.ton');
    expect(source.domainOf(BOB)).toBeNull();
    const row = { ...detected(0x22, 0x22, 9000), mcSeqno: HEAD + 2, domain: 'bb.ton', dnsNextResolver: null };
    const sold = { ...row, nftItemOwner: BOB, dnsWallet: BOB, dnsSiteAdnl: null, dnsStorageBagId: null };
    await insert(dnsRecords, [sold]);
    head.advance(HEAD + 2);
    await expect.poll(() => source.domainOf(BOB), PATIENCE).toBe('bb.ton');
    expect(source.domainOf(ALICE)).toBe('zz.ton');
  });

  it('lists multisigs of their members, and orders', async () => {
    const multisigs = async (addresses: Address[], members: Address[], sort: 'asc' | 'desc' = 'desc') =>
      (await source.multisigWallets({ addresses, members, sort, page }, context)).map(numberOf);
    expect(await multisigs([], [BOB])).toEqual([0x32, 0x31]);
    expect(await multisigs([], [BOB], 'asc')).toEqual([0x31, 0x32]);
    expect(await multisigs([address(0x31)], [CAROL])).toEqual([]);
    const orders = async (filter: object) =>
      (await source.multisigOrders({ addresses: [], multisigs: [], sort: 'desc', page: null, ...filter }, context)).map(
        numberOf,
      );
    expect(await orders({ multisigs: [address(0x31)] })).toEqual([0x42, 0x41]);
    expect(await orders({ addresses: [address(0x43)], page })).toEqual([0x43]);
  });

  it('lists vesting contracts', async () => {
    const vesting = async (filter: object) =>
      (
        await source.vestingContracts({ addresses: [], members: [], checkWhitelist: false, page, ...filter }, context)
      ).map(numberOf);
    expect(await vesting({ members: [BOB] })).toEqual([0x51, 0x52]);
    expect(await vesting({ members: [CAROL] })).toEqual([]);
    expect(await vesting({ members: [CAROL], checkWhitelist: true })).toEqual([0x52]);
    expect(await vesting({ addresses: [address(0x51)] })).toEqual([0x51]);
  });
});
