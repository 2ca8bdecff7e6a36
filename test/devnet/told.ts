/**
 * What contracts of a devnet say of themselves, asked of its liteserver by the published client, in the words of the
 * API.
 */
import { createHash } from 'node:crypto';
import {
  Address,
  beginCell,
  type Cell,
  Cell as CellClass,
  Dictionary,
  parseTuple,
  type Slice,
  serializeTuple,
  type TupleItem,
  TupleReader,
} from '@ton/core';
import type { LiteClient } from 'ton-lite-client';

type Block = Awaited<ReturnType<LiteClient['getMasterchainInfo']>>['last'];

/** A contract as of a block. */
export interface Contract {
  address: Address;
  /** Whether it can be asked. */
  isActive(): Promise<boolean>;
  /** @throws when the method does not end with 0 or 1 */
  ask(method: string, stack?: TupleItem[]): Promise<TupleReader>;
  at(address: Address): Contract;
}

export function contractAt(client: LiteClient, block: Block, address: Address): Contract {
  return {
    address,
    async isActive() {
      const { state } = await client.getAccountState(address, block);
      return state?.storage.state.type === 'active';
    },
    async ask(method, stack = []) {
      const { exitCode, result } = await client.runMethod(address, method, serializeTuple(stack).toBoc(), block);
      if ((exitCode !== 0 && exitCode !== 1) || result === null)
        throw new Error(`${method} of ${address}: ${exitCode}`);
      return new TupleReader(parseTuple(CellClass.fromBase64(result)));
    },
    at: (other) => contractAt(client, block, other),
  };
}

export const raw = (address: Address | null): string | null =>
  address === null ? null : address.toRawString().toUpperCase();

const base64 = (cell: Cell): string => cell.hash().toString('base64');
/** Of the root of a bag of cells in base64. */
export const bagHash = (bag: string): string => base64(CellClass.fromBase64(bag));
const sha256 = (text: string): bigint => BigInt(`0x${createHash('sha256').update(text).digest('hex')}`);

/** An address that may be none, also one outside the chain. */
const addressOf = (reader: TupleReader): string | null => {
  const slice = reader.readCellOpt()?.beginParse();
  return slice === undefined ? null : raw(slice.loadMaybeAddress());
};

function members(dictionary: Cell | null): (string | null)[] {
  if (dictionary === null) return [];
  const map = Dictionary.loadDirect(Dictionary.Keys.Uint(8), Dictionary.Values.Address(), dictionary);
  return map
    .keys()
    .sort((a, b) => a - b)
    .map((key) => raw(map.get(key) ?? null));
}

const CONTENT_KEYS = [
  'uri',
  'name',
  'description',
  'image',
  'image_data',
  'symbol',
  'decimals',
  'amount_style',
  'render_type',
];

/** TEP-64: a dictionary by hashes of names, or where the content is. */
function contentOf(cell: Cell): Record<string, string> {
  const slice = cell.beginParse();
  if (slice.loadUint(8) === 1) return { uri: slice.loadStringTail() };
  const values = slice.loadDict(Dictionary.Keys.BigUint(256), Dictionary.Values.Cell());
  return Object.fromEntries(
    CONTENT_KEYS.flatMap((name) => {
      const value = values.get(sha256(name))?.beginParse();
      if (value === undefined) return [];
      value.loadUint(8);
      return [[name, value.loadStringTail()]];
    }),
  );
}

export async function jettonMaster(contract: Contract) {
  const said = await contract.ask('get_jetton_data');
  return {
    total_supply: String(said.readBigNumber()),
    mintable: said.readBoolean(),
    admin_address: addressOf(said),
    jetton_content: contentOf(said.readCell()),
    jetton_wallet_code_hash: base64(said.readCell()),
  };
}

export async function jettonWallet(contract: Contract) {
  const said = await contract.ask('get_wallet_data');
  const told = { balance: String(said.readBigNumber()), owner: said.readAddress(), jetton: said.readAddress() };
  const asked = [{ type: 'slice' as const, cell: beginCell().storeAddress(told.owner).endCell() }];
  const confirmed = (await contract.at(told.jetton).ask('get_wallet_address', asked)).readAddress();
  // One that its master does not know is not to be listed.
  if (!confirmed.equals(contract.address)) return null;
  return { balance: told.balance, owner: raw(told.owner), jetton: raw(told.jetton) };
}

export async function nftCollection(contract: Contract) {
  const said = await contract.ask('get_collection_data');
  return {
    next_item_index: String(said.readBigNumber()),
    collection_content: contentOf(said.readCell()),
    owner_address: addressOf(said),
  };
}

export async function nftItem(contract: Contract) {
  const said = await contract.ask('get_nft_data');
  const init = said.readBoolean();
  const index = said.readBigNumber();
  const collection = said.readAddressOpt();
  const owner = addressOf(said);
  const own = said.readCellOpt();
  const full =
    collection === null || own === null
      ? own
      : (
          await contract.at(collection).ask('get_nft_content', [
            { type: 'int', value: index },
            { type: 'cell', cell: own },
          ])
        ).readCell();
  return {
    init,
    index: String(index),
    collection_address: raw(collection),
    owner_address: owner,
    content: full === null ? {} : contentOf(full),
  };
}

/** What a name of this item leads to, by category. */
async function resolved(contract: Contract, category: string): Promise<Slice | null> {
  const here = beginCell().storeUint(0, 8).endCell();
  const said = await contract.ask('dnsresolve', [
    { type: 'slice', cell: here },
    { type: 'int', value: sha256(category) },
  ]);
  said.readBigNumber();
  return said.readCellOpt()?.beginParse() ?? null;
}

const DNS_TAGS = { wallet: 0x9fd3, dns_next_resolver: 0xba93, site: 0xad01, storage: 0x7473 };

/** The name of an item, with the zone of its collection. */
export async function domainOf(contract: Contract): Promise<string> {
  const name = (await contract.ask('get_domain')).readCell().beginParse();
  return `${name.loadBuffer(name.remainingBits / 8).toString()}.ton`;
}

export async function dnsRecord(contract: Contract) {
  const of = async (category: keyof typeof DNS_TAGS): Promise<Slice | null> => {
    const value = await resolved(contract, category);
    return value !== null && value.loadUint(16) === DNS_TAGS[category] ? value : null;
  };
  const { owner_address: owner } = await nftItem(contract);
  const hash = (slice: Slice | null) => slice?.loadBuffer(32).toString('base64') ?? null;
  const address = (slice: Slice | null) => slice && raw(slice.loadAddress());
  return {
    domain: await domainOf(contract),
    nft_item_owner: owner,
    dns_wallet: address(await of('wallet')),
    dns_next_resolver: address(await of('dns_next_resolver')),
    dns_site_adnl: hash(await of('site')),
    dns_storage_bag_id: hash(await of('storage')),
  };
}

export async function multisig(contract: Contract) {
  const said = await contract.ask('get_multisig_data');
  return {
    next_order_seqno: String(said.readBigNumber()),
    threshold: said.readNumber(),
    signers: members(said.readCell()),
    proposers: members(said.readCellOpt()),
  };
}

export async function multisigOrder(contract: Contract) {
  const said = await contract.ask('get_order_data');
  const multisig_address = addressOf(said);
  const order_seqno = String(said.readBigNumber());
  const threshold = said.readNumberOpt();
  // One that is deployed and never begun says no more.
  if (threshold === null) return null;
  const sent_for_execution = said.readBoolean();
  const signers = members(said.readCell());
  return {
    multisig_address,
    order_seqno,
    threshold,
    sent_for_execution,
    signers,
    approvals_mask: String(said.readBigNumber()),
    approvals_num: said.readNumber(),
    expiration_date: said.readNumber(),
    order_boc: base64(said.readCell()),
  };
}

export async function vesting(contract: Contract) {
  const said = await contract.ask('get_vesting_data');
  const [start_time, total_duration, unlock_period, cliff_duration] = Array.from({ length: 4 }, () =>
    said.readNumber(),
  );
  const told = {
    start_time,
    total_duration,
    unlock_period,
    cliff_duration,
    total_amount: String(said.readBigNumber()),
  };
  const [sender_address, owner_address] = [raw(said.readAddress()), raw(said.readAddress())];
  const listed = said.readCellOpt();
  const map =
    listed &&
    Dictionary.loadDirect(Dictionary.Keys.Buffer(33), { serialize: () => undefined, parse: () => true }, listed);
  const whitelist = (map?.keys() ?? []).map((key) => raw(wholeAddress(key)));
  return { ...told, sender_address, owner_address, whitelist: whitelist.sort() };
}

/** Workchain in a byte, then the hash. */
function wholeAddress(key: Buffer): Address {
  return new Address(key.readInt8(0), key.subarray(1));
}

export async function sale(contract: Contract) {
  const said = await contract.ask('get_fix_price_data_v4');
  const is_complete = said.readBoolean();
  const created_at = said.readNumber();
  const marketplace_address = addressOf(said);
  const nft_address = addressOf(said);
  const nft_owner_address = addressOf(said);
  const full_price = String(said.readBigNumber());
  const [marketplace_fee_address, marketplace_fee] = [addressOf(said), String(said.readBigNumber())];
  const [royalty_address, royalty_amount] = [addressOf(said), String(said.readBigNumber())];
  return {
    type: 'getgems_sale',
    nft_address,
    ...given({ nft_owner_address, marketplace_address }),
    created_at,
    details: {
      is_complete,
      full_price,
      marketplace_fee,
      royalty_amount,
      ...given({ marketplace_fee_address, royalty_address }),
    },
  };
}

export async function auction(contract: Contract) {
  const said = await contract.ask('get_sale_data');
  const magic = said.readNumber();
  if (magic !== 0x415543) throw new Error(`an auction of kind ${magic}`);
  const end_flag = said.readBoolean();
  const end_time = said.readNumber();
  const [marketplace_address, nft_address, nft_owner_address] = [addressOf(said), addressOf(said), addressOf(said)];
  const last_bid = String(said.readBigNumber());
  const last_member = addressOf(said);
  const min_step = said.readNumber();
  const [mp_fee_address, mp_fee_factor, mp_fee_base] = [addressOf(said), said.readNumber(), said.readNumber()];
  const [royalty_fee_address, royalty_fee_factor, royalty_fee_base] = [
    addressOf(said),
    said.readNumber(),
    said.readNumber(),
  ];
  const [max_bid, min_bid] = [String(said.readBigNumber()), String(said.readBigNumber())];
  const [created_at, last_bid_at, is_canceled] = [said.readNumber(), said.readNumber(), said.readBoolean()];
  return {
    type: 'getgems_auction',
    nft_address,
    ...given({ nft_owner_address, marketplace_address }),
    created_at,
    details: {
      end_flag,
      end_time,
      last_bid,
      min_step,
      mp_fee_factor,
      mp_fee_base,
      royalty_fee_factor,
      royalty_fee_base,
      max_bid,
      min_bid,
      last_bid_at,
      is_canceled,
      ...given({ last_member, mp_fee_address, royalty_fee_address }),
    },
  };
}

/** Addresses that are none are left out. */
function given(some: Record<string, string | null>): Record<string, string | null> {
  return Object.fromEntries(Object.entries(some).filter(([, address]) => address !== null));
}
