/** The kinds of rows that the window keeps, with the columns of the tables of the same names. */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { accountData, accounts } from '../../clickhouse/tables/accounts.ts';
import { actionAccounts, actions } from '../../clickhouse/tables/actions.ts';
import { blocks, shardTops } from '../../clickhouse/tables/blocks.ts';
import { address, addressOrNone, u32 } from '../../clickhouse/tables/columns.ts';
import { jettonBurns, jettonMasters, jettonTransfers, jettonWallets } from '../../clickhouse/tables/jettons.ts';
import { messages } from '../../clickhouse/tables/messages.ts';
import { dnsRecords, nftCollections, nftItems, nftTransfers } from '../../clickhouse/tables/nfts.ts';
import { nftAuctions, nftSales } from '../../clickhouse/tables/sales.ts';
import { traceAccounts, traces } from '../../clickhouse/tables/traces.ts';
import { transactions } from '../../clickhouse/tables/transactions.ts';
import { byte, fixedBytes, type Kind, kind, ordered, orNull, u16 } from './kind.ts';

/** Of a hash in a key, so much that no two are taken for one another by chance. */
const HASH_HEAD = 12;
/** The only thing in a key that tells rows apart: as long as nobody could make two. */
const SOLE_HASH_HEAD = 20;
/** Workchain and the head of the account id. */
const ADDRESS_HEAD = 12;
/** Chunk and place of the transaction that shows a message, in the same step. */
const PLACE_BYTES = 3;
/**
 * Rows with bags of cells: what is packed together is smaller, and read one at a time. Transactions in full chunks of 16,
 * 32, 48 and 64 KB take 543, 429, 379 and 366 bytes each; one is read in 11, 20, 28 and 36 us.
 */
const PACKED_CHUNK_BYTES = 64 * 1024;
/** Packed, traces and states of accounts are half and three quarters of it: in half a page of the engine. */
const TRACES_CHUNK_BYTES = 3_000;
const STATES_CHUNK_BYTES = 2_600;
const DATA_CHUNK_BYTES = 2_000;
/** Of a listing each action is in a chunk of its own: a few of them packed together share most of their text. */
const ACTIONS_CHUNK_BYTES = 6 * 1024;

export const blockKind = kind({
  name: blocks.name,
  columns: {
    workchain: ordered(blocks.columns.workchain),
    shard: ordered(blocks.columns.shard),
    seqno: ordered(blocks.columns.seqno),
    genUtime: ordered(blocks.columns.genUtime),
    startLt: ordered(blocks.columns.startLt),
    txCount: ordered(blocks.columns.txCount),
    globalId: ordered(blocks.columns.globalId),
    rootHash: ordered(blocks.columns.rootHash),
    fileHash: ordered(blocks.columns.fileHash),
    randSeed: ordered(blocks.columns.randSeed),
    createdBy: ordered(blocks.columns.createdBy),
  },
  key: { name: 'id', key: ['workchain', 'shard', 'seqno'], sole: true },
  ways: [
    { name: 'time', key: ['genUtime', 'workchain', 'shard', 'seqno'], also: ['startLt'], rises: 'utime' },
    { name: 'hash', key: [['rootHash', SOLE_HASH_HEAD]], or: 'fileHash', sole: true },
  ],
  packing: {},
});

export const topKind = kind({
  name: shardTops.name,
  columns: {
    workchain: ordered(shardTops.columns.workchain),
    shard: ordered(shardTops.columns.shard),
    seqno: ordered(shardTops.columns.seqno),
  },
});

export const transactionKind = kind({
  name: transactions.name,
  columns: {
    account: ordered(transactions.columns.account),
    lt: ordered(transactions.columns.lt),
    now: ordered(transactions.columns.now),
    shard: ordered(transactions.columns.shard),
    seqno: ordered(transactions.columns.seqno),
    hash: ordered(transactions.columns.hash),
    traceId: ordered(transactions.columns.traceId),
    externalHash: ordered(transactions.columns.externalHash),
    globalVersion: byte,
    statesBytes: ordered(u32),
  },
  key: { name: 'account', key: ['account', 'lt'], also: ['now'], alike: ['now'] },
  ways: [
    { name: 'lt', key: ['lt', 'account'], also: ['now', 'shard', 'seqno'], rises: 'lt' },
    { name: 'time', key: ['now', 'lt', 'account'], rises: 'utime' },
    { name: 'hash', key: [['hash', SOLE_HASH_HEAD]], sole: true },
  ],
  packing: {},
  chunkBytes: PACKED_CHUNK_BYTES,
});

export const messageKind = kind({
  name: messages.name,
  columns: {
    createdLt: ordered(messages.columns.createdLt),
    hash: ordered(messages.columns.hash),
    source: ordered(messages.columns.source),
    destination: ordered(messages.columns.destination),
    bodyHash: ordered(messages.columns.bodyHash),
    createdAt: ordered(messages.columns.createdAt),
    opcode: orNull,
    outMcSeqno: ordered(messages.columns.outMcSeqno),
    outLt: ordered(messages.columns.outLt),
    outTxHash: ordered(messages.columns.outTxHash),
    inMcSeqno: ordered(messages.columns.inMcSeqno),
    inLt: ordered(messages.columns.inLt),
    inTxHash: ordered(messages.columns.inTxHash),
    globalVersion: byte,
    /** The version that the form of the transaction shows the message with. */
    shownVersion: byte,
    /** The transaction of the same step that shows it, and where: 0 its in-message, then the others. */
    shownBy: fixedBytes(PLACE_BYTES),
    index: u16,
    hashNorm: ordered(messages.columns.hashNorm),
  },
  key: { name: 'lt', key: ['createdLt', 'hash'], also: ['inMcSeqno'], sole: true },
  ways: [
    { name: 'hash', key: [['hash', HASH_HEAD], 'createdLt', ['hash', HASH_HEAD]], or: 'hashNorm', sole: true },
    { name: 'body', key: [['bodyHash', HASH_HEAD], 'createdLt', ['hash', HASH_HEAD]] },
    { name: 'destination', key: [['destination', ADDRESS_HEAD], 'createdLt', ['hash', HASH_HEAD]] },
    { name: 'source', key: [['source', ADDRESS_HEAD], 'createdLt', ['hash', HASH_HEAD]] },
    { name: 'time', key: ['createdAt', ['hash', SOLE_HASH_HEAD]] },
  ],
  newest: 'inMcSeqno',
});

export const accountKind = kind({
  name: accounts.name,
  columns: {
    account: ordered(accounts.columns.account),
    lt: ordered(accounts.columns.lt),
    hash: ordered(accounts.columns.hash),
    lastTransactionHash: ordered(accounts.columns.lastTransactionHash),
    codeHash: ordered(accounts.columns.codeHash),
  },
  // The address book asks for the code alone.
  key: { name: 'account', key: ['account'], also: ['lt', 'codeHash'] },
  newest: 'lt',
  packing: {},
  chunkBytes: STATES_CHUNK_BYTES,
});

export const dataKind = kind({
  name: accountData.name,
  columns: {
    account: ordered(accountData.columns.account),
    lt: ordered(accountData.columns.lt),
    dataHash: ordered(accountData.columns.dataHash),
  },
  key: { name: 'account', key: ['account'], also: ['lt'] },
  newest: 'lt',
  packing: {},
  chunkBytes: DATA_CHUNK_BYTES,
});

/** A row for each step in which a trace grew; those that complete one are found by its accounts. */
export const traceKind = kind({
  name: traces.name,
  columns: {
    traceId: ordered(traces.columns.traceId),
    mcSeqno: ordered(traces.columns.mcSeqno),
    endLt: ordered(traces.columns.endLt),
    endUtime: ordered(traces.columns.endUtime),
    state: ordered(traces.columns.state),
    classification: ordered(traces.columns.classification),
    mcSeqnoStart: ordered(traces.columns.mcSeqnoStart),
    startLt: ordered(traces.columns.startLt),
    startUtime: ordered(traces.columns.startUtime),
    externalHash: ordered(traces.columns.externalHash),
    externalHashNorm: ordered(traces.columns.externalHashNorm),
    transactions: ordered(traces.columns.transactions),
    messages: ordered(traces.columns.messages),
    pendingMessages: ordered(traces.columns.pendingMessages),
  },
  list: { name: 'account', column: ordered(traceAccounts.columns.account) },
  key: { name: 'id', key: ['traceId', 'mcSeqno'], sole: true },
  ways: [
    { name: 'account', each: true, key: ['endLt', ['traceId', HASH_HEAD], 'mcSeqno'], also: ['endUtime', 'state'] },
    { name: 'lt', key: ['endLt', ['traceId', HASH_HEAD], 'mcSeqno'], also: ['endUtime', 'state'], rises: 'lt' },
    { name: 'time', key: ['endUtime', ['traceId', HASH_HEAD], 'mcSeqno'], also: ['endLt', 'state'], rises: 'utime' },
  ],
  packing: {},
  chunkBytes: TRACES_CHUNK_BYTES,
});

const TYPE_BYTES = 8;
/** More than there are types. */
const KNOWN_TYPES = 1_000;
const typeKeys = new LRUCache<string, Buffer>({ max: KNOWN_TYPES });

/** A type of actions as it stands in keys and rows. */
export function typeKey(type: string): Buffer {
  const known = typeKeys.get(type);
  if (known) return known;
  const key = createHash('sha256').update(type).digest().subarray(0, TYPE_BYTES);
  typeKeys.set(type, key);
  return key;
}

/** What one is filtered by stands beside each key, so that only rows are read that are shown. */
const FILTERED = ['type', 'ancestors'] as const;

export const actionKind = kind({
  name: actions.name,
  columns: {
    traceEndLt: ordered(actions.columns.traceEndLt),
    traceId: ordered(actions.columns.traceId),
    number: u16,
    traceEndUtime: ordered(actions.columns.traceEndUtime),
    type: fixedBytes(TYPE_BYTES),
    /** How many: the types are behind the columns. */
    ancestors: byte,
    actionId: ordered(actions.columns.actionId),
    startLt: ordered(actions.columns.startLt),
    endLt: ordered(actions.columns.endLt),
    startUtime: ordered(actions.columns.startUtime),
    endUtime: ordered(actions.columns.endUtime),
    success: byte,
    externalHash: ordered(actions.columns.externalHash),
    externalHashNorm: ordered(actions.columns.externalHashNorm),
    endMcSeqno: ordered(actions.columns.endMcSeqno),
  },
  list: { name: 'account', column: ordered(actionAccounts.columns.account) },
  key: {
    name: 'lt',
    key: ['traceEndLt', ['traceId', HASH_HEAD], 'number'],
    also: ['traceEndUtime', ...FILTERED],
    rises: 'lt',
  },
  ways: [
    // Of an account before those of a type: the first way of which a value is asked for is taken.
    {
      name: 'account',
      each: true,
      key: ['traceEndLt', ['traceId', HASH_HEAD], 'number'],
      also: ['traceEndUtime', ...FILTERED],
    },
    {
      name: 'type',
      key: ['type', 'traceEndLt', ['traceId', HASH_HEAD], 'number'],
      also: ['traceEndUtime', 'ancestors'],
    },
    {
      name: 'time',
      key: ['traceEndUtime', ['traceId', HASH_HEAD], 'number'],
      also: ['traceEndLt', ...FILTERED],
      rises: 'utime',
    },
    { name: 'trace', key: ['traceId', 'number'], sole: true },
    { name: 'id', key: [['actionId', SOLE_HASH_HEAD]], sole: true },
  ],
  together: 'trace',
  packing: {},
  chunkBytes: ACTIONS_CHUNK_BYTES,
});

/**
 * Traces whose actions were told again, and the newest step that did: what an older step said of them is not brought
 * back.
 */
export const retoldKind = kind({
  name: 'retold_traces',
  columns: { traceId: ordered(actions.columns.traceId), mcSeqno: ordered(actions.columns.mcSeqno) },
  key: { name: 'trace', key: ['traceId'], also: ['mcSeqno'] },
  newest: 'mcSeqno',
});

/**
 * States of contracts: a row for each step that left one another, the newest last. Behind the columns is all of the row
 * (detected-rows.ts).
 */
function detectedKind(name: string) {
  return kind({
    name,
    columns: { address: ordered(address), mcSeqno: ordered(u32) },
    key: { name: 'address', key: ['address', 'mcSeqno'], sole: true },
  });
}

/** The same with the owner that the step left. */
function ownedKind(name: string) {
  return kind({
    name,
    columns: { address: ordered(address), mcSeqno: ordered(u32), owner: ordered(addressOrNone) },
    key: { name: 'address', key: ['address', 'mcSeqno'], sole: true },
    ways: [{ name: 'owner', key: ['owner', 'address', 'mcSeqno'] }],
  });
}

/** So much of the hash of a name that nobody could make two that are alike. */
const NAME_BYTES = 16;

/** A name as it stands in keys and rows. */
export const nameKey = (domain: string): Buffer => createHash('sha256').update(domain).digest().subarray(0, NAME_BYTES);

/** The same with the name that the step left, and the account that it leads to. */
export const recordKind = kind({
  name: dnsRecords.name,
  columns: {
    address: ordered(address),
    mcSeqno: ordered(u32),
    wallet: ordered(addressOrNone),
    domain: fixedBytes(NAME_BYTES),
  },
  key: { name: 'address', key: ['address', 'mcSeqno'], sole: true },
  ways: [
    { name: 'wallet', key: ['wallet', 'address', 'mcSeqno'] },
    { name: 'domain', key: ['domain', 'address', 'mcSeqno'] },
  ],
});

export type DetectedKind = ReturnType<typeof detectedKind>;
export type OwnedKind = ReturnType<typeof ownedKind>;

export const masterKind = detectedKind(jettonMasters.name);
export const walletKind = ownedKind(jettonWallets.name);
export const collectionKind = detectedKind(nftCollections.name);
export const itemKind = ownedKind(nftItems.name);
export const saleKind = detectedKind(nftSales.name);
export const auctionKind = detectedKind(nftAuctions.name);

/** Transfers or burns of tokens, by the transaction (of `contract`, a wallet or an item) that they are. */
function eventKind(name: string) {
  return kind({
    name,
    columns: {
      transactionLt: ordered(transactions.columns.lt),
      hash: ordered(transactions.columns.hash),
      transactionNow: ordered(transactions.columns.now),
      contract: ordered(address),
      token: ordered(addressOrNone),
      sender: ordered(addressOrNone),
      receiver: ordered(addressOrNone),
    },
    list: { name: 'owner', column: ordered(address) },
    key: { name: 'lt', key: ['transactionLt', ['hash', HASH_HEAD]], also: ['transactionNow'], rises: 'lt' },
    ways: [
      { name: 'owner', each: true, key: ['transactionLt', ['hash', HASH_HEAD]], also: ['transactionNow'] },
      { name: 'contract', key: ['contract', 'transactionLt'], also: ['transactionNow'], alike: ['transactionNow'] },
      { name: 'token', key: ['token', 'transactionLt', ['hash', HASH_HEAD]], also: ['transactionNow'] },
      { name: 'time', key: ['transactionNow', 'transactionLt', ['hash', HASH_HEAD]], rises: 'utime' },
    ],
  });
}

export type EventKind = ReturnType<typeof eventKind>;

export const transferKind = eventKind(jettonTransfers.name);
export const burnKind = eventKind(jettonBurns.name);
export const itemTransferKind = eventKind(nftTransfers.name);

/** In the order in which a step is written. */
export const KINDS: readonly Kind[] = [
  blockKind,
  topKind,
  transactionKind,
  messageKind,
  accountKind,
  dataKind,
  traceKind,
  actionKind,
  retoldKind,
  masterKind,
  walletKind,
  collectionKind,
  itemKind,
  saleKind,
  auctionKind,
  recordKind,
  transferKind,
  burnKind,
  itemTransferKind,
];
