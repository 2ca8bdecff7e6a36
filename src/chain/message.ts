import { type Boc, levelMask } from './boc.ts';
import { readExtra } from './currency.ts';
import { Cursor, packBits } from './cursor.ts';
import { DecodeError, inside } from './errors.ts';
import { cellHash, type LooseCell, looseDepth, looseHash, ordinaryHash } from './hash.ts';
import type { Address, Decimal, ExtraCurrencies, Hash, Message, MessageKind } from './model.ts';
import { serialize, serializeLoose } from './serialize.ts';

/** Representation hash of the cell without bits and references: the body of most plain transfers. */
const EMPTY_CELL_HASH: Hash = ordinaryHash(new Uint8Array(0), 0, []);

/** Bits of `int_msg_info` and the like are read in this order; see crypto/block/block.tlb. */
interface Info {
  kind: MessageKind;
  source: Address | null;
  destination: Address | null;
  externalBits: number | null;
  value: Decimal | null;
  extraCurrencies: ExtraCurrencies | null;
  ihrDisabled: boolean | null;
  bounce: boolean | null;
  bounced: boolean | null;
  fwdFee: Decimal | null;
  ihrFeeOrFlags: Decimal | null;
  createdLt: Decimal | null;
  createdAt: number | null;
  importFee: Decimal | null;
  /** Where the destination address stands in the bag, for the normalised hash. */
  destinationAt: number;
  destinationEnd: number;
}

/**
 * A sub-cell of a message: its own cell (`cell` at or above 0), or bits and references inside the message cell.
 */
interface Part {
  cell: number;
  at: number;
  end: number;
  ref: number;
  refEnd: number;
}

/**
 * Decodes a message cell (`Message Any`). The same cell gives the same object for the life of the bag.
 * Throws DecodeError.
 * @param likely an address that it is likely from or to
 */
export function decodeMessage(boc: Boc, cell: number, likely: Address | null = null): Message {
  const known = boc.decoded.messages?.get(cell);
  if (known !== undefined) return known;
  try {
    const message = readMessage(boc, cell, likely);
    boc.decoded.messages ??= new Map();
    boc.decoded.messages.set(cell, message);
    return message;
  } catch (error) {
    throw inside('message', error);
  }
}

function readMessage(boc: Boc, cell: number, likely: Address | null): Message {
  if (levelMask(boc, cell) !== 0) throw new DecodeError('pruned branches in a message');
  const cursor = new Cursor(boc, cell);
  const info = readInfo(cursor, likely);
  let init: Part | null = null;
  if (cursor.bit()) {
    init = cursor.bit() ? wholeCell(cursor) : { cell: -1, ...skipStateInit(cursor) };
  }
  const body = cursor.bit() ? wholeCell(cursor) : rest(cursor);
  return new DecodedMessage(boc, cell, info, init, body);
}

function wholeCell(cursor: Cursor): Part {
  return { cell: cursor.nextRef(), at: 0, end: 0, ref: 0, refEnd: 0 };
}

function rest(cursor: Cursor): Part {
  return { cell: -1, at: cursor.at, end: cursor.end, ref: cursor.ref, refEnd: cursor.refEnd };
}

/** `StateInit`: split_depth or fixed_prefix_length, special, code, data, library. */
function skipStateInit(cursor: Cursor): { at: number; end: number; ref: number; refEnd: number } {
  const { at, ref } = cursor;
  if (cursor.bit()) cursor.skip(5);
  if (cursor.bit()) cursor.skip(2);
  for (let i = 0; i < 3; i++) cursor.maybeRef();
  return { at, end: cursor.at, ref, refEnd: cursor.ref };
}

function readInfo(cursor: Cursor, likely: Address | null): Info {
  if (!cursor.bit()) return readInternal(cursor, likely);
  return cursor.bit() ? readExternalOut(cursor, likely) : readExternalIn(cursor, likely);
}

function readInternal(cursor: Cursor, likely: Address | null): Info {
  const flags = cursor.u(3);
  const source = readInternalAddress(cursor, likely);
  const destinationAt = cursor.at;
  const destination = readInternalAddress(cursor, likely);
  const destinationEnd = cursor.at;
  return {
    kind: 'internal',
    source,
    destination,
    externalBits: null,
    value: cursor.grams(),
    extraCurrencies: readExtra(cursor),
    ihrDisabled: (flags & 4) !== 0,
    bounce: (flags & 2) !== 0,
    bounced: (flags & 1) !== 0,
    ihrFeeOrFlags: cursor.grams(),
    fwdFee: cursor.grams(),
    createdLt: cursor.dec(64),
    createdAt: cursor.u(32),
    importFee: null,
    destinationAt,
    destinationEnd,
  };
}

function readExternalIn(cursor: Cursor, likely: Address | null): Info {
  const externalBits = skipExternalAddress(cursor);
  const destinationAt = cursor.at;
  const destination = readInternalAddress(cursor, likely);
  const destinationEnd = cursor.at;
  const importFee = cursor.grams();
  return {
    ...external('external_in', externalBits, destinationAt, destinationEnd),
    destination,
    importFee,
  };
}

function readExternalOut(cursor: Cursor, likely: Address | null): Info {
  const source = readInternalAddress(cursor, likely);
  const destinationAt = cursor.at;
  const externalBits = skipExternalAddress(cursor);
  const info = external('external_out', externalBits, destinationAt, cursor.at);
  info.source = source;
  info.createdLt = cursor.dec(64);
  info.createdAt = cursor.u(32);
  return info;
}

function external(kind: MessageKind, externalBits: number | null, destinationAt: number, destinationEnd: number): Info {
  return {
    kind,
    source: null,
    destination: null,
    externalBits,
    value: null,
    extraCurrencies: null,
    ihrDisabled: null,
    bounce: null,
    bounced: null,
    ihrFeeOrFlags: null,
    fwdFee: null,
    createdLt: null,
    createdAt: null,
    importFee: null,
    destinationAt,
    destinationEnd,
  };
}

/**
 * `MsgAddressInt`, or `addr_none` where a contract left it out. Anycast prefixes are read over, the account id is
 * kept as written. A variable-length address that is not 256 bits long has no 36-byte form: null.
 */
export function readInternalAddress(cursor: Cursor, likely: Address | null = null): Address | null {
  const tag = cursor.u(2);
  if (tag === 0) return null;
  if (tag === 1) throw new DecodeError('external address where an internal one belongs');
  if (cursor.bit()) {
    const depth = cursor.u(5);
    if (depth < 1 || depth > 30) throw new DecodeError(`anycast depth ${depth}`);
    cursor.skip(depth);
  }
  if (tag === 2) return cursor.address(cursor.i(8), likely);
  const bits = cursor.u(9);
  const workchain = cursor.i(32);
  if (bits === 256) return cursor.address(workchain, likely);
  cursor.skip(bits);
  return null;
}

/** `MsgAddressExt`: the number of its bits, null for `addr_none`. */
function skipExternalAddress(cursor: Cursor): number | null {
  const tag = cursor.u(2);
  if (tag === 0) return null;
  if (tag !== 1) throw new DecodeError('internal address where an external one belongs');
  const bits = cursor.u(9);
  cursor.skip(bits);
  return bits;
}

/** A class, not a factory: no closures are made for each message on the hot path. */
class DecodedMessage implements Message {
  readonly cell: number;
  readonly kind: MessageKind;
  readonly source: Address | null;
  readonly destination: Address | null;
  readonly externalBits: number | null;
  readonly value: Decimal | null;
  readonly extraCurrencies: ExtraCurrencies | null;
  readonly ihrDisabled: boolean | null;
  readonly bounce: boolean | null;
  readonly bounced: boolean | null;
  readonly fwdFee: Decimal | null;
  readonly ihrFeeOrFlags: Decimal | null;
  readonly createdLt: Decimal | null;
  readonly createdAt: number | null;
  readonly importFee: Decimal | null;
  readonly opcode: number | null;
  readonly init: { hash: Hash; boc(): Buffer } | null;
  readonly #boc: Boc;
  readonly #body: Part;
  #hash: Hash | null = null;
  #bodyHash: Hash | null = null;
  #bodyBoc: Buffer | null = null;
  readonly #destinationAt: number;
  readonly #destinationEnd: number;

  constructor(boc: Boc, cell: number, info: Info, init: Part | null, body: Part) {
    this.cell = cell;
    this.kind = info.kind;
    this.source = info.source;
    this.destination = info.destination;
    this.externalBits = info.externalBits;
    this.value = info.value;
    this.extraCurrencies = info.extraCurrencies;
    this.ihrDisabled = info.ihrDisabled;
    this.bounce = info.bounce;
    this.bounced = info.bounced;
    this.fwdFee = info.fwdFee;
    this.ihrFeeOrFlags = info.ihrFeeOrFlags;
    this.createdLt = info.createdLt;
    this.createdAt = info.createdAt;
    this.importFee = info.importFee;
    this.opcode = firstWord(boc, body);
    this.init = init === null ? null : new InitState(boc, init);
    this.#boc = boc;
    this.#body = body;
    this.#destinationAt = info.destinationAt;
    this.#destinationEnd = info.destinationEnd;
  }

  get hash(): Hash {
    this.#hash ??= cellHash(this.#boc, this.cell);
    return this.#hash;
  }

  get bodyHash(): Hash {
    this.#bodyHash ??= partHash(this.#boc, this.#body);
    return this.#bodyHash;
  }

  /** Kept once made: in a block most messages are shown twice, where they are sent and where they arrive. */
  bodyBoc(): Buffer {
    this.#bodyBoc ??= partBoc(this.#boc, this.#body);
    return this.#bodyBoc;
  }

  bodyCursor(): Cursor {
    const { cell, at, end, ref, refEnd } = this.#body;
    if (cell >= 0) return new Cursor(this.#boc, cell);
    const cursor = new Cursor(this.#boc, this.cell);
    cursor.at = at;
    cursor.end = end;
    cursor.ref = ref;
    cursor.refEnd = refEnd;
    return cursor;
  }

  hashNorm(): Hash | null {
    if (this.kind !== 'external_in') return null;
    return normalisedHash(this.#boc, this.#destinationAt, this.#destinationEnd, this.#body, this.bodyHash);
  }
}

/**
 * At the first bit of the body where it stands; null for a message that was not read from a bag. Throws DecodeError for
 * an exotic cell.
 */
export function bodyCursor(message: Message): Cursor | null {
  return message instanceof DecodedMessage ? message.bodyCursor() : null;
}

class InitState {
  readonly hash: Hash;
  readonly #boc: Boc;
  readonly #part: Part;
  #bytes: Buffer | null = null;

  constructor(boc: Boc, part: Part) {
    this.hash = partHash(boc, part);
    this.#boc = boc;
    this.#part = part;
  }

  boc(): Buffer {
    this.#bytes ??= partBoc(this.#boc, this.#part);
    return this.#bytes;
  }
}

/** First 32 bits; a library cell or another exotic body has none to speak of. */
function firstWord(boc: Boc, body: Part): number | null {
  const at = body.cell < 0 ? body.at : boc.pos[body.cell] * 8;
  const bits = body.cell < 0 ? body.end - at : boc.bits[body.cell];
  if (bits < 32) return null;
  const { bytes } = boc;
  const i = at >>> 3;
  const shift = at & 7;
  const word = ((bytes[i] << 24) | (bytes[i + 1] << 16) | (bytes[i + 2] << 8) | bytes[i + 3]) << shift;
  return (shift === 0 ? word : word | (bytes[i + 4] >> (8 - shift))) >>> 0;
}

function loosen(boc: Boc, part: Part): LooseCell {
  const bits = part.end - part.at;
  const refs: number[] = [];
  for (let i = part.ref; i < part.refEnd; i++) refs.push(boc.refs[i]);
  return { data: packBits(boc.bytes, part.at, bits), bits, refs };
}

function partHash(boc: Boc, part: Part): Hash {
  if (part.cell >= 0) return cellHash(boc, part.cell);
  if (part.at === part.end && part.ref === part.refEnd) return EMPTY_CELL_HASH;
  return looseHash(boc, loosen(boc, part));
}

function partBoc(boc: Boc, part: Part): Buffer {
  return part.cell >= 0 ? serialize(boc, part.cell) : serializeLoose(boc, loosen(boc, part));
}

/** TEP 467: `ext_in_msg_info$10`, no source, the destination as it is, no fee, no init, the body by reference. */
function normalisedHash(boc: Boc, at: number, end: number, body: Part, bodyHash: Hash): Hash {
  const length = end - at;
  const target = new Cursor(boc, boc.roots[0]);
  target.at = at;
  target.end = end;
  const bits = 4 + length + 6;
  const data = Buffer.alloc((bits + 7) >> 3);
  let done = 0;
  const put = (value: number, n: number): void => {
    for (let i = n - 1; i >= 0; i--, done++) if ((value >> i) & 1) data[done >> 3] |= 0x80 >> (done & 7);
  };
  put(0b1000, 4);
  while (target.at < end) put(target.u(Math.min(8, end - target.at)), Math.min(8, bits - 6 - done));
  put(0b000001, 6);
  if (bits & 7) data[bits >> 3] |= 0x80 >> (bits & 7);
  const depth = body.cell >= 0 ? boc.depths[boc.slot[body.cell]] : looseDepth(boc, loosen(boc, body));
  return ordinaryHash(data, bits, [{ depth, hash: bodyHash }]);
}
