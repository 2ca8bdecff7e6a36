/** Transactions of the chain as actions read them. */
import { rawAddress } from '../address.ts';
import { CellView } from '../layouts/cell-view.ts';
import type { Hash, Message, Transaction } from '../model.ts';
import type { HashText, TraceMessage, TraceTransaction } from './trace.ts';

export const hashText = (hash: Hash): HashText => hash.toString('base64');

/** Reading it, or a body of it, throws DecodeError where the bytes are none. */
export function traceTransaction(transaction: Transaction): TraceTransaction {
  const { hash, account, lt, now, origStatus, endStatus, description, inMsg, outMsgs } = transaction;
  const { aborted, compute } = description;
  return {
    hash: hashText(hash),
    account: rawAddress(account),
    lt,
    now,
    origStatus,
    endStatus,
    aborted: aborted === true,
    skipReason: compute?.skipped ? compute.reason : null,
    exitCode: compute && !compute.skipped ? compute.exitCode : null,
    inMsg: inMsg && traceMessage(inMsg),
    outMsgs: outMsgs.map(traceMessage),
  };
}

function traceMessage(message: Message): TraceMessage {
  const { hash, source, destination, value, extraCurrencies, createdLt, createdAt, opcode, bounce } = message;
  return {
    hash: hashText(hash),
    source: source && rawAddress(source),
    destination: destination && rawAddress(destination),
    value,
    extraCurrencies: extraCurrencies ?? {},
    createdLt,
    createdAt,
    opcode,
    bounce,
    body: () => CellView.parse(message.bodyBoc()),
    init: () => message.init && CellView.parse(message.init.boc()),
  };
}
