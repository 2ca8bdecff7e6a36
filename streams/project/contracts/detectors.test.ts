/** What detectors make of what get-methods leave, without running any. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { addressOf } from '../../../src/chain/address.ts';
import { Builder, type Cell, toBoc } from '../../../src/chain/builder.ts';
import type { DetectedRecord } from '../../../src/chain/contract-records.ts';
import { plain, updateDictionary } from '../../../src/chain/dictionary.ts';
import type { StackValue } from '../../../src/tvm/stack.ts';
import { dnsRecord } from './dns.ts';
import { type Asking, answersOf, type Found, type Kind } from './kinds.ts';
import { nftAuction, nftSale, telemintItem } from './sales.ts';
import { multisigOrder } from './services.ts';
import { addressCell, OtherKind, Results } from './stack.ts';
import { NotShown, type Subject } from './subject.ts';

const account = (n: number) => addressOf(0, Buffer.alloc(32, n));
const [ITEM, COLLECTION, OWNER, OTHER] = [1, 2, 3, 4].map(account);

const int = (value: number | bigint): StackValue => ({ type: 'int', value: BigInt(value) });
const cell = (value: Cell): StackValue => ({ type: 'cell', cell: value });
const slice = (value: Cell): StackValue => ({ type: 'slice', cell: value });
const empty = new Builder().cell();
const none = new Builder().u(0, 2).cell();
const bytes = (text: string): Cell => new Builder().bytes(Buffer.from(text)).cell();

type Left = Record<string, readonly StackValue[]>;

/** The row of a contract whose methods leave this; null when it is of another kind. A method left out fails. */
async function told<R extends DetectedRecord>(kind: Kind<R>, left: Left): Promise<Found<R> | null> {
  const subject = { account: ITEM, codeHash: Buffer.alloc(32), data: toBoc(empty) } as Partial<Subject> as Subject;
  const ask: Asking = {
    async call(_, method) {
      const values = left[method];
      if (values === undefined) throw new OtherKind(`it has no ${method}`);
      return new Results(values);
    },
    contract: async () => subject,
    isDnsCollection: () => true,
    isConfirmed: () => false,
    hasConfirmed: async () => false,
  };
  try {
    return await kind.detect(subject, ask);
  } catch (error) {
    if (error instanceof OtherKind) return null;
    throw error;
  }
}

it('fails as the first call by its place does, whichever fails first', async () => {
  const late = (ms: number, error: Error) =>
    new Promise<never>((_, reject) => {
      setTimeout(() => reject(error), ms);
    });
  const [one, other] = [new OtherKind('one'), new NotShown(OTHER)];
  for (const [first, second] of [
    [0, 20],
    [20, 0],
  ]) {
    await expect(answersOf([late(first, one), late(second, other)])).rejects.toBe(one);
  }
  expect(await answersOf([Promise.resolve(1), Promise.resolve('two')])).toEqual([1, 'two']);
});

describe('names', () => {
  const keyOf = (name: string): Buffer => createHash('sha256').update(name).digest();

  function dictionaryOf(values: Record<string, Cell>): Cell {
    const changes = Object.entries(values).map(([name, value]) => ({ key: keyOf(name), leaf: { extra: null, value } }));
    const { root } = updateDictionary(null, 256, plain, changes);
    if (root === null) throw new Error('no values');
    return root;
  }

  const inReference = (record: Builder): Cell => new Builder().ref(record.cell()).cell();
  const wallet = (): Builder => new Builder().u(0x9fd3, 16).append(addressCell(OWNER));
  const site = (): Builder => new Builder().u(0xad01, 16).bytes(Buffer.alloc(32, 7));
  const resolver = (): Builder => new Builder().u(0xba93, 16).append(addressCell(OTHER));
  const storage = (): Builder => new Builder().u(0x7473, 16).bytes(Buffer.alloc(32, 8));

  const named = (records: Cell) =>
    told(dnsRecord, {
      get_nft_data: [int(-1), int(5), slice(addressCell(COLLECTION)), slice(addressCell(OWNER)), cell(empty)],
      get_nft_address_by_index: [slice(addressCell(ITEM))],
      get_nft_content: [cell(new Builder().u(1, 8).cell())],
      get_domain: [slice(bytes('pebble'))],
      dnsresolve: [int(8), cell(records)],
    });

  it('lead where their records say', async () => {
    const records = {
      wallet: inReference(wallet().u(1, 8).bit(1).u(0x2177, 16).bit(0)),
      site: inReference(site().u(0, 8)),
      dns_next_resolver: inReference(resolver()),
      storage: inReference(storage()),
    };
    expect(await named(dictionaryOf(records))).toEqual({
      domain: 'pebble.ton',
      nftItemOwner: OWNER,
      dnsNextResolver: OTHER,
      dnsWallet: OWNER,
      dnsSiteAdnl: Buffer.alloc(32, 7),
      dnsStorageBagId: Buffer.alloc(32, 8),
    });
  });

  it('lead nowhere by a record that does not parse', async () => {
    const records = {
      // Without its flags, with others than there are, with bits behind it, of another kind.
      wallet: inReference(wallet()),
      site: inReference(site().u(2, 8)),
      dns_next_resolver: inReference(resolver().u(0, 8)),
      storage: inReference(wallet().u(0, 8)),
    };
    expect(await named(dictionaryOf(records))).toMatchObject({
      dnsNextResolver: null,
      dnsWallet: null,
      dnsSiteAdnl: null,
      dnsStorageBagId: null,
    });
  });

  it('are none whose dictionary is broken, wherever it is', async () => {
    const name = 'storage';
    expect(await named(dictionaryOf({ wallet: inReference(wallet().u(0, 8)), [name]: storage().cell() }))).toBeNull();
    // The root is a fork over the first bit of the keys: that of the wallet is on the other side.
    const [first, second] = [keyOf('wallet'), keyOf('dns_next_resolver')].map((key) => key[0] >> 7);
    expect([first, second]).toEqual([1, 0]);
    const good = dictionaryOf({ wallet: inReference(wallet().u(0, 8)), dns_next_resolver: inReference(resolver()) });
    expect(await named(good)).toMatchObject({ dnsWallet: OWNER, dnsNextResolver: OTHER });
    const broken = new Builder().u(0, 2).ref(empty).ref(good.refs[1]).cell();
    expect(await named(broken)).toBeNull();
  });
});

describe('sales', () => {
  const sold = (owner: Cell) =>
    told(nftSale, {
      get_sale_data: [
        ...[0x46495850, 0, 1].map(int),
        ...[OTHER, ITEM].map(addressCell).map(slice),
        slice(owner),
        int(9),
        slice(addressCell(OTHER)),
        int(1),
        slice(addressCell(OTHER)),
        int(2),
      ],
    });

  it('are of an owner, or of nobody where two zero bits stand for one', async () => {
    expect(await sold(addressCell(OWNER))).toMatchObject({ nftOwner: OWNER, fullPrice: '9' });
    expect(await sold(none)).toMatchObject({ nftOwner: null, fullPrice: '9' });
  });

  it.each([
    ['nothing', empty],
    ['zeros', new Builder().u(0, 8).cell()],
    ['an external address', new Builder().u(1, 2).u(0, 9).cell()],
    ['an address and a bit', new Builder().append(addressCell(OWNER)).bit(0).cell()],
    ['an address and a reference', new Builder().append(addressCell(OWNER)).ref(empty).cell()],
  ])('are none with %s for an owner', async (_, owner) => {
    expect(await sold(owner)).toBeNull();
  });
});

describe('sales that tell more', () => {
  const newer = (price: bigint, jettons: StackValue = { type: 'null' }): StackValue[] => [
    ...[0, 1].map(int),
    ...[OTHER, ITEM, OWNER].map(addressCell).map(slice),
    int(price),
    ...[1, 2].flatMap((fee) => [slice(addressCell(OTHER)), int(fee)]),
    ...[10, 11].map(int),
    jettons,
  ];
  const older = (price: bigint): StackValue[] => [int(0x46495850), ...newer(price).slice(0, 10)];

  it('are told by what tells more', async () => {
    const left = { get_fix_price_data_v4: newer(8n), get_sale_data: older(9n) };
    expect(await told(nftSale, left)).toMatchObject({ fullPrice: '8', soldAt: 10, soldQueryId: '11' });
  });

  it('are told as others are where that leaves anything else', async () => {
    for (const wrong of [newer(8n).slice(1), newer(8n, int(1)), []]) {
      const left = { get_fix_price_data_v4: wrong, get_sale_data: older(9n) };
      expect(await told(nftSale, left)).toMatchObject({ fullPrice: '9', soldAt: null, soldQueryId: null });
      expect(await told(nftSale, { get_fix_price_data_v4: wrong })).toBeNull();
    }
  });
});

describe('auctions', () => {
  const older = (minStep: bigint): StackValue[] => [
    ...[0x415543, 0, 1].map(int),
    ...[OTHER, ITEM, OWNER].map(addressCell).map(slice),
    int(9),
    slice(none),
    int(minStep),
    ...[1, 2].flatMap((fee) => [slice(addressCell(OTHER)), int(fee), int(100)]),
    ...[20, 3, 4, 5, 0].map(int),
  ];
  const newer = (minStep: bigint): StackValue[] => [
    int(-1),
    ...older(minStep).slice(1),
    ...[6, 7].map(int),
    ...[addressCell(OTHER), none].map(slice),
    ...[0, 8].map(int),
  ];
  const by = (minStep: bigint) => told(nftAuction, { get_sale_data: older(minStep) });

  it('are told by what tells more, and as others are where that leaves anything else', async () => {
    const left = { get_auction_data_v4: newer(8n), get_sale_data: older(9n) };
    expect(await told(nftAuction, left)).toMatchObject({ minStep: '8', jettonWallet: OTHER, jettonMaster: null });
    for (const wrong of [newer(8n).slice(0, 25), [...newer(8n).slice(0, 22), ...[1, 2, 3, 4].map(int)]]) {
      const both = { ...left, get_auction_data_v4: wrong };
      expect(await told(nftAuction, both)).toMatchObject({ minStep: '9', jettonWallet: null, jettonMaster: null });
      expect(await told(nftAuction, { get_auction_data_v4: wrong })).toBeNull();
    }
  });

  it('may rise by more than four coins at a time', async () => {
    expect(await by(5_000_000_000n)).toMatchObject({ minStep: '5000000000', nftAddress: ITEM, nftOwner: OWNER });
    expect(await by(2n ** 64n)).toBeNull();
  });
});

describe('orders', () => {
  const { root: signers } = updateDictionary(null, 8, plain, [
    { key: Buffer.of(0), leaf: { extra: null, value: addressCell(OWNER) } },
  ]);
  if (signers === null) throw new Error('no signers');
  const numbered = (seqno: bigint) =>
    told(multisigOrder, {
      get_order_data: [
        slice(addressCell(OTHER)),
        int(seqno),
        int(2),
        int(0),
        cell(signers),
        ...[1, 1, 99].map(int),
        cell(empty),
      ],
      get_order_address: [slice(addressCell(ITEM))],
    });

  it('have any number of 256 bits', async () => {
    const seqno = 2n ** 256n - 1n;
    expect(await numbered(seqno)).toMatchObject({ orderSeqno: seqno.toString(), multisigAddress: OTHER });
  });
});

describe('names of Telegram', () => {
  const left: Left = {
    get_telemint_token_name: [slice(bytes('pebble'))],
    get_telemint_auction_state: [slice(addressCell(OTHER)), int(9), int(10), int(11), int(12)],
    get_telemint_auction_config: [slice(addressCell(OWNER)), ...[1, 2, 3, 4, 5].map(int)],
    royalty_params: [int(5), int(100), slice(addressCell(OWNER))],
  };
  const first = (method: string, value: Cell): Left => ({
    ...left,
    [method]: [slice(value), ...left[method].slice(1)],
  });

  it('are auctioned', async () => {
    expect(await told(telemintItem, left)).toMatchObject({
      tokenName: 'pebble',
      bidderAddress: OTHER,
      bid: '9',
      beneficiaryAddress: OWNER,
      royaltyDestination: OWNER,
    });
  });

  it('have no bidder and no beneficiary where the slice is empty, and no auction where the method fails', async () => {
    expect(await told(telemintItem, first('get_telemint_auction_state', empty))).toMatchObject({
      bidderAddress: null,
      bid: '9',
    });
    expect(await told(telemintItem, first('get_telemint_auction_config', empty))).toMatchObject({
      beneficiaryAddress: null,
      maxBid: '2',
    });
    const { get_telemint_auction_state: _, ...without } = left;
    expect(await told(telemintItem, without)).toMatchObject({ bidderAddress: null, bid: '0', endTime: 0 });
    const mixed = {
      ...left,
      get_telemint_auction_state: [{ type: 'null' } as const, int(9), int(10), int(11), int(12)],
    };
    expect(await told(telemintItem, mixed)).toMatchObject({ bidderAddress: null, bid: '0', endTime: 0 });
  });

  it('are none with any other slice for an address', async () => {
    for (const wrong of [none, new Builder().u(1, 8).cell()]) {
      expect(await told(telemintItem, first('get_telemint_auction_state', wrong))).toBeNull();
      expect(await told(telemintItem, first('get_telemint_auction_config', wrong))).toBeNull();
      expect(await told(telemintItem, { ...left, royalty_params: [int(5), int(100), slice(wrong)] })).toBeNull();
    }
    expect(await told(telemintItem, { ...left, royalty_params: [int(5), int(100), slice(empty)] })).toBeNull();
  });
});
