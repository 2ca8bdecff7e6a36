import { accountBlocks } from '../chain/accounts.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import type { Hash } from '../chain/model.ts';
import { serialize } from '../chain/serialize.ts';
import { FULL_SHARD } from '../chain/shard-ident.ts';
import type { BlockPlace, ChainTransaction } from './model.ts';

/** Finds the block of a workchain's account that holds an lt. */
export type FindByLt = (workchain: number, shard: string, lt: bigint) => { place: BlockPlace; bytes: Buffer } | null;

/** Walks an account's transactions backwards from one, newest first; empty when that one is not there. */
export function walkTransactions(
  find: FindByLt,
  workchain: number,
  account: Hash,
  from: { lt: bigint; hash: Hash },
  limit: number,
): ChainTransaction[] {
  const walked: ChainTransaction[] = [];
  let next = from;
  while (walked.length < limit && next.lt > 0n) {
    const run = blockRun(find, workchain, account, next, limit - walked.length);
    if (run.length === 0) break;
    walked.push(...run);
    const last = run[run.length - 1];
    next = { lt: last.prevLt, hash: last.prevHash };
  }
  return walked;
}

/** The account's transactions of one block, from the given one backwards. */
function blockRun(
  find: FindByLt,
  workchain: number,
  account: Hash,
  from: { lt: bigint; hash: Hash },
  limit: number,
): ChainTransaction[] {
  const found = find(workchain, shardOf(workchain, account), from.lt);
  if (found === null) return [];
  const boc = openBoc(found.bytes);
  const own = accountBlocks(decodeBlock(boc)).find((each) => each.account.subarray(4).equals(account));
  if (own === undefined) return [];
  const list = own.transactions();
  const start = list.findIndex(({ lt, hash }) => BigInt(lt) === from.lt && hash.equals(from.hash));
  return list
    .slice(0, start + 1)
    .reverse()
    .slice(0, limit)
    .map((transaction) => ({
      block: found.place,
      lt: BigInt(transaction.lt),
      hash: Buffer.from(transaction.hash),
      prevLt: BigInt(transaction.prevLt),
      prevHash: Buffer.from(transaction.prevHash),
      boc: serialize(boc, transaction.cell),
    }));
}

/** The longest shard identifier that holds the account: any chain with it is related. */
function shardOf(workchain: number, account: Hash): string {
  if (workchain === -1) return FULL_SHARD;
  const prefix = Buffer.from(account.subarray(0, 8));
  prefix[7] = (prefix[7] & 0xf0) | 8;
  return prefix.toString('hex');
}
