/** NFT items and collections (TEP-62), domains among them (TEP-81), and transfers (spec v3 semantics 6). */
import { address, addressOrNone, bool, hashOrNone, i256, text, u32, u64, u256OrNone } from './columns.ts';
import { detected, detectedIndexes, statesOf } from './detected.ts';
import { type Row, table } from './table.ts';

export const nftCollections = table({
  ...detected('nft_collections'),
  columns: {
    ...detected.columns,
    nextItemIndex: i256,
    ownerAddress: addressOrNone,
    /** The attributes that the chain holds (TEP-64), JSON. */
    collectionContent: text,
  },
  indexes: [
    ...detectedIndexes('nft_collections'),
    {
      name: 'nft_collections_by_owner',
      each: { as: 'ownerAddress', of: ['ownerAddress'] },
      key: ['ownerAddress', 'id'],
      also: ['address'],
      stays: true,
    },
  ],
});

export const nftCollectionStates = table({ ...statesOf('nft_collection_states'), columns: nftCollections.columns });

/** Items that their collection confirms, and those without one. */
export const nftItems = table({
  ...detected('nft_items'),
  columns: {
    ...detected.columns,
    init: bool,
    nftIndex: u256OrNone,
    collectionAddress: addressOrNone,
    ownerAddress: addressOrNone,
    /** The attributes that the chain holds (TEP-64), JSON; with `domain` where the item is one. */
    content: text,
  },
  indexes: [
    ...detectedIndexes('nft_items'),
    {
      name: 'nft_items_by_owner',
      each: { as: 'ownerAddress', of: ['ownerAddress'] },
      key: ['ownerAddress', 'collectionAddress', 'nftIndex', 'address'],
      also: [],
      stays: true,
    },
    {
      name: 'nft_items_by_collection',
      each: { as: 'collectionAddress', of: ['collectionAddress'] },
      key: ['collectionAddress', 'nftIndex', 'address'],
      also: [],
      stays: true,
    },
    {
      name: 'nft_items_by_collection_lt',
      each: { as: 'collectionAddress', of: ['collectionAddress'] },
      key: ['collectionAddress', 'lastTransactionLt', 'address'],
      also: [],
      stays: true,
    },
    { name: 'nft_items_by_lt', key: ['lastTransactionLt', 'address'], also: [], stays: true },
  ],
});

export const nftItemStates = table({
  ...statesOf('nft_item_states'),
  columns: nftItems.columns,
  indexes: [
    {
      name: 'nft_item_states_by_owner',
      each: { as: 'ownerAddress', of: ['ownerAddress'] },
      key: ['ownerAddress', 'address'],
      also: [],
      stays: true,
    },
  ],
});

/** Names and where they lead to, by the item that holds the name. */
export const dnsRecords = table({
  ...detected('dns_records'),
  columns: {
    ...detected.columns,
    domain: text,
    nftItemOwner: addressOrNone,
    dnsNextResolver: addressOrNone,
    dnsWallet: addressOrNone,
    dnsSiteAdnl: hashOrNone,
    dnsStorageBagId: hashOrNone,
  },
  indexes: [
    ...detectedIndexes('dns_records'),
    { name: 'dns_records_by_step', key: ['mcSeqno', 'address'], also: [], stays: true },
    { name: 'dns_records_by_domain', key: ['domain', 'address'], also: [], stays: true },
    {
      name: 'dns_records_by_wallet',
      each: { as: 'dnsWallet', of: ['dnsWallet'] },
      key: ['dnsWallet', 'address'],
      also: [],
      stays: true,
    },
  ],
});

/** Transfers that an item was told to make: the transaction is (`nftAddress`, `transactionLt`), which has the rest. */
export const nftTransfers = table({
  name: 'nft_transfers',
  columns: {
    transactionLt: u64,
    nftAddress: address,
    mcSeqno: u32,
    transactionNow: u32,
    transactionAborted: bool,
    nftCollection: addressOrNone,
    oldOwner: addressOrNone,
    newOwner: addressOrNone,
    /** Of one of an earlier step, whose contract was confirmed later; null for those of the row's own step. */
    transactionHash: hashOrNone,
  },
  kind: 'fact',
  key: ['transactionLt', 'nftAddress'],
  indexes: [
    {
      name: 'nft_transfers_by_old_owner',
      key: ['oldOwner', 'transactionLt', 'nftAddress'],
      also: ['mcSeqno', 'transactionNow', 'nftCollection'],
    },
    {
      name: 'nft_transfers_by_new_owner',
      key: ['newOwner', 'transactionLt', 'nftAddress'],
      also: ['mcSeqno', 'transactionNow', 'nftCollection'],
    },
    { name: 'nft_transfers_by_item', key: ['nftAddress', 'transactionLt'], also: ['mcSeqno', 'transactionNow'] },
    {
      name: 'nft_transfers_by_collection',
      key: ['nftCollection', 'transactionLt', 'nftAddress'],
      also: ['mcSeqno', 'transactionNow'],
    },
  ],
  inStatus: true,
});

export type NftTransferRow = Row<typeof nftTransfers>;
