import { Builder, Cell } from '../chain/builder.ts';
import { type Change, type Dictionary, findLeaf, updateDictionary } from '../chain/dictionary.ts';
import { type CellSet, markChanged } from '../chain/proof.ts';
import { type CellText, cellText, type Executor, type TransactionResult, textCell } from '../tvm/executor.ts';
import { coinSum, type DepthBalance, depthBalance, KEY_BITS } from './augmentations.ts';
import { accountBalance, type ExecutedTransaction, readTransaction } from './transaction.ts';

/** `ShardAccount` of an account that does not exist. */
export const NO_ACCOUNT: Cell = new Builder()
  .ref(new Builder().bit(0).cell())
  .bytes(Buffer.alloc(32))
  .big(0n, 64)
  .cell();

/** A `ShardAccount` in the form the executor takes. */
export interface AccountText {
  account: Cell;
  text: CellText;
}

/** The executor's last answers, by account: saves writing accounts out again. The oldest goes first. */
export interface TextCache {
  get(key: string): AccountText | undefined;
  set(key: string, value: AccountText): void;
}

export function createTextCache(limit: number): TextCache {
  const texts = new Map<string, AccountText>();
  return {
    get: (key) => texts.get(key),
    set: (key, value) => {
      texts.delete(key);
      texts.set(key, value);
      if (texts.size <= limit) return;
      const oldest = texts.keys().next();
      if (oldest.done !== true) texts.delete(oldest.value);
    },
  };
}

/** `ShardAccount` of an account in a dictionary, null when it is not there. Throws DecodeError. */
export function findShardAccount(accounts: Cell | null, hash: Buffer): Cell | null {
  const leaf = findLeaf(accounts, KEY_BITS.account, hash);
  if (leaf === null) return null;
  depthBalance.read(leaf);
  return leaf.restCell();
}

/** The account's text for the executor, from the cache when it is of this very state. */
export function accountText(cache: TextCache, workchain: number, hash: Buffer, shardAccount: Cell): CellText {
  const known = cache.get(cacheKey(workchain, hash));
  return known?.account.equals(shardAccount.refs[0]) ? known.text : cellText(shardAccount);
}

function cacheKey(workchain: number, hash: Buffer): string {
  return `${workchain}${hash.toString('latin1')}`;
}

interface LiveAccount {
  hash: Buffer;
  before: Cell;
  text: CellText;
  endLt: bigint;
  transactions: ExecutedTransaction[];
}

export interface LedgerInput {
  workchain: number;
  accounts: Dictionary<DepthBalance>;
  executor: Executor;
  cache: TextCache;
  /** Unix seconds. */
  now: number;
  startLt: bigint;
  randSeed: Buffer;
}

/** What a block did to its accounts. */
export interface LedgerResult {
  accounts: Dictionary<DepthBalance>;
  /** `ShardAccountBlocks`; the extra is the sum of the fees. */
  blocks: Dictionary<bigint>;
}

/** How an account is run: by a message, or by the start or end of a masterchain block. */
export type Cause = { message: Cell; afterLt: bigint } | 'tick' | 'tock';

/** The accounts of one block while it is made. */
export interface Ledger {
  /** Runs a transaction that no contract can refuse. Throws when the executor does. */
  run(hash: Buffer, cause: Cause): ExecutedTransaction;
  /** Runs a transaction by an external message; null when it is not accepted. */
  runExternal(hash: Buffer, message: Cell): ExecutedTransaction | null;
  /** Transactions so far. */
  count(): number;
  /** Behind the last transaction; at least one above the start. */
  endLt(): bigint;
  /** Ends the block. The old cells that were read or replaced are added to `loaded`. */
  finish(loaded: CellSet): LedgerResult;
}

/** Opens the accounts of a shard for a block. */
export function createLedger(input: LedgerInput): Ledger {
  const { executor, cache, startLt } = input;
  const live = new Map<string, LiveAccount>();
  let count = 0;
  let endLt = startLt + 1n;

  const open = (hash: Buffer): LiveAccount => {
    const key = hash.toString('latin1');
    const known = live.get(key);
    if (known !== undefined) return known;
    const shardAccount = findShardAccount(input.accounts.root, hash) ?? NO_ACCOUNT;
    const text = accountText(cache, input.workchain, hash, shardAccount);
    return { hash, before: shardAccount.refs[0], text, endLt: startLt, transactions: [] };
  };

  const execute = (account: LiveAccount, cause: Cause): TransactionResult => {
    const after = typeof cause === 'string' || cause.afterLt < account.endLt ? account.endLt : cause.afterLt + 1n;
    const context = { now: input.now, lt: after.toString(), randSeed: input.randSeed };
    if (typeof cause === 'string') return executor.runTickTock(account.text, cause === 'tock', context);
    return executor.runTransaction(account.text, cellText(cause.message), context);
  };

  const keep = (account: LiveAccount, result: TransactionResult & { accepted: true }): ExecutedTransaction => {
    const transaction = readTransaction(textCell(result.transaction));
    account.transactions.push(transaction);
    account.text = result.shardAccount;
    account.endLt = transaction.endLt;
    live.set(account.hash.toString('latin1'), account);
    if (transaction.endLt > endLt) endLt = transaction.endLt;
    count++;
    return transaction;
  };

  return {
    run: (hash, cause) => {
      const account = open(hash);
      const result = execute(account, cause);
      if (result.accepted) return keep(account, result);
      throw new Error(
        `the executor refused a transaction of ${input.workchain}:${hash.toString('hex')}: ${result.reason}`,
      );
    },
    runExternal: (hash, message) => {
      const account = open(hash);
      const result = execute(account, { message, afterLt: startLt });
      return result.accepted ? keep(account, result) : null;
    },
    count: () => count,
    endLt: () => endLt,
    finish: (loaded) => finish(input, [...live.values()], loaded),
  };
}

function finish(input: LedgerInput, touched: readonly LiveAccount[], loaded: CellSet): LedgerResult {
  const changes: Change<DepthBalance>[] = [];
  const blocks: Change<bigint>[] = [];
  for (const account of touched) {
    const after = textCell(account.text);
    const shared = shareCells(after.refs[0], account.before);
    const shardAccount = shared === after.refs[0] ? after : new Cell(after.data, after.bits, [shared]);
    input.cache.set(cacheKey(input.workchain, account.hash), { account: shared, text: account.text });
    markChanged(account.before, shared, loaded);
    const balance = accountBalance(shared);
    const leaf = balance === null ? null : { extra: { depth: 0, balance }, value: shardAccount };
    changes.push({ key: account.hash, leaf });
    blocks.push(accountBlock(account, shared));
  }
  const visit = (cell: Cell): void => void loaded.add(cell.key());
  return {
    accounts: updateDictionary(input.accounts.root, KEY_BITS.account, depthBalance, changes, visit),
    blocks: updateDictionary(null, KEY_BITS.account, coinSum, blocks),
  };
}

/**
 * `acc_trans#5 account_addr:bits256 transactions:(HashmapAug 64 ^Transaction CurrencyCollection)
 * state_update:^(HASH_UPDATE Account)`.
 */
function accountBlock(account: LiveAccount, after: Cell): Change<bigint> {
  const changes = account.transactions.map(({ cell, lt, fees }) => {
    const key = Buffer.alloc(8);
    key.writeBigUInt64BE(lt);
    return { key, leaf: { extra: fees, value: new Builder().ref(cell).cell() } };
  });
  const transactions = updateDictionary(null, KEY_BITS.lt, coinSum, changes);
  if (transactions.root === null) throw new RangeError('account block without a transaction');
  // A bare HashmapAug: its root stands in the account block itself, before the state update.
  const update = new Builder().u(0x72, 8).bytes(account.before.hash()).bytes(after.hash()).cell();
  const value = new Builder().u(5, 4).bytes(account.hash).append(transactions.root).ref(update).cell();
  return { key: account.hash, leaf: { extra: transactions.extra, value } };
}

/** The same tree with the objects of the older one where they are equal: states then share what did not change. */
function shareCells(newer: Cell, older: Cell): Cell {
  const known = new Map<string, Cell>();
  const collect = (cell: Cell): void => {
    if (known.has(cell.key())) return;
    known.set(cell.key(), cell);
    cell.refs.forEach(collect);
  };
  collect(older);
  const share = (cell: Cell): Cell => {
    const found = known.get(cell.key());
    if (found !== undefined) return found;
    const refs = cell.refs.map(share);
    const same = refs.every((ref, i) => ref === cell.refs[i]);
    const result = same ? cell : new Cell(cell.data, cell.bits, refs, cell.exotic);
    known.set(cell.key(), result);
    return result;
  };
  return share(newer);
}
