import type { Detail, Details } from '../../../chain/actions/kind.ts';
import { printedType } from '../../../chain/actions/print.ts';
import { unknown } from '../../../chain/actions/ton.ts';
import { parseAddress } from '../../../chain/address.ts';
import type { ActionRecord } from '../../../chain/records.ts';
import type { Book } from './book.ts';
import { hashJson } from './values.ts';

const HASH_BYTES = 32;
const RAW_ADDRESS = /^-?\d+:[0-9A-F]{64}$/;
/** What of the details is not in the address book (spec v3 semantics 5.3). */
const UNLISTED_KEYS = /^(peer_swaps$|marketplace|royalty|.*fee_address)/;
const UNLISTED_TYPES = /^(layerzero_|coffee_)/;

/** Hashes of its transactions. */
export function actionTransactions({ transactions }: ActionRecord): Buffer[] {
  const count = transactions.length / HASH_BYTES;
  return Array.from({ length: count }, (_, i) => transactions.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
}

export interface ActionExtras {
  accounts: boolean;
  /** JSON of the transactions in full, where they are asked for. */
  full?: readonly Buffer[] | undefined;
}

/** JSON text of an action (schema `Action`). Addresses for the book are noted in `book`. */
export function actionJson(action: ActionRecord, book: Book, { accounts, full }: ActionExtras): string {
  const [details, found] = readContent(action);
  if (!UNLISTED_TYPES.test(action.type)) noteAddresses(details, book);
  const { traceId, actionId, startLt, endLt, startUtime, endUtime, success, externalHash, externalHashNorm } = action;
  const norm = action.type === unknown.type ? null : externalHashNorm;
  return (
    `{"trace_id":${hashJson(traceId)},"action_id":${hashJson(actionId)},"start_lt":"${startLt}","end_lt":"${endLt}"` +
    `,"start_utime":${startUtime},"end_utime":${endUtime},"trace_end_lt":"${action.traceEndLt}"` +
    `,"trace_end_utime":${action.traceEndUtime},"trace_mc_seqno_end":${action.mcSeqno}` +
    `,"transactions":[${actionTransactions(action).map(hashJson)}],"success":${success}` +
    `,"type":"${printedType({ type: action.type, details })}","details":${JSON.stringify(details)}` +
    (externalHash === null ? '' : `,"trace_external_hash":${hashJson(externalHash)}`) +
    (norm === null ? '' : `,"trace_external_hash_norm":${hashJson(norm)}`) +
    (accounts ? `,"accounts":${JSON.stringify(found)}` : '') +
    (full === undefined ? '' : `,"transactions_full":[${full.map(String)}]`) +
    ',"finality":"finalized"}'
  );
}

/** As the projection wrote it. */
function readContent({ content }: ActionRecord): [Details, string[]] {
  return JSON.parse(content);
}

function noteAddresses(detail: Detail, book: Book): void {
  if (typeof detail === 'string') {
    const address = RAW_ADDRESS.test(detail) ? parseAddress(detail) : null;
    if (address) book.note(address);
  } else if (Array.isArray(detail)) {
    for (const one of detail) noteAddresses(one, book);
  } else if (typeof detail === 'object' && detail !== null) {
    for (const [key, value] of Object.entries(detail)) {
      if (UNLISTED_KEYS.test(key)) continue;
      if (RAW_ADDRESS.test(key)) noteAddresses(key, book);
      noteAddresses(value, book);
    }
  }
}
