/**
 * Transactions as the bytes they are shown by: made once where they are kept (the window), or when they are shown.
 *
 * A form is the counts of addresses and messages (16 bits each, little-endian), the addresses that the transaction
 * prints (36 bytes each), the places of its messages in the JSON (three numbers of 32 bits each, zeros for an in-message
 * that is not there), then the JSON.
 */
import { createHash } from 'node:crypto';
import { parseAddress } from '../../../chain/address.ts';
import type { Address, Hash } from '../../../chain/model.ts';
import type { TransactionRecord } from '../../../chain/records.ts';
import type { ShownMessage, TransactionForm } from '../../../window/form.ts';
import { actionForm } from './action.ts';
import { ADDRESS_BYTES, createBook } from './book.ts';
import { formedHash, formedMessage } from './message.ts';
import { skeletons } from './skeletons.ts';
import { type MessagePlace, transactionText } from './transaction.ts';

const HEAD_BYTES = 4;
const PLACE_BYTES = 12;

/** The form of a record. It has memory of its own. */
export function formOf(record: TransactionRecord): Buffer {
  const book = createBook(false);
  const { text, messages } = transactionText(record, book);
  const addresses = book.addresses();
  const start = HEAD_BYTES + ADDRESS_BYTES * addresses.length + PLACE_BYTES * messages.length;
  const json = encode(text);
  const form = Buffer.allocUnsafeSlow(start + json.length);
  form.writeUInt16LE(addresses.length, 0);
  form.writeUInt16LE(messages.length, 2);
  let at = HEAD_BYTES;
  for (const address of addresses) at += address.copy(form, at);
  const bytesBefore = json.length === text.length ? (chars: number) => chars : bytesCounter(text);
  for (const { start, middle, end } of messages) {
    for (const place of [start, middle, end]) at = form.writeUInt32LE(bytesBefore(place), at);
  }
  json.copy(form, at);
  return form;
}

const MOST_BYTES_A_CHARACTER = 3;
let encoded = Buffer.allocUnsafeSlow(64 * 1024);

/** Valid until the next call. To count the bytes of a text before it is written takes as long as to write it. */
function encode(text: string): Buffer {
  const most = MOST_BYTES_A_CHARACTER * text.length;
  if (encoded.length < most) {
    if (text.length > LARGE_CHARACTERS) return Buffer.from(text);
    encoded = Buffer.allocUnsafeSlow(most);
  }
  return encoded.subarray(0, encoded.write(text));
}

/** Larger ones are rare: what holds them is not kept. */
const LARGE_CHARACTERS = 1024 * 1024;

/** Bytes before a character of the text. To be asked in ascending order. */
function bytesCounter(text: string): (chars: number) => number {
  let chars = 0;
  let bytes = 0;
  return (place) => {
    bytes += Buffer.byteLength(text.slice(chars, place));
    chars = place;
    return bytes;
  };
}

/** One behind the other. */
export function formAddresses(form: Buffer): Buffer {
  return form.subarray(HEAD_BYTES, HEAD_BYTES + ADDRESS_BYTES * form.readUInt16LE(0));
}

function jsonStart(form: Buffer): number {
  return HEAD_BYTES + ADDRESS_BYTES * form.readUInt16LE(0) + PLACE_BYTES * form.readUInt16LE(2);
}

export function formJson(form: Buffer): Buffer {
  return form.subarray(jsonStart(form));
}

/** A message's JSON in two, before and behind what only a row of `/messages` says. Index 0 is the in-message. */
export function formMessage(form: Buffer, index: number): [Buffer, Buffer] {
  const { start, middle, end } = placeOf(form, index);
  return [form.subarray(start, middle), form.subarray(middle, end)];
}

function placeOf(form: Buffer, index: number): MessagePlace {
  const count = form.readUInt16LE(2);
  if (index >= count) throw new Error(`a form of ${count} messages has no message ${index}`);
  const json = jsonStart(form);
  const at = json - PLACE_BYTES * (count - index);
  return {
    start: json + form.readUInt32LE(at),
    middle: json + form.readUInt32LE(at + 4),
    end: json + form.readUInt32LE(at + 8),
  };
}

/** What is told of a message by its form alone. */
export interface FormedMessage {
  /** 0 for the in-message. */
  index: number;
  /** Base64. */
  hash: string;
  /** Base64; null of one that is not from outside. */
  hashNorm: string | null;
  /** Raw text; null for one who is not in the chain. */
  source: string | null;
  destination: string | null;
}

/** Of all messages of a transaction, in order; an in-message that is not there is left out. */
export function formMessages(form: Buffer): FormedMessage[] {
  const count = form.readUInt16LE(2);
  const messages: FormedMessage[] = [];
  for (let index = 0; index < count; index++) {
    const { start, end } = placeOf(form, index);
    if (end > start) messages.push({ index, ...formedMessage(form.subarray(start, end), index === 0) });
  }
  return messages;
}

function messageIn(form: Buffer, hash: Hash): ShownMessage | null {
  const wanted = hash.toString('base64');
  const count = form.readUInt16LE(2);
  for (let index = 0; index < count; index++) {
    const { start, end } = placeOf(form, index);
    if (end <= start || formedHash(form, start) !== wanted) continue;
    const { source, destination } = formedMessage(form.subarray(start, end), index === 0);
    return { index, source: formedAddress(source), destination: formedAddress(destination) };
  }
  return null;
}

/** The address that a form names by its text. */
export const formedAddress = (text: string | null): Address | null => (text === null ? null : parseAddress(text));

/** The same of the in-message alone; null when it is not there. */
export function formReceived(form: Buffer): FormedMessage | null {
  const { start, end } = placeOf(form, 0);
  return end > start ? { index: 0, ...formedMessage(form.subarray(start, end), true) } : null;
}

/** What the account's state is after the transaction, as the transaction prints it. */
export function formStateAfter(form: Buffer): Buffer {
  const start = form.lastIndexOf(STATE_AFTER) + STATE_AFTER.length;
  return form.subarray(start, form.lastIndexOf(BEHIND_STATE));
}

const STATE_AFTER = '"account_state_after":';
const BEHIND_STATE = ',"emulated":';

/** Raised with every change of what a form says; forms.test.ts knows. */
const VERSION = 5;

/** lmdb leaves out what is behind the last whole eight bytes. */
const WORD = 8;

function dictionaryOf(records: readonly TransactionRecord[]): Buffer {
  const text = Buffer.from(records.map((record) => transactionText(record, createBook(false)).text).join(''));
  return text.subarray(text.length % WORD);
}

function makeTransactionForm(): TransactionForm {
  const dictionary = dictionaryOf(skeletons());
  const version = `${VERSION}-${createHash('sha256').update(dictionary).digest('hex').slice(0, 8)}`;
  return { version, dictionary, of: formOf, ofAction: actionForm, messageIn };
}

/** How the window keeps transactions for this API. */
export const transactionForm: TransactionForm = makeTransactionForm();
