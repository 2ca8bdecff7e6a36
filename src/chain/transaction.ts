import { type Boc, levelMask } from './boc.ts';
import { readCurrencies } from './currency.ts';
import { Cursor } from './cursor.ts';
import { DecodeError, inside } from './errors.ts';
import { cellHash } from './hash.ts';
import { walkHashmap } from './hashmap.ts';
import { decodeMessage } from './message.ts';
import type { AccountStatus, Address, Decimal, ExtraCurrencies, Hash, Message, Transaction } from './model.ts';
import { readDescription } from './phases.ts';

const statuses: readonly AccountStatus[] = ['uninit', 'frozen', 'active', 'nonexist'];

/**
 * Decodes a transaction cell. The cell does not say in which workchain its account lives; give the block's.
 * The same cell gives the same object for the life of the bag. Throws DecodeError.
 * @param likely the account, where it is known
 */
export function decodeTransaction(
  boc: Boc,
  cell: number,
  workchain: number,
  likely: Address | null = null,
): Transaction {
  const known = boc.decoded.transactions?.get(cell);
  if (known !== undefined) return known;
  try {
    const transaction = readTransaction(boc, cell, workchain, likely);
    boc.decoded.transactions ??= new Map();
    boc.decoded.transactions.set(cell, transaction);
    return transaction;
  } catch (error) {
    throw inside('transaction', error);
  }
}

function readTransaction(boc: Boc, cell: number, workchain: number, likely: Address | null): Transaction {
  if (levelMask(boc, cell) !== 0) throw new DecodeError('pruned branches in a transaction');
  const cursor = new Cursor(boc, cell);
  cursor.tag(4, 0b0111, 'transaction');
  return new DecodedTransaction(boc, cell, cursor, cursor.address(workchain, likely));
}

/**
 * A class, not a literal with a getter: the engine makes the hidden class of such a literal anew for each, in its
 * runtime. The fields are read in the order of the cell.
 */
class DecodedTransaction implements Transaction {
  readonly cell: number;
  readonly account: Address;
  readonly lt: Decimal;
  readonly now: number;
  readonly prevHash: Hash;
  readonly prevLt: Decimal;
  readonly origStatus: AccountStatus;
  readonly endStatus: AccountStatus;
  readonly totalFees: Decimal;
  readonly totalFeesExtra: ExtraCurrencies;
  readonly stateBefore: Hash;
  readonly stateAfter: Hash;
  readonly description: Transaction['description'];
  readonly inMsg: Message | null;
  readonly outMsgs: Message[];
  readonly #boc: Boc;
  #hash: Hash | null = null;

  /** @param cursor behind the account */
  constructor(boc: Boc, cell: number, cursor: Cursor, account: Address) {
    this.#boc = boc;
    this.cell = cell;
    this.account = account;
    this.lt = cursor.dec(64);
    this.prevHash = cursor.hash();
    this.prevLt = cursor.dec(64);
    this.now = cursor.u(32);
    const outCount = cursor.u(15);
    this.origStatus = statuses[cursor.u(2)];
    this.endStatus = statuses[cursor.u(2)];
    const messages = cursor.open();
    const fees = readCurrencies(cursor);
    this.totalFees = fees.grams;
    this.totalFeesExtra = fees.extra;
    const update = cursor.open();
    update.tag(8, 0x72, 'HASH_UPDATE');
    this.description = describe(cursor);
    this.stateBefore = update.hash();
    this.stateAfter = update.hash();
    this.inMsg = messages.bit() ? readInMessage(messages, account) : null;
    this.outMsgs = readOutMessages(messages, outCount, account);
  }

  /** Made when it is asked for: it hashes every cell, and who has a row knows it. */
  get hash(): Hash {
    this.#hash ??= cellHash(this.#boc, this.cell);
    return this.#hash;
  }
}

function describe(cursor: Cursor): Transaction['description'] {
  try {
    return readDescription(cursor.open());
  } catch (error) {
    throw inside('description', error);
  }
}

function readInMessage(cursor: Cursor, account: Address): Message {
  try {
    return decodeMessage(cursor.boc, cursor.nextRef(), account);
  } catch (error) {
    throw inside('in_msg', error);
  }
}

function readOutMessages(cursor: Cursor, count: number, account: Address): Message[] {
  const root = cursor.maybeRef();
  const messages: Message[] = [];
  try {
    if (root >= 0) {
      const leaf = (value: Cursor): void => {
        messages.push(decodeMessage(value.boc, value.nextRef(), account));
      };
      walkHashmap(cursor.boc, root, { keyBits: 15, leaf }, cursor.boc);
    }
    if (messages.length !== count) throw new DecodeError(`${messages.length} messages where ${count} are announced`);
  } catch (error) {
    throw inside('out_msgs', error);
  }
  return messages;
}
