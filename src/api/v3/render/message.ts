import { DecodeError } from '../../../chain/errors.ts';
import { CellView } from '../../../chain/layouts/cell-view.ts';
import { commentOf } from '../../../chain/layouts/common.ts';
import { decodeBody } from '../../../chain/layouts/decode.ts';
import { opcodeName } from '../../../chain/layouts/registry.ts';
import { bodyCursor } from '../../../chain/message.ts';
import type { Hash, Message } from '../../../chain/model.ts';
import type { MessageRecord } from '../../../chain/records.ts';
import type { Book } from './book.ts';
import { extraJson, hashJson, textOrNull } from './values.ts';

/** From this global version on the slot of `ihr_fee` holds `extra_flags`. */
const EXTRA_FLAGS_VERSION = 12;
const LONGEST_IMPORT_FEE = '9223372036854775807';
const NOTHING_INTERNAL = ',"value":null,"value_extra_currencies":null,"fwd_fee":null,"ihr_fee":null,"extra_flags":null';

/**
 * JSON text of a message (schema `Message`) inside a transaction, in two: between them a row of `/messages` names the
 * transactions at both ends.
 * @param isStored a transaction that is not says the normalised hash of its message whatever that is
 */
export function messageHalves(message: Message, globalVersion: number, book: Book, isStored = true): [string, string] {
  return [firstHalf(message, globalVersion, book), secondHalf(message, isStored)];
}

/** JSON text of a row of `/messages`. */
export function messageRowJson(record: MessageRecord, book: Book): string {
  const [before, behind] = messageHalves(record.message, record.globalVersion, book);
  return before + endsJson(record) + behind;
}

/** What only a row of `/messages` says. */
export function endsJson({ inTxHash, outTxHash }: Pick<MessageRecord, 'inTxHash' | 'outTxHash'>): string {
  return transactionEnd('in', inTxHash) + transactionEnd('out', outTxHash);
}

function transactionEnd(side: 'in' | 'out', hash: Hash | null): string {
  return hash === null ? '' : `,"${side}_msg_tx_hash":${hashJson(hash)}`;
}

function firstHalf(message: Message, globalVersion: number, book: Book): string {
  const { source, destination, opcode, createdAt } = message;
  return (
    `{"hash":${hashJson(message.hash)},"source":${source === null ? 'null' : `"${book.text(source)}"`}` +
    `,"destination":${destination === null ? 'null' : `"${book.text(destination)}"`}` +
    values(message, globalVersion) +
    `,"created_lt":${textOrNull(message.createdLt)},"created_at":${createdAt === null ? 'null' : `"${createdAt}"`}` +
    `,"opcode":${opcode === null ? 'null' : `"0x${opcode.toString(16).padStart(8, '0')}"`}` +
    `,"decoded_opcode":${textOrNull(opcode === null ? null : opcodeName(opcode))}` +
    `,"ihr_disabled":${message.ihrDisabled},"bounce":${message.bounce},"bounced":${message.bounced}` +
    `,"import_fee":${importFee(message)}`
  );
}

function secondHalf(message: Message, isStored: boolean): string {
  const content = contentJson(message);
  return `,"message_content":${content},"init_state":${initState(message)}${normalizedHash(message, isStored)}}`;
}

/** The cell without bits and references, the body of most plain transfers, is written down rather than serialised. */
const EMPTY_CELL_HASH = Buffer.from('lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=', 'base64');
const EMPTY_CONTENT = `{"hash":${hashJson(EMPTY_CELL_HASH)},"body":"te6cckEBAQEAAgAAAEysuc0=","decoded":{"@type":"empty_cell"}}`;

function contentJson(message: Message): string {
  if (message.opcode === null && message.bodyHash.equals(EMPTY_CELL_HASH)) return EMPTY_CONTENT;
  const boc = message.bodyBoc();
  return `{"hash":${hashJson(message.bodyHash)},"body":"${boc.toString('base64')}","decoded":${decoded(message, boc)}}`;
}

function decoded(message: Message, boc: Buffer): string {
  return decodedJson(bodyInPlace(message) ?? CellView.parse(boc), boc.length);
}

/**
 * JSON text of what the body of a message or a payload says, as listings print it: a plain comment has the form that it
 * had before other bodies were decoded.
 * @param bytes of the body as a bag of its own
 */
export function decodedJson(body: CellView, bytes: number): string {
  if (body.opcode === 0) {
    const comment = commentOf(body);
    return comment === null ? 'null' : commentJson(comment);
  }
  const result = decodeBody(body, bytes);
  return 'json' in result ? result.json : 'null';
}

/**
 * The body where it stands in the bag of its transaction, which need not be opened again. Null beside references of
 * something else, whose depth is not the body's, and for exotic cells, which have no cursor.
 */
function bodyInPlace(message: Message): CellView | null {
  try {
    const cursor = bodyCursor(message);
    return cursor !== null && cursor.ref === cursor.boc.refStart[cursor.cell] ? CellView.rest(cursor) : null;
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

function values(message: Message, globalVersion: number): string {
  if (message.kind !== 'internal') return NOTHING_INTERNAL;
  const flags = globalVersion >= EXTRA_FLAGS_VERSION;
  const slot = textOrNull(message.ihrFeeOrFlags);
  return (
    `,"value":${textOrNull(message.value)},"value_extra_currencies":${extraJson(message.extraCurrencies ?? {})}` +
    `,"fwd_fee":${textOrNull(message.fwdFee)},"ihr_fee":${flags ? '"0"' : slot},"extra_flags":${flags ? slot : 'null'}`
  );
}

/** Null when larger than a signed 64-bit number, as the service stores it in one. */
function importFee({ importFee: fee }: Message): string {
  if (fee === null || fee.length > LONGEST_IMPORT_FEE.length) return 'null';
  return fee.length === LONGEST_IMPORT_FEE.length && fee > LONGEST_IMPORT_FEE ? 'null' : `"${fee}"`;
}

function initState({ init }: Message): string {
  return init === null
    ? 'null'
    : `{"hash":${hashJson(init.hash)},"body":"${init.boc().toString('base64')}","decoded":null}`;
}

/** Of what is stored it is printed only where it differs from the hash (spec v3 semantics 2.2). */
function normalizedHash(message: Message, isStored: boolean): string {
  if (message.kind !== 'external_in') return '';
  const norm = message.hashNorm();
  return norm === null || (isStored && norm.equals(message.hash)) ? '' : `,"hash_norm":${hashJson(norm)}`;
}

const HASH_AT = '{"hash":"'.length;
const HASH_CHARS = 44;
const SOURCE_AT = HASH_AT + HASH_CHARS + '","source":'.length;
const BETWEEN_ADDRESSES = ',"destination":'.length;
const NORM = ',"hash_norm":"';
const QUOTE = 0x22;

/** The hash of the message whose JSON text begins here. */
export const formedHash = (json: Buffer, at = 0): string =>
  json.toString('latin1', at + HASH_AT, at + HASH_AT + HASH_CHARS);

/**
 * Reads of the JSON text of a message who sent it to whom (raw text, null for who is not in the chain), and its hashes.
 * @param received it is the in-message of its transaction: without a source it is from outside
 */
export function formedMessage(json: Buffer, received: boolean) {
  const hash = formedHash(json);
  const [source, sourceEnd] = addressIn(json, SOURCE_AT);
  const [destination] = addressIn(json, sourceEnd + BETWEEN_ADDRESSES);
  const norm = received && source === null ? (normIn(json) ?? hash) : null;
  return { hash, hashNorm: norm, source, destination };
}

/** The address, and where its text ends. */
function addressIn(json: Buffer, at: number): [string | null, number] {
  if (json[at] !== QUOTE) return [null, at + 'null'.length];
  const end = json.indexOf(QUOTE, at + 1);
  return [json.toString('latin1', at + 1, end), end + 1];
}

/** It comes last. */
function normIn(json: Buffer): string | null {
  const end = json.length - '"}'.length;
  const at = end - HASH_CHARS;
  const isThere = json.toString('latin1', at - NORM.length, at) === NORM;
  return isThere ? json.toString('latin1', at, end) : null;
}

function commentJson(comment: string): string {
  return `{"@type":"text_comment","comment":${JSON.stringify(comment)},"type":"text_comment"}`;
}
