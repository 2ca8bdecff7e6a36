/** Makes other blocks out of a recorded one, by changing fields of fixed width where they stand in its cells. */
import { type AccountBlock, accountBlocks, blockTransactions, openAccounts } from '../src/chain/accounts.ts';
import { type Block, decodeBlock } from '../src/chain/block.ts';
import { type Boc, openBoc } from '../src/chain/boc.ts';
import { crc32c } from '../src/chain/crc.ts';
import { readExtra, skipCurrencies } from '../src/chain/currency.ts';
import { Cursor } from '../src/chain/cursor.ts';
import { cellHash, sha256Of } from '../src/chain/hash.ts';
import { walkAllowance, walkHashmap, walkInline } from '../src/chain/hashmap.ts';
import { readInternalAddress } from '../src/chain/message.ts';
import type { Address, Hash, Transaction } from '../src/chain/model.ts';
import { encodeBlockRecord } from '../streams/envelope.ts';
import type { LogRecord } from '../streams/log.ts';

/** How a copy differs from its template. */
export interface Change {
  seqno: number;
  mcSeqno: number;
  /** XORed into the last four bytes of account ids outside the masterchain, and of account state hashes. */
  mask: number;
  /** Added to logical times and to Unix times. */
  ltShift: number;
  timeShift: number;
  globalId: number;
  /** Records of the step, on its last one. */
  seal: number | null;
}

export interface Template {
  workchain: number;
  shard: string;
  startLt: number;
  endLt: number;
  genUtime: number;
  transactions: number;
  /** Record of the log that holds the changed copy. */
  copy(change: Change): LogRecord;
}

/** Bit positions, each once although cells are shared. */
interface Places {
  masked: Set<number>;
  lts: Set<number>;
  times: Set<number>;
  /** Sequence numbers: of the block, of the block before it, of its masterchain block. */
  seqno: number;
  previous: number | null;
  master: number | null;
  globalId: number;
}

/** `account_none$0` has no other hash. */
const NO_ACCOUNT_TAIL = 0xcac98da4;
/** First four bytes of addresses in the masterchain. */
const MASTERCHAIN_PREFIX = 0x7fff_ffff;

/** Finds what has to change in a recorded block. Throws DecodeError. */
export function blockTemplate(original: Buffer): Template {
  const block = decodeBlock(openBoc(original));
  const { header } = block;
  const places = findPlaces(block);
  const lts = [...places.lts].map((at) => ({ at, lt: readLt(original, at) }));
  const times = [...places.times].map((at) => ({ at, time: read32(original, at) }));
  const masked = [...places.masked].map((at) => ({ at, tail: read32(original, at) }));
  const { workchain, shard, genUtime } = header;
  const globalVersion = header.genSoftware?.version ?? null;

  return {
    workchain,
    shard,
    startLt: Number(header.startLt),
    endLt: Number(header.endLt),
    genUtime,
    transactions: [...blockTransactions(block)].length,
    copy(change) {
      const bytes = Buffer.from(original);
      for (const { at, tail } of masked) write32(bytes, at, tail ^ change.mask);
      for (const { at, lt } of lts) writeLt(bytes, at, lt + change.ltShift);
      for (const { at, time } of times) write32(bytes, at, time + change.timeShift);
      write32(bytes, places.seqno, change.seqno);
      if (places.previous !== null) write32(bytes, places.previous, change.seqno - 1);
      if (places.master !== null) write32(bytes, places.master, change.mcSeqno - 1);
      write32(bytes, places.globalId, change.globalId);
      const rootHash = seal(bytes);
      return encodeBlockRecord({
        id: { workchain, shard, seqno: change.seqno, rootHash, fileHash: sha256Of(bytes) },
        globalId: change.globalId,
        mcSeqno: change.mcSeqno,
        seal: change.seal,
        genUtime: genUtime + change.timeShift,
        receivedAtMs: 0,
        source: 'devnet',
        globalVersion,
        boc: bytes,
      });
    },
  };
}

/** Makes the checksum right again and returns the root hash. */
function seal(bytes: Buffer): Hash {
  const hasCrc = bytes.readUInt32BE(0) === 0xb5ee9c72 && (bytes[4] & 0x40) !== 0;
  if (hasCrc) bytes.writeUInt32LE(crc32c(bytes, 0, bytes.length - 4), bytes.length - 4);
  const boc = openBoc(bytes);
  return cellHash(boc, boc.roots[0]);
}

function findPlaces(block: Block): Places {
  const places = headerPlaces(block);
  const touched = accountBlocks(block);
  if (touched.length === 0) return places;
  const { boc } = block;
  noteAccountBlocks(block, places);
  const find = openAccounts(boc, boc.refs[boc.refStart[block.stateUpdate] + 1]);
  for (const account of touched) noteAccount(account, find(account.account), places);
  for (const transaction of blockTransactions(block)) {
    noteTransaction(boc, transaction, places);
    if (transaction.inMsg) noteMessage(boc, transaction.inMsg.cell, places);
    for (const message of transaction.outMsgs) noteMessage(boc, message.cell, places);
  }
  return places;
}

/** Offsets in `block_info#9bc7a987` up to `end_lt`; the references to other blocks begin with 64 bits of lt. */
function headerPlaces({ boc, header }: Block): Places {
  const root = boc.roots[0];
  const info = boc.refs[boc.refStart[root]];
  const at = boc.pos[info] * 8;
  const reference = (n: number) => boc.pos[boc.refs[boc.refStart[info] + n]] * 8;
  const masterRef = header.notMaster ? reference(0) : null;
  const previous = header.afterMerge ? null : reference(header.notMaster ? 1 : 0);
  return {
    masked: new Set(),
    lts: new Set([at + 280, at + 344]),
    times: new Set([at + 248]),
    seqno: at + 80,
    previous: previous === null ? null : previous + 64,
    master: masterRef === null ? null : masterRef + 64,
    globalId: boc.pos[root] * 8 + 32,
  };
}

/** Keys of the account blocks, the account ids in them, their state hashes. */
function noteAccountBlocks({ boc, header, accountBlocks: root }: Block, places: Places): void {
  const limit = walkAllowance(boc);
  const leaf = (value: Cursor): void => {
    const labelEnd = value.at;
    skipCurrencies(value);
    value.skip(4);
    const account = value.address(header.workchain);
    noteId(boc, labelEnd, account, places);
    noteId(boc, value.at, account, places);
    const skip = (transaction: Cursor): void => {
      skipCurrencies(transaction);
      transaction.nextRef();
    };
    if (walkInline(value, { keyBits: 64, leaf: skip }, limit)) skipCurrencies(value);
    noteHashUpdate(boc, value.nextRef(), places);
  };
  if (root !== null) walkHashmap(boc, root, { keyBits: 256, leaf }, limit);
}

/**
 * Accounts keep their id in the masterchain, and where it ends in equal bits: a dictionary label may say those in
 * short, with no place to change them.
 */
function keepsId(account: Address): boolean {
  const tail = account.readUInt32BE(32);
  return account.readUInt32BE(0) === MASTERCHAIN_PREFIX || tail === 0 || tail === 0xffff_ffff;
}

/** Notes the last four bytes of an account id, of which bit `end` is the first behind. */
function noteId(boc: Boc, end: number, account: Address, places: Places): void {
  if (keepsId(account)) return;
  if (read32(boc.bytes, end - 32) !== account.readUInt32BE(32))
    throw new Error('an account id is not where it should be');
  places.masked.add(end - 32);
}

/** Key and last transaction in the new state. */
function noteAccount(account: AccountBlock, leaf: Cursor | null, places: Places): void {
  if (leaf === null) return;
  noteId(leaf.boc, leaf.at, account.account, places);
  leaf.skip(5);
  skipCurrencies(leaf);
  leaf.skip(256);
  places.lts.add(leaf.at);
}

/** `transaction$0111`: account id, lt, previous hash and lt, time. */
function noteTransaction(boc: Boc, { cell, account }: Transaction, places: Places): void {
  const at = boc.pos[cell] * 8 + 4;
  noteId(boc, at + 256, account, places);
  places.lts.add(at + 256);
  if (readLt(boc.bytes, at + 576) > 0) places.lts.add(at + 576);
  places.times.add(at + 640);
  const cursor = new Cursor(boc, cell);
  // Up to the count of messages and the two statuses; the messages are behind the first reference.
  cursor.skip(4 + 672 + 15 + 4);
  cursor.nextRef();
  skipCurrencies(cursor);
  noteHashUpdate(boc, cursor.nextRef(), places);
}

/** `update_hashes#72`: state before and after. The hash of no account stays what it is. */
function noteHashUpdate(boc: Boc, cell: number, places: Places): void {
  const at = boc.pos[cell] * 8 + 8;
  for (const tail of [at + 224, at + 480]) {
    if (read32(boc.bytes, tail) !== NO_ACCOUNT_TAIL) places.masked.add(tail);
  }
}

function noteMessage(boc: Boc, cell: number, places: Places): void {
  const cursor = new Cursor(boc, cell);
  const address = (): void => {
    const found = readInternalAddress(cursor);
    if (found !== null) noteId(boc, cursor.at, found, places);
  };
  const external = (): void => cursor.skip(cursor.u(2) === 0 ? 0 : cursor.u(9));
  if (!cursor.bit()) {
    cursor.skip(3);
    address();
    address();
    cursor.grams();
    readExtra(cursor);
    cursor.grams();
    cursor.grams();
  } else if (cursor.bit()) {
    address();
    external();
  } else {
    external();
    address();
    return;
  }
  places.lts.add(cursor.at);
  places.times.add(cursor.at + 64);
}

/** 32 bits from any bit on. */
function read32(bytes: Buffer, at: number): number {
  const from = at >>> 3;
  const shift = at & 7;
  const word = bytes.readUInt32BE(from);
  return (shift === 0 ? word : (word << shift) | (bytes[from + 4] >> (8 - shift))) >>> 0;
}

function write32(bytes: Buffer, at: number, value: number): void {
  const from = at >>> 3;
  const shift = at & 7;
  if (shift === 0) {
    bytes.writeUInt32BE(value >>> 0, from);
    return;
  }
  const kept = (bytes[from] >> (8 - shift)) << (32 - shift);
  bytes.writeUInt32BE((kept | (value >>> shift)) >>> 0, from);
  bytes[from + 4] = ((value << (8 - shift)) & 0xff) | (bytes[from + 4] & (0xff >> shift));
}

function readLt(bytes: Buffer, at: number): number {
  return read32(bytes, at) * 0x1_0000_0000 + read32(bytes, at + 32);
}

function writeLt(bytes: Buffer, at: number, lt: number): void {
  write32(bytes, at, Math.floor(lt / 0x1_0000_0000));
  write32(bytes, at + 32, lt % 0x1_0000_0000);
}
