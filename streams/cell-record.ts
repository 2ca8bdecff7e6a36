import { parseAddress, rawAddress } from '../src/chain/address.ts';
import { openBoc } from '../src/chain/boc.ts';
import { DecodeError } from '../src/chain/errors.ts';
import { cellHash } from '../src/chain/hash.ts';
import type { Address, Decimal, Hash } from '../src/chain/model.ts';
import { EnvelopeError } from './envelope.ts';
import type { LogRecord, StoredRecord } from './log.ts';

/**
 * `library`: the code behind a library cell, under the hash that the cell names. `account`: an `Account` cell as a
 * whole, of an account that the log may not have shown at all, or not its extra currencies.
 */
export type CellKind = 'code' | 'data' | 'library' | 'account';

const KINDS: readonly string[] = ['code', 'data', 'library', 'account'] satisfies CellKind[];
const VERSION = '1';
const HASH = /^[0-9a-f]{64}$/;

/**
 * A tree of cells that no block of the log showed when it was asked of a node.
 *
 * `after` makes its effect a function of the log alone: it counts from the step on whose first block has that offset
 * or a later one. The ingester appends it before it appends the block of that offset, so whoever reads a block at an
 * offset finds every cell record with `after` up to there in the topic already.
 */
export interface CellRecord {
  kind: CellKind;
  /** Representation hash of the root. */
  hash: Hash;
  /** The account whose state showed it; null for a library. */
  account: Address | null;
  /** Lt of the account's last transaction in that state; null for a library. */
  lt: Decimal | null;
  /** Hash of that transaction; of an `account` alone. */
  transaction: Hash | null;
  /** The step whose state was asked for. */
  mcSeqno: number;
  /** Offset in the topic of blocks. */
  after: number;
  globalId: number;
  /** Unix milliseconds. */
  receivedAtMs: number;
  /** In the form of canonicalBoc. */
  boc: Buffer;
}

export interface StoredCell extends CellRecord {
  offset: number;
}

/** The log record of a cell: key the hash in hex. */
export function encodeCellRecord(cell: CellRecord): LogRecord {
  const headers: Record<string, string> = {
    v: VERSION,
    kind: cell.kind,
    mc: String(cell.mcSeqno),
    after: String(cell.after),
    net: String(cell.globalId),
    rx: String(cell.receivedAtMs),
  };
  if (cell.account !== null) headers.account = rawAddress(cell.account);
  if (cell.lt !== null) headers.lt = cell.lt;
  if (cell.transaction !== null) headers.tx = cell.transaction.toString('hex');
  return { key: cell.hash.toString('hex'), headers, value: cell.boc };
}

/**
 * What a cell record says of itself, without a look at its value.
 * @throws {EnvelopeError}
 */
export function decodeCellEnvelope(record: StoredRecord, topic: string): Omit<StoredCell, 'boc'> {
  const { headers, key, offset } = record;
  const fail = (field: string, message: string): never => {
    throw new EnvelopeError(topic, offset, field, message);
  };
  const integer = (name: string): number => {
    const text = headers[name] ?? fail(name, 'missing');
    return /^-?\d{1,15}$/.test(text) ? Number(text) : fail(name, `${text} is not an integer`);
  };
  const { v, kind, lt = null, tx } = headers;
  if (v !== VERSION) fail('v', `version ${v ?? '(none)'} is not ${VERSION}`);
  if (!HASH.test(key)) fail('key', `${key} is not 64 lower-case hex digits`);
  if (lt !== null && !/^\d{1,20}$/.test(lt)) fail('lt', `${lt} is not a logical time`);
  if (tx !== undefined && !HASH.test(tx)) fail('tx', `${tx} is not a hash in hex`);
  const account = headers.account === undefined ? null : parseAddress(headers.account);
  if (headers.account !== undefined && account === null) fail('account', `${headers.account} is not an address`);
  if (kind === 'account' && (account === null || lt === null || tx === undefined)) {
    fail('kind', 'an account without its address or its last transaction');
  }
  return {
    kind: isKind(kind) ? kind : fail('kind', `${kind ?? '(none)'} is none of ${KINDS.join(', ')}`),
    hash: Buffer.from(key, 'hex'),
    account,
    lt,
    transaction: tx === undefined ? null : Buffer.from(tx, 'hex'),
    mcSeqno: integer('mc'),
    after: integer('after'),
    globalId: integer('net'),
    receivedAtMs: integer('rx'),
    offset,
  };
}

/**
 * The cell of a record, its bytes checked against the hash.
 * @throws {EnvelopeError}
 */
export function decodeCellRecord(record: StoredRecord, topic: string): StoredCell {
  const envelope = decodeCellEnvelope(record, topic);
  let hash: Hash;
  try {
    const boc = openBoc(record.value);
    hash = cellHash(boc, boc.roots[0]);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new EnvelopeError(topic, record.offset, 'value', error.message);
  }
  if (!hash.equals(envelope.hash)) throw new EnvelopeError(topic, record.offset, 'value', 'does not have the hash');
  return { ...envelope, boc: record.value };
}

function isKind(text: string | undefined): text is CellKind {
  return text !== undefined && KINDS.includes(text);
}
