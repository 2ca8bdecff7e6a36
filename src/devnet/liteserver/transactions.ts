import { type Cell, parseBoc, Slice, toBoc, type Visit } from '../../chain/builder.ts';
import { eachLeaf, findLeaf } from '../../chain/dictionary.ts';
import type { Hash } from '../../chain/model.ts';
import { FULL_SHARD, shardContains } from '../../chain/shard-ident.ts';
import { blockIdExtToTl, LiteServerError } from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import { KEY_BITS, readCoins } from '../augmentations.ts';
import type { Chain } from '../model.ts';
import type { Blocks } from './blocks.ts';
import { blockParts, prove, showHeader } from './proofs.ts';
import { badRequest } from './refusals.ts';

/** A node's limit. */
const MAX_TRANSACTIONS = 16;

/** A transaction's place in its block. */
export interface Entry {
  account: Hash;
  lt: bigint;
  cell: Cell;
}

/** All transactions of a block by account, then lt. Throws DecodeError. */
export function blockTransactions(block: Cell): Entry[] {
  const entries: Entry[] = [];
  eachLeaf(accountBlocks(block, ignore), KEY_BITS.account, (slice, account) => {
    const transactions = accountTransactions(slice);
    eachLeaf(transactions, KEY_BITS.lt, (leaf, key) => {
      readCoins(leaf);
      entries.push({ account, lt: key.readBigUInt64BE(), cell: leaf.ref() });
    });
  });
  return entries;
}

function ignore(): void {}

/** Shows the way to one transaction, or to where it would be; its own cell is not visited. */
export function showTransaction(block: Cell, account: Hash, lt: bigint, visit: Visit): Cell | null {
  const slice = findLeaf(accountBlocks(block, visit), KEY_BITS.account, account, visit);
  if (slice === null) return null;
  // Readers of an account block read its HASH_UPDATE, too.
  const { refs } = slice.cell;
  visit(refs[refs.length - 1]);
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(lt);
  const leaf = findLeaf(accountTransactions(slice), KEY_BITS.lt, key, visit);
  if (leaf === null) return null;
  readCoins(leaf);
  return leaf.ref();
}

/** Shows the way to the `ShardAccountBlocks`, the third cell of `BlockExtra`; null in a block without transactions. */
export function accountBlocks(block: Cell, visit: Visit): Cell | null {
  const { extra } = blockParts(block);
  visit(extra);
  return new Slice(extra.refs[2], visit).maybeRef();
}

/**
 * `acc_trans#5 account_addr:bits256 transactions:(HashmapAug 64 ^Transaction CurrencyCollection)` behind its extra: the
 * dictionary's root stands in the cell itself, with the `HASH_UPDATE` behind it.
 */
function accountTransactions(slice: Slice): Cell {
  readCoins(slice);
  return slice.tag(4, 5, 'AccountBlock').skip(256).restCell();
}

export function transactionHandlers(chain: Chain, blocks: Blocks): LiteHandlers {
  return {
    getTransactions({ count, account: { workchain, id }, lt, hash }) {
      const limit = Math.min(count, MAX_TRANSACTIONS);
      const list = chain.transactions(workchain, Buffer.from(id), { lt: BigInt.asUintN(64, lt), hash }, limit);
      if (list.length === 0) throw notLocated(chain, workchain, id, lt);
      const transactions = toBoc(list.map(({ boc }) => parseBoc(boc)));
      return { ids: list.map(({ block }) => blockIdExtToTl(block)), transactions };
    },

    getOneTransaction({ id, account: { workchain, id: hash }, lt }) {
      const place = blocks.find(id);
      if (workchain !== place.workchain || !shardContains(place.shard, hash)) {
        throw badRequest('requested transaction of an account that the block cannot contain');
      }
      const root = blocks.root(place);
      let transaction: Cell | null = null;
      const shown = prove(root, (visit) => {
        showHeader(root, 0, visit);
        transaction = showTransaction(root, hash, BigInt.asUintN(64, lt), visit);
      });
      const boc = transaction === null ? Buffer.alloc(0) : toBoc(transaction);
      return { id: blockIdExtToTl(place), proof: toBoc(shown), transaction: boc };
    },
  };
}

/** In a node's words: clients tell by code 0 that an account has no such transaction. */
function notLocated(chain: Chain, workchain: number, account: Hash, lt: bigint): LiteServerError {
  const shard = workchain === -1 ? FULL_SHARD : shardAt(account);
  if (lt <= 0n || chain.lookup({ workchain, shard, lt }) === null) {
    return new LiteServerError(0, 'cannot compute block with specified transaction: lt not in db');
  }
  return badRequest('cannot locate transaction in block with specified logical time');
}

/** The longest shard identifier with an account in it. */
function shardAt(account: Hash): string {
  const prefix = Buffer.from(account.subarray(0, 8));
  prefix[7] = (prefix[7] & 0xf0) | 8;
  return prefix.toString('hex');
}
