import { readContent } from '../../../chain/actions/content.ts';
import type { Detail } from '../../../chain/actions/details.ts';
import { liquidate, liquidationOnTestnet } from '../../../chain/actions/evaa-liquidation.ts';
import { printedType } from '../../../chain/actions/print.ts';
import { unknown } from '../../../chain/actions/ton.ts';
import { parseAddress } from '../../../chain/address.ts';
import type { ActionRecord, PendingActionRecord } from '../../../chain/records.ts';
import { type Book, createBook } from './book.ts';
import { hashJson, hashOrNull } from './values.ts';

const HASH_BYTES = 32;
const RAW_ADDRESS = /^-?\d+:[0-9A-F]{64}$/;
/**
 * What of the details is not in the address book (spec v3 semantics 5.3): what an action has beside its sides and
 * assets.
 */
const UNLISTED_KEYS = /^(peer_swaps$|marketplace|royalty|.*fee_address|layerzero_(send|packet)_data$)/;
const UNLISTED_OF: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['coffee_create_pool', new Set(['initiator_1', 'initiator_2', 'provided_asset'])],
  ['coffee_create_pool_creator', new Set(['provided_asset'])],
  ['coffee_staking_deposit', new Set(['minted_item_address'])],
  ['coffee_staking_withdraw', new Set(['nft_address'])],
  ['layerzero_dvn_verify', new Set(['dvn', 'proxy', 'uln', 'uln_connection'])],
]);
const NONE: ReadonlySet<string> = new Set();

/** Hashes of its transactions. */
export function actionTransactions({ transactions }: Pick<ActionRecord, 'transactions'>): Buffer[] {
  const count = transactions.length / HASH_BYTES;
  return Array.from({ length: count }, (_, i) => transactions.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
}

export interface ActionExtras {
  accounts: boolean;
  /** JSON of the transactions in full, where they are asked for. */
  full?: readonly Buffer[] | undefined;
}

/** What is printed of the content of an action. */
interface Told {
  /** As printed, of type and details. */
  type: string;
  /** JSON. */
  details: string;
  accounts: string;
}

/** JSON text of an action (schema `Action`). Addresses for the book are noted in `book`. */
export function actionJson(
  action: ActionRecord | PendingActionRecord,
  book: Book,
  { accounts, full }: ActionExtras,
): string {
  const told = tellFor(action, book);
  const { traceId, actionId, startLt, endLt, startUtime, endUtime, success, externalHash, externalHashNorm } = action;
  const norm = action.type === unknown.type ? null : externalHashNorm;
  return (
    `{"trace_id":${hashOrNull(traceId)},"action_id":${hashJson(actionId)},"start_lt":"${startLt}","end_lt":"${endLt}"` +
    `,"start_utime":${startUtime},"end_utime":${endUtime},"trace_end_lt":"${action.traceEndLt}"` +
    `,"trace_end_utime":${action.traceEndUtime},"trace_mc_seqno_end":${action.mcSeqno}` +
    `,"transactions":[${actionTransactions(action).map(hashJson)}],"success":${success}` +
    `,"type":"${told.type}","details":${told.details}` +
    (externalHash === null ? '' : `,"trace_external_hash":${hashJson(externalHash)}`) +
    (norm === null ? '' : `,"trace_external_hash_norm":${hashJson(norm)}`) +
    (accounts ? `,"accounts":${told.accounts}` : '') +
    (full === undefined ? '' : `,"transactions_full":[${full.map(String)}]`) +
    `,"finality":"${'finality' in action ? action.finality : 'finalized'}"}`
  );
}

function tellFor(action: ActionRecord | PendingActionRecord, book: Book): Told {
  if (book.testOnly && action.type === liquidate.type) return tellOnTestnet(action, book);
  return 'form' in action && action.form ? toldBy(action.form, action.content, book) : tell(action, book);
}

/** What is stored of a liquidation names the jettons of mainnet. */
function tellOnTestnet({ type, content }: Pick<ActionRecord, 'type' | 'content'>, book: Book): Told {
  const [stored, found] = readContent(content);
  const details = liquidationOnTestnet(stored);
  noteAddresses(details, book);
  return { type, details: JSON.stringify(details), accounts: JSON.stringify(found) };
}

function tell(action: Pick<ActionRecord, 'type' | 'content'>, book: Book): Told {
  const [details, found] = readContent(action.content);
  noteAddresses(details, book, UNLISTED_OF.get(action.type));
  const type = printedType({ type: action.type, details });
  const accounts = JSON.stringify(found);
  // As they were written, numbers with all their digits: between the bracket and the comma before the accounts.
  return { type, details: action.content.slice(DETAILS_START, -(accounts.length + 2)), accounts };
}

const FORM_HEAD_BYTES = 9;

/**
 * What has to be read out of the content once, so that it can be printed without being parsed: where the details end in
 * it (32 bits, little-endian), bytes of addresses (32 bits), of the printed type (8 bits), that type, the addresses that
 * are noted. It has memory of its own.
 */
export function actionForm(action: ActionRecord): Buffer {
  const book = createBook(false);
  const { type, details } = tell(action, book);
  const addresses = Buffer.concat(book.addresses());
  const form = Buffer.allocUnsafeSlow(FORM_HEAD_BYTES + type.length + addresses.length);
  form.writeUInt32LE(DETAILS_START + details.length, 0);
  form.writeUInt32LE(addresses.length, 4);
  form.writeUInt8(type.length, 8);
  form.write(type, FORM_HEAD_BYTES, 'latin1');
  addresses.copy(form, FORM_HEAD_BYTES + type.length);
  return form;
}

/** Behind the bracket of the list that content is. */
const DETAILS_START = 1;

function toldBy(form: Buffer, content: string, book: Book): Told {
  const end = form.readUInt32LE(0);
  const typeEnd = FORM_HEAD_BYTES + form[8];
  book.note(form.subarray(typeEnd, typeEnd + form.readUInt32LE(4)));
  return {
    type: form.toString('latin1', FORM_HEAD_BYTES, typeEnd),
    details: content.slice(DETAILS_START, end),
    // Between the comma and the closing bracket.
    accounts: content.slice(end + 1, -1),
  };
}

function noteAddresses(detail: Detail, book: Book, unlisted = NONE): void {
  if (typeof detail === 'string') {
    const address = RAW_ADDRESS.test(detail) ? parseAddress(detail) : null;
    if (address) book.note(address);
  } else if (Array.isArray(detail)) {
    for (const one of detail) noteAddresses(one, book);
  } else if (typeof detail === 'object' && detail !== null) {
    for (const [key, value] of Object.entries(detail)) {
      if (UNLISTED_KEYS.test(key) || unlisted.has(key)) continue;
      if (RAW_ADDRESS.test(key)) noteAddresses(key, book);
      noteAddresses(value, book);
    }
  }
}
