/**
 * Contracts of a running chain: each that an endpoint lists says the same of itself when the liteserver is asked, and
 * each that says it is one is listed.
 */
import { Address } from '@ton/core';
import type { LiteClient } from 'ton-lite-client';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { methodId } from '../../src/chain/interfaces.ts';
import { readV3, shownHead, until } from '../stack.ts';
import * as told from './told.ts';

/** Steps after which a contract that nothing has happened to since must be listed: what a block left out is learned. */
const SETTLED_STEPS = 25;
const AT_ONCE = 50;
/** How often a contract that changes all the time is looked at. */
const TRIES = 40;

const row = z.record(z.string(), z.unknown());
type Row = z.infer<typeof row>;

interface Kind {
  /** The get-method that such a contract has. */
  method: string;
  /** What is asked for their rows. */
  paths(contracts: readonly told.Contract[]): Promise<string[]>;
  key: string;
  /** Name of the row's address; `address` unless given. */
  address?: string;
  /** What the contract says, in the words of the row; null when it is not to be listed. */
  said(contract: told.Contract): Promise<Row | null>;
  /** Puts what has several forms into one. */
  plain?: (row: Row) => Row;
}

const listed = (name: string, path: string, addresses: readonly (string | null)[]): string =>
  `${path}?limit=1000&${addresses.map((address) => `${name}=${address}`).join('&')}`;

const by = (name: string, path: string) => async (contracts: readonly told.Contract[]) => [
  listed(
    name,
    path,
    contracts.map(({ address }) => told.raw(address)),
  ),
];

const KINDS: Record<string, Kind> = {
  'jetton masters': {
    method: 'get_jetton_data',
    paths: by('address', 'jetton/masters'),
    key: 'jetton_masters',
    said: told.jettonMaster,
  },
  'jetton wallets': {
    method: 'get_wallet_data',
    paths: by('address', 'jetton/wallets'),
    key: 'jetton_wallets',
    said: told.jettonWallet,
  },
  'NFT collections': {
    method: 'get_collection_data',
    paths: by('collection_address', 'nft/collections'),
    key: 'nft_collections',
    said: told.nftCollection,
  },
  'NFT items': {
    method: 'get_nft_data',
    paths: by('address', 'nft/items'),
    key: 'nft_items',
    said: told.nftItem,
  },
  'multisig wallets': {
    method: 'get_multisig_data',
    paths: by('address', 'multisig/wallets'),
    key: 'multisigs',
    said: told.multisig,
  },
  'multisig orders': {
    method: 'get_order_data',
    paths: by('address', 'multisig/orders'),
    key: 'orders',
    said: told.multisigOrder,
    plain: (one) => ({ ...one, order_boc: told.bagHash(String(one.order_boc)) }),
  },
  'vesting contracts': {
    method: 'get_vesting_data',
    paths: by('contract_address', 'vesting'),
    key: 'vesting_contracts',
    said: told.vesting,
    plain: (one) => ({ ...one, whitelist: z.array(z.string()).parse(one.whitelist).toSorted() }),
  },
  sales: {
    method: 'get_fix_price_data_v4',
    paths: by('address', 'nft/sales'),
    key: 'nft_sales',
    said: told.sale,
  },
  auctions: {
    method: 'get_sale_data',
    paths: by('address', 'nft/sales'),
    key: 'nft_sales',
    said: told.auction,
  },
  names: {
    method: 'get_domain',
    paths: (contracts) =>
      Promise.all(contracts.map(async (one) => `dns/records?domain=${encodeURIComponent(await told.domainOf(one))}`)),
    key: 'records',
    address: 'nft_item_address',
    said: told.dnsRecord,
  },
};

const known = z.object({
  address: z.string(),
  last_transaction_lt: z.string(),
  contract_methods: z.array(z.number()).nullable(),
});
const page = z.looseObject({ accounts: z.array(known).optional() });

/** A service, and the liteserver of the chain that it shows. */
export interface Subject {
  url: string;
  client: LiteClient;
}

/**
 * @param moves whether the chain goes on: what the log has not shown is learned some steps later, and a kind may not be
 * there at the moment
 */
export function describeContracts(subject: () => Subject, moves: boolean): void {
  /** All accounts that something has happened to up to some step, by the ids of their get-methods. */
  let accounts: z.infer<typeof known>[];

  const get = (path: string) => readV3(subject().url, path, z.looseObject({}));

  const shows = (seqno: number) =>
    until(`step ${seqno}`, async () => ((await shownHead(subject().url)) >= seqno ? true : null));

  async function touched(): Promise<string[]> {
    const found = new Set<string>();
    const shape = z.object({
      transactions: z.array(z.object({ account: z.string() })),
      next_cursor: z.string().nullable(),
    });
    for (let cursor: string | null = ''; cursor !== null; ) {
      const answer = shape.parse(await get(`transactions?sort=asc&limit=1000&cursor=${cursor}&x_no_address_book=1`));
      for (const { account } of answer.transactions) found.add(account);
      cursor = answer.next_cursor;
    }
    return [...found];
  }

  beforeAll(async () => {
    const some = await touched();
    if (moves) await shows((await shownHead(subject().url)) + SETTLED_STEPS);
    accounts = [];
    for (let i = 0; i < some.length; i += AT_ONCE) {
      const path = listed('address', 'accountStates', some.slice(i, i + AT_ONCE));
      accounts.push(...(page.parse(await get(`${path}&include_boc=false`)).accounts ?? []));
    }
  });

  async function rowsOf({ paths, key, address = 'address', plain }: Kind, contracts: readonly told.Contract[]) {
    const found = new Map<string, Row>();
    for (const path of await paths(contracts)) {
      const rows = z.array(row).parse((await get(path))[key]);
      for (const one of rows) found.set(String(one[address]), plain?.(one) ?? one);
    }
    return found;
  }

  /** The newest block of the liteserver, which the API shows, too. */
  async function newest() {
    const { last } = await subject().client.getMasterchainInfo();
    await shows(last.seqno);
    return last;
  }

  const ltAt = async (address: string, block: Awaited<ReturnType<typeof newest>>) =>
    (await subject().client.getAccountState(Address.parse(address), block)).lastTx?.lt;

  /** Holds the rows of these to what they say; gives those that have changed while they were looked at. */
  async function compare(kind: Kind, addresses: readonly string[]): Promise<string[]> {
    const before = await newest();
    const at = (block: typeof before) =>
      addresses.map((address) => told.contractAt(subject().client, block, Address.parse(address)));
    const rows = await rowsOf(kind, at(before));
    const { last: after } = await subject().client.getMasterchainInfo();
    const changed: string[] = [];
    for (const contract of at(after)) {
      const address = contract.address.toRawString().toUpperCase();
      const found = rows.get(address) ?? null;
      // Rows of what is gone stay as they were.
      if (!(await contract.isActive())) continue;
      try {
        const said = await kind.said(contract);
        if (said === null) expect(found, address).toBeNull();
        else expect(found, address).toMatchObject(said);
      } catch (error) {
        // What no block has shown of it may not be learned yet.
        const isLearned = !moves || found !== null;
        if (isLearned && (await ltAt(address, before)) === (await ltAt(address, after))) throw error;
        changed.push(address);
      }
    }
    return changed;
  }

  async function compareAll(kind: Kind, addresses: readonly string[]): Promise<void> {
    let left = [...addresses];
    for (let tried = 0; left.length > 0 && tried < TRIES; tried++) {
      const next: string[] = [];
      const size = tried === 0 ? 8 : 1;
      for (let i = 0; i < left.length; i += size) next.push(...(await compare(kind, left.slice(i, i + size))));
      left = next;
    }
    expect(left).toEqual([]);
  }

  it.each(Object.entries(KINDS))('%s say what is listed of them, and are all listed', async (_, kind) => {
    const of = accounts.filter(({ contract_methods: methods }) => methods?.includes(methodId(kind.method)));
    if (!moves) expect(of.length).toBeGreaterThan(0);
    await compareAll(
      kind,
      of.map(({ address }) => address),
    );
  });
}
