/** Shapes of the answers about contracts. */
import { z } from 'zod';
import { address, addressBook, decimal, hash, integer, metadata, nextCursor } from './schemas.ts';

const content = z.record(z.string(), z.string()).meta({ description: 'Attributes that the chain holds (TEP-64).' });
const state = { last_transaction_lt: decimal, code_hash: hash, data_hash: hash };
/** Of a transfer or a burn. */
const transaction = {
  transaction_hash: hash,
  transaction_lt: decimal,
  transaction_now: integer,
  transaction_aborted: z.boolean(),
  trace_id: hash.nullable(),
};
const decodedPayload = z.looseObject({ '@type': z.string().optional() }).nullable();
const boc = z.string().meta({ description: 'Bag of cells, base64.' });
const custom = { custom_payload: boc.nullable(), decoded_custom_payload: decodedPayload };
const forward = { forward_payload: boc.nullable(), decoded_forward_payload: decodedPayload };

function rows<N extends string, T extends z.ZodType>(name: N, row: T, id: string, more: z.ZodRawShape = {}) {
  return z.strictObject({ [name]: z.array(row), address_book: addressBook, metadata, ...more }).meta({ id });
}

const jettonMaster = z
  .strictObject({
    address,
    total_supply: decimal,
    mintable: z.boolean(),
    admin_address: address.nullable(),
    jetton_content: content,
    jetton_wallet_code_hash: hash,
    ...state,
  })
  .meta({ id: 'JettonMaster' });

const jettonWallet = z
  .strictObject({ address, balance: decimal, owner: address, jetton: address, ...state })
  .meta({ id: 'JettonWallet' });

const jettonTransfer = z
  .strictObject({
    query_id: decimal,
    source: address,
    destination: address,
    amount: decimal,
    source_wallet: address,
    jetton_master: address,
    ...transaction,
    response_destination: address,
    ...custom,
    forward_ton_amount: decimal,
    ...forward,
  })
  .meta({ id: 'JettonTransfer' });

const jettonBurn = z
  .strictObject({
    query_id: decimal,
    owner: address,
    jetton_wallet: address,
    jetton_master: address,
    ...transaction,
    amount: decimal,
    response_destination: address,
    ...custom,
  })
  .meta({ id: 'JettonBurn' });

const nftCollection = z
  .strictObject({
    address,
    owner_address: address.nullable(),
    next_item_index: decimal,
    collection_content: content,
    ...state,
  })
  .meta({ id: 'NftCollection' });

const nftItem = z
  .strictObject({
    address,
    init: z.boolean(),
    index: z.string(),
    collection_address: address.nullable(),
    owner_address: address.nullable(),
    content,
    ...state,
    collection: nftCollection.nullable(),
    on_sale: z.boolean(),
    sale_contract_address: address.optional(),
    auction_contract_address: address.optional(),
    real_owner: address.optional().meta({ description: 'The seller.' }),
  })
  .meta({ id: 'NftItem' });

const nftTransfer = z
  .strictObject({
    query_id: decimal,
    nft_address: address,
    nft_collection: address,
    ...transaction,
    old_owner: address,
    new_owner: address,
    response_destination: address,
    ...custom,
    forward_amount: decimal,
    ...forward,
  })
  .meta({ id: 'NftTransfer' });

const nftSale = z
  .strictObject({
    type: z.enum(['getgems_sale', 'getgems_auction', 'telemint']),
    address,
    nft_address: address.optional(),
    nft_owner_address: address.optional(),
    marketplace_address: address.optional(),
    created_at: integer.optional(),
    ...state,
    details: z.looseObject({}).meta({ description: 'Depends on the type.' }),
    nft_item: nftItem.optional(),
  })
  .meta({ id: 'NftSale' });

const dnsRecord = z
  .strictObject({
    nft_item_address: address,
    nft_item_owner: address.nullable(),
    domain: z.string(),
    dns_next_resolver: address.nullable(),
    dns_wallet: address.nullable(),
    dns_site_adnl: hash.nullable(),
    dns_storage_bag_id: hash.nullable(),
  })
  .meta({ id: 'DnsRecord' });

const orderAction = z
  .strictObject({
    destination: address.nullable(),
    value: z.string().nullable(),
    body_raw: boc.nullable(),
    parsed: z.boolean(),
    error: z.string().nullable(),
    parsed_body: z.looseObject({}).nullable(),
    parsed_body_type: z.string(),
    send_mode: integer,
  })
  .meta({ id: 'OrderAction' });

const multisigOrder = z
  .strictObject({
    address,
    multisig_address: address,
    order_seqno: decimal,
    threshold: integer,
    sent_for_execution: z.boolean(),
    approvals_mask: decimal,
    approvals_num: integer,
    expiration_date: integer,
    order_boc: boc,
    signers: z.array(address),
    ...state,
    actions: z.array(orderAction).nullable(),
  })
  .meta({ id: 'MultisigOrder' });

const multisig = z
  .strictObject({
    address,
    next_order_seqno: decimal,
    threshold: integer,
    signers: z.array(address),
    proposers: z.array(address),
    ...state,
    orders: z.array(multisigOrder),
  })
  .meta({ id: 'Multisig' });

const vesting = z
  .strictObject({
    address,
    start_time: integer,
    total_duration: integer,
    unlock_period: integer,
    cliff_duration: integer,
    total_amount: decimal,
    sender_address: address,
    owner_address: address,
    whitelist: z.array(address),
  })
  .meta({ id: 'Vesting' });

export const jettonMasters = rows('jetton_masters', jettonMaster, 'JettonMasters', { next_cursor: nextCursor });
export const jettonWallets = rows('jetton_wallets', jettonWallet, 'JettonWallets', { next_cursor: nextCursor });
export const jettonTransfers = rows('jetton_transfers', jettonTransfer, 'JettonTransfers', { next_cursor: nextCursor });
export const jettonBurns = rows('jetton_burns', jettonBurn, 'JettonBurns', { next_cursor: nextCursor });
export const nftCollections = rows('nft_collections', nftCollection, 'NftCollections', { next_cursor: nextCursor });
export const nftItems = rows('nft_items', nftItem, 'NftItems', { next_cursor: nextCursor });
export const nftTransfers = rows('nft_transfers', nftTransfer, 'NftTransfers', { next_cursor: nextCursor });
export const nftSales = rows('nft_sales', nftSale, 'NftSales');
export const dnsRecords = z
  .strictObject({ records: z.array(dnsRecord), address_book: addressBook })
  .meta({ id: 'DnsRecords' });
export const multisigWallets = z
  .strictObject({ multisigs: z.array(multisig), address_book: addressBook })
  .meta({ id: 'MultisigWallets' });
export const multisigOrders = z
  .strictObject({ orders: z.array(multisigOrder), address_book: addressBook })
  .meta({ id: 'MultisigOrders' });
export const vestingContracts = z
  .strictObject({ vesting_contracts: z.array(vesting), address_book: addressBook })
  .meta({ id: 'VestingContracts' });
