/** Transactions as they are stored: each a bag of cells of its own, decoded when more than its place is asked for. */
import { addressOf } from './address.ts';
import { openBoc } from './boc.ts';
import type { Address, Decimal, Hash, Message, Transaction } from './model.ts';
import { decodeTransaction } from './transaction.ts';

/** A bag as serialize.ts writes it: magic, no cache bits, the root first. */
const MAGIC = 0xb5ee9c72;
const HAS_INDEX = 0x80;
const STORED_HASHES = 16;
/** `transaction$0111 account_addr:bits256 lt:uint64 prev_trans_hash:bits256 prev_trans_lt:uint64 now:uint32`. */
const HEAD_BITS = 4 + 256 + 64 + 256 + 64 + 32;
/** Bytes that hold the tag, the account and the lt. */
const KEY_BYTES = 41;
const MAX_LT = 2n ** 64n - 1n;

/**
 * The transaction of a bag of its own. Place in the chain (account, lt, time) is read without opening the bag; anything
 * else decodes it, once. Sorting and comparing pages needs no more than the place.
 * The bytes are kept, not copied. Reading throws DecodeError.
 * @param hash where it is known without reading
 */
export function storedTransaction(payload: Buffer, workchain: number, hash: Hash | null = null): Transaction {
  return new StoredTransaction(payload, workchain, hash);
}

/** Text that is the same for the same account id and lt; null when the bag is laid out in another way. */
export function storedKey(payload: Buffer): string | null {
  const at = headAt(payload);
  return at < 0 ? null : payload.toString('latin1', at, at + KEY_BYTES);
}

/** Where the data of the root cell begins; -1 when the bag is laid out in another way. */
function headAt(payload: Buffer): number {
  if (payload.length < 10 || payload.readUInt32BE(0) !== MAGIC) return -1;
  const refSize = payload[4] & 7;
  const offsetSize = payload[5];
  if (refSize !== 1 || payload[7] !== 1) return headOfLarge(payload, refSize, offsetSize);
  const index = payload[4] & HAS_INDEX ? payload[6] * offsetSize : 0;
  return payload[9 + offsetSize] === 0 ? checkedHead(payload, 10 + offsetSize + index) : -1;
}

/** More than 255 cells: the counts take more bytes. */
function headOfLarge(payload: Buffer, refSize: number, offsetSize: number): number {
  if (refSize < 2 || refSize > 4 || payload.length < 6 + 4 * refSize + offsetSize) return -1;
  const cells = payload.readUIntBE(6, refSize);
  const roots = payload.readUIntBE(6 + refSize, refSize);
  const root = payload.readUIntBE(6 + 3 * refSize + offsetSize, refSize);
  if (roots !== 1 || root !== 0) return -1;
  const index = payload[4] & HAS_INDEX ? cells * offsetSize : 0;
  return checkedHead(payload, 6 + 4 * refSize + offsetSize + index);
}

/** Behind the descriptors of a plain cell that is long enough and has the tag of a transaction. */
function checkedHead(payload: Buffer, cell: number): number {
  const at = cell + 2;
  const bytes = payload[cell + 1] >> 1;
  if (payload[cell] & STORED_HASHES || bytes * 8 < HEAD_BITS || payload.length < at + bytes) return -1;
  return payload[at] >> 4 === 0b0111 ? at : -1;
}

/** A transaction of which only the place in the chain is at hand: anything else asks for the whole of it. */
export abstract class LazyTransaction implements Transaction {
  abstract readonly account: Address;
  abstract readonly lt: Decimal;
  abstract readonly now: number;
  protected abstract readonly whole: Transaction;

  get cell() {
    return this.whole.cell;
  }
  get hash() {
    return this.whole.hash;
  }
  get prevHash() {
    return this.whole.prevHash;
  }
  get prevLt() {
    return this.whole.prevLt;
  }
  get origStatus() {
    return this.whole.origStatus;
  }
  get endStatus() {
    return this.whole.endStatus;
  }
  get totalFees() {
    return this.whole.totalFees;
  }
  get totalFeesExtra() {
    return this.whole.totalFeesExtra;
  }
  get stateBefore() {
    return this.whole.stateBefore;
  }
  get stateAfter() {
    return this.whole.stateAfter;
  }
  get description() {
    return this.whole.description;
  }
  get inMsg() {
    return this.whole.inMsg;
  }
  get outMsgs() {
    return this.whole.outMsgs;
  }
}

/** A message of which some things are at hand: anything else asks for the whole of it. */
export abstract class LazyMessage implements Message {
  abstract readonly hash: Hash;
  abstract readonly source: Address | null;
  abstract readonly destination: Address | null;
  protected abstract readonly whole: Message;

  get createdLt() {
    return this.whole.createdLt;
  }
  get createdAt() {
    return this.whole.createdAt;
  }
  get opcode() {
    return this.whole.opcode;
  }
  get bodyHash() {
    return this.whole.bodyHash;
  }
  get cell() {
    return this.whole.cell;
  }
  get kind() {
    return this.whole.kind;
  }
  get externalBits() {
    return this.whole.externalBits;
  }
  get value() {
    return this.whole.value;
  }
  get extraCurrencies() {
    return this.whole.extraCurrencies;
  }
  get ihrDisabled() {
    return this.whole.ihrDisabled;
  }
  get bounce() {
    return this.whole.bounce;
  }
  get bounced() {
    return this.whole.bounced;
  }
  get fwdFee() {
    return this.whole.fwdFee;
  }
  get ihrFeeOrFlags() {
    return this.whole.ihrFeeOrFlags;
  }
  get importFee() {
    return this.whole.importFee;
  }
  get init() {
    return this.whole.init;
  }
  bodyBoc(): Buffer {
    return this.whole.bodyBoc();
  }
  hashNorm(): Hash | null {
    return this.whole.hashNorm();
  }
}

/** A class, not a factory: no closures are made for each row of a page. */
class StoredTransaction extends LazyTransaction {
  readonly #payload: Buffer;
  readonly #workchain: number;
  readonly #at: number;
  #decoded: Transaction | null = null;
  #account: Address | null = null;
  #lt: Decimal | null = null;
  readonly #hash: Hash | null;

  constructor(payload: Buffer, workchain: number, hash: Hash | null) {
    super();
    this.#hash = hash;
    this.#payload = payload;
    this.#workchain = workchain;
    this.#at = headAt(payload);
  }

  protected get whole(): Transaction {
    if (this.#decoded === null) {
      const boc = openBoc(this.#payload);
      this.#decoded = decodeTransaction(boc, boc.roots[0], this.#workchain);
    }
    return this.#decoded;
  }

  override get hash(): Hash {
    return this.#hash ?? this.whole.hash;
  }

  get account(): Address {
    this.#account ??= this.#at < 0 ? this.whole.account : addressOf(this.#workchain, this.#shifted(0, 32));
    return this.#account;
  }

  get lt(): Decimal {
    this.#lt ??= this.#at < 0 ? this.whole.lt : String(this.#readLt());
    return this.#lt;
  }

  get now(): number {
    if (this.#at < 0) return this.whole.now;
    const at = this.#at + 80;
    return ((this.#payload.readUInt32BE(at) << 4) | (this.#payload[at + 4] >> 4)) >>> 0;
  }

  #readLt(): bigint {
    const at = this.#at + 32;
    return ((this.#payload.readBigUInt64BE(at) << 4n) & MAX_LT) | BigInt(this.#payload[at + 8] >> 4);
  }

  /** Bytes that begin in the middle of a byte. */
  #shifted(from: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    const at = this.#at + from;
    for (let i = 0; i < length; i++) bytes[i] = (this.#payload[at + i] << 4) | (this.#payload[at + i + 1] >> 4);
    return bytes;
  }
}
