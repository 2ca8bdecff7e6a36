/** Blocks: looked up, their headers, shards and transactions. */
import { z } from 'zod';
import { compareDecimal } from '../../chain/decimal.ts';
import type { BlockHeader, Decimal, Hash, Shard } from '../../chain/model.ts';
import type { BlockFilter, BlockRecord, TransactionRecord } from '../../chain/records.ts';
import { FULL_SHARD, shardContains, shardParent } from '../../chain/shard-ident.ts';
import { Refusal } from '../errors.ts';
import { accountId, check, given, hash, int32, int64, required, shard } from './parameters.ts';
import { blockHeader, shortTransactionId } from './render/block.ts';
import { rawTransactionExt } from './render/transaction.ts';
import { blockId } from './render/values.ts';
import { type Asked, type Route, route } from './route.ts';
import * as schemas from './schemas.ts';

const TAG = 'blocks';

/** What nodes say of a block they do not have. */
const NOT_FOUND = 'LITE_SERVER_NOTREADY: ltdb: block not found';

/** It has no parent, and no block is of it. */
const NO_SHARD: Shard = '0000000000000000';

/** Blocks of one place in time that are looked through for the one whose shard holds a prefix. */
const NEIGHBOURS = 256;

function filterOf(more: Partial<BlockFilter>): BlockFilter {
  return { utime: {}, lt: {}, sort: 'asc', page: { limit: NEIGHBOURS, offset: 0 }, ...more };
}

/** Whether a block's shard holds the accounts that begin as the given shard does. */
function holds({ shard: own }: BlockHeader, prefix: Shard): boolean {
  const value = BigInt(`0x${prefix}`);
  const id = Buffer.alloc(32);
  id.writeBigUInt64BE(value & ~(value & -value));
  // A longer prefix than the given one does not hold all of it.
  const mark = (of: bigint): bigint => of & -of;
  return mark(BigInt(`0x${own}`)) >= mark(value) && shardContains(own, id);
}

/**
 * Those that hold the prefix, which follow one another: in the order of lt. Listings put those of one second in the order
 * of their shards, where one that was split comes before its left half, and one that was merged as well.
 */
async function find(filter: Partial<BlockFilter>, prefix: Shard, { source, context }: Asked): Promise<BlockRecord[]> {
  const asked = filterOf(filter);
  const { rows } = await source.blocks(asked, context);
  const sign = asked.sort === 'asc' ? 1 : -1;
  return rows
    .filter(({ header }) => holds(header, prefix))
    .sort((a, b) => sign * compareDecimal(a.header.startLt, b.header.startLt));
}

/** First block that ends at an lt or behind it: the newest that began before, or the next one. */
async function byLt(workchain: number, prefix: Shard, lt: Decimal, asked: Asked): Promise<BlockRecord | undefined> {
  const [before] = await find({ workchain, lt: { end: lt }, sort: 'desc' }, prefix, asked);
  if (before !== undefined && compareDecimal(before.header.endLt, lt) >= 0) return before;
  const [behind] = await find({ workchain, lt: { start: lt } }, prefix, asked);
  return behind;
}

/** The block with a seqno in the shard itself or in the nearest one above it. */
async function bySeqno(
  workchain: number,
  prefix: Shard,
  seqno: number,
  asked: Asked,
): Promise<BlockRecord | undefined> {
  for (let of = prefix; ; of = shardParent(of)) {
    const [found] = await find({ workchain, shard: of, seqno }, of, asked);
    if (found !== undefined || of === FULL_SHARD) return found;
  }
}

async function byTime(workchain: number, prefix: Shard, start: number, asked: Asked): Promise<BlockRecord | undefined> {
  const [found] = await find({ workchain, utime: { start } }, prefix, asked);
  return found;
}

const place = {
  workchain: int32('Workchain of the block.'),
  shard: shard(),
  seqno: int32('Seqno of the block.'),
};

export function lookupBlockRoute(): Route {
  return route({
    path: '/lookupBlock',
    tag: TAG,
    summary: 'The id of a block by its seqno, or of the first one at an lt or a time',
    parameters: z.object({
      ...place,
      lt: int64('Logical time that the block reaches.'),
      unixtime: int32('Time from which on the block was made.'),
    }),
    response: schemas.blockId,
    async answer({ seqno, lt, unixtime, ...parameters }, asked) {
      const workchain = required(parameters.workchain, 'workchain');
      const prefix = required(parameters.shard, 'shard');
      const given = [seqno, lt, unixtime].filter((value) => value !== undefined);
      check(given.length === 1, 'exactly one of seqno, lt, unixtime should be specified');
      check(seqno === undefined || seqno > 0, 'seqno should be positive');
      check(prefix !== NO_SHARD, 'shard should not be zero');
      check((lt ?? 0n) >= 0n, 'lt should be non-negative');
      check((unixtime ?? 0) >= 0, 'unixtime should be non-negative');
      let found: BlockRecord | undefined;
      if (seqno !== undefined) found = await bySeqno(workchain, prefix, seqno, asked);
      else if (lt !== undefined) found = await byLt(workchain, prefix, lt.toString(), asked);
      else if (unixtime !== undefined) found = await byTime(workchain, prefix, unixtime, asked);
      if (found === undefined) throw new Refusal(500, NOT_FOUND);
      return JSON.stringify(blockId(found.header));
    },
  });
}

/** `shards` and its other name. */
export function shardsRoute(path: string): Route {
  return route({
    path,
    tag: TAG,
    summary: 'The top block of every shard as of a masterchain block',
    parameters: z.object({ seqno: int32('Seqno of the masterchain block.') }),
    response: schemas.shards,
    async answer(parameters, { states, context }) {
      const seqno = required(parameters.seqno, 'seqno');
      check(seqno > 0, 'seqno should be positive');
      const tops = await states.shards(await states.step(seqno, context));
      return JSON.stringify({ '@type': 'blocks.shards', shards: tops.map(blockId) });
    },
  });
}

const whole = {
  ...place,
  root_hash: hash('Root hash of the block.'),
  file_hash: hash('File hash of the block.'),
};

/** The block of a place, of whose shard a part may be given; with both hashes it is the very one that has them. */
async function blockAt(
  parameters: {
    workchain?: number | undefined;
    shard?: Shard | undefined;
    seqno?: number | undefined;
    root_hash?: Hash | undefined;
    file_hash?: Hash | undefined;
  },
  asked: Asked,
): Promise<BlockRecord> {
  const rootHash = given(parameters.root_hash);
  const fileHash = given(parameters.file_hash);
  const workchain = required(parameters.workchain, 'workchain');
  const of = required(parameters.shard, 'shard');
  const seqno = required(parameters.seqno, 'seqno');
  check(seqno > 0, 'seqno should be positive');
  let found: BlockRecord | undefined;
  if (rootHash !== undefined && fileHash !== undefined) {
    const [named] = await find({ workchain, shard: of, seqno }, of, asked);
    if (named?.header.rootHash.equals(rootHash) && named.header.fileHash.equals(fileHash)) found = named;
  } else if (of !== NO_SHARD) found = await bySeqno(workchain, of, seqno, asked);
  if (found === undefined) throw new Refusal(500, NOT_FOUND);
  return found;
}

export function getBlockHeaderRoute(): Route {
  return route({
    path: '/getBlockHeader',
    tag: TAG,
    summary: 'The header of a block',
    parameters: z.object(whole),
    response: schemas.blockHeader,
    async answer(parameters, asked) {
      return JSON.stringify(blockHeader((await blockAt(parameters, asked)).header));
    },
  });
}

const DEFAULT_COUNT = 40;
const MAX_COUNT = 10_000;
/** More than any block has. */
const MOST_TRANSACTIONS = 50_000;

function transactionsRoute(
  path: string,
  type: string,
  response: Route['response'],
  render: (row: TransactionRecord) => object,
): Route {
  return route({
    path,
    tag: TAG,
    summary: 'Transactions of a block, by account and logical time',
    parameters: z.object({
      ...whole,
      count: int32(`Transactions to return, at most ${MAX_COUNT}; ${DEFAULT_COUNT} when absent.`),
      after_lt: int64('Logical time of the last transaction seen, together with `after_hash`.'),
      after_hash: accountId('Account of the last transaction seen, together with `after_lt`.'),
    }),
    response,
    async answer({ count = DEFAULT_COUNT, after_lt: afterLt, after_hash: afterAccount, ...parameters }, asked) {
      const afterHash = given(afterAccount);
      check(count > 0, 'count should be positive');
      check(count <= MAX_COUNT, `count should be less or equal ${MAX_COUNT}`);
      check((afterLt ?? 0n) >= 0n, 'after_lt should be non-negative');
      check((afterLt === undefined) === (afterHash === undefined), 'after_lt and after_hash should be used together');
      const { header, txCount } = await blockAt(parameters, asked);
      const all = txCount === 0 ? [] : await transactionsOf(header, asked);
      const after = afterHash === undefined ? null : { account: afterHash, lt: String(afterLt) };
      const rest = after === null ? all : all.filter((row) => compare(row.transaction, after) > 0);
      return JSON.stringify({
        '@type': type,
        id: blockId(header),
        req_count: count,
        incomplete: rest.length > count,
        transactions: rest.slice(0, count).map(render),
      });
    },
  });
}

async function transactionsOf(header: BlockHeader, { source, context }: Asked): Promise<TransactionRecord[]> {
  const { workchain, shard: of, seqno } = header;
  const page = { limit: MOST_TRANSACTIONS, offset: 0 };
  const place = { workchain, shard: of, seqno };
  const rest = { accounts: [], excludeAccounts: [], hashes: [], utime: {}, ltWindow: {}, page };
  const { rows } = await source.transactions({ ...place, ...rest, sort: 'asc' }, context);
  return rows.sort((a, b) => compare(a.transaction, { account: idOf(b), lt: b.transaction.lt }));
}

function idOf({ transaction }: TransactionRecord): Buffer {
  return transaction.account.subarray(4);
}

/** By account id as a number without a sign, then by lt. */
function compare(transaction: TransactionRecord['transaction'], other: { account: Buffer; lt: Decimal }): number {
  return Buffer.compare(transaction.account.subarray(4), other.account) || compareDecimal(transaction.lt, other.lt);
}

export function blockTransactionsRoutes(): Route[] {
  return [
    transactionsRoute('/getBlockTransactions', 'blocks.transactions', schemas.blockTransactions, shortTransactionId),
    transactionsRoute(
      '/getBlockTransactionsExt',
      'blocks.transactionsExt',
      schemas.blockTransactionsExt,
      rawTransactionExt,
    ),
  ];
}
