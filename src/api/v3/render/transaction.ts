import { addressOf, rawAddress, workchainOf } from '../../../chain/address.ts';
import type { ActionPhase, BouncePhase, ComputePhase, Message, SplitInfo, Transaction } from '../../../chain/model.ts';
import type { TransactionRecord } from '../../../chain/records.ts';
import { stateJson } from './account.ts';
import type { Book } from './book.ts';
import { messageHalves } from './message.ts';
import { blockIdJson, extraJson, extraMember, hashJson } from './values.ts';

/** The text of a transaction, and where its messages are in it, in characters: the in-message, then the others. */
export interface TransactionText {
  text: string;
  messages: MessagePlace[];
}

export interface MessagePlace {
  start: number;
  /** Where a row of `/messages` names the transactions at both ends. */
  middle: number;
  end: number;
}

/** Of an in-message that is not there. */
const NOWHERE: MessagePlace = { start: 0, middle: 0, end: 0 };

/** JSON text of a transaction (schema `Transaction`). Addresses for the book are noted in `book`. */
export function transactionJson(record: TransactionRecord, book: Book): string {
  return transactionText(record, book).text;
}

export function transactionText(record: TransactionRecord, book: Book): TransactionText {
  const { finality = 'finalized' } = record;
  const { inMsg, outMsgs, stateBefore, stateAfter } = record.transaction;
  const messages: MessagePlace[] = [];
  let text = headJson(record, book);
  const add = (message: Message): void => {
    const [before, behind] = messageHalves(message, record.globalVersion, book, record.finality === undefined);
    const start = text.length;
    text += before + behind;
    messages.push({ start, middle: start + before.length, end: text.length });
  };
  text += ',"in_msg":';
  if (inMsg === null) {
    text += 'null';
    messages.push(NOWHERE);
  } else add(inMsg);
  text += ',"out_msgs":[';
  for (const [i, message] of outMsgs.entries()) {
    if (i > 0) text += ',';
    add(message);
  }
  text +=
    `],"account_state_before":${stateJson(stateBefore, record.before)}` +
    `,"account_state_after":${stateJson(stateAfter, record.after)}` +
    `,"emulated":${finality === 'pending'},"finality":"${finality}"}`;
  return { text, messages };
}

/** Up to the messages. */
function headJson({ transaction: t, mcSeqno, traceId, externalHash, block }: TransactionRecord, book: Book): string {
  return (
    `{"account":"${book.text(t.account)}","hash":${hashJson(t.hash)},"lt":"${t.lt}","now":${t.now}` +
    `,"mc_block_seqno":${mcSeqno}` +
    (traceId === null ? '' : `,"trace_id":${hashJson(traceId)}`) +
    (externalHash === null ? '' : `,"trace_external_hash":${hashJson(externalHash)}`) +
    `,"prev_trans_hash":${hashJson(t.prevHash)},"prev_trans_lt":"${t.prevLt}"` +
    `,"orig_status":"${t.origStatus}","end_status":"${t.endStatus}"` +
    `,"total_fees":"${t.totalFees}","total_fees_extra_currencies":${extraJson(t.totalFeesExtra)}` +
    `,"description":${descriptionJson(t)},"block_ref":${blockIdJson(block)}`
  );
}

/** JSON text of the description: flags and phases only where the transaction has them. */
function descriptionJson({ description: d, account }: Transaction): string {
  let text = `{"type":"${d.type}"`;
  text += flag('aborted', d.aborted) + flag('destroyed', d.destroyed) + flag('credit_first', d.creditFirst);
  text += flag('is_tock', d.isTock) + flag('installed', d.installed);
  if (d.storage !== null) {
    text += `,"storage_ph":{"storage_fees_collected":"${d.storage.collected}"${amount('storage_fees_due', d.storage.due)}`;
    text += `,"status_change":"${d.storage.statusChange}"}`;
  }
  if (d.credit !== null) {
    const { dueFeesCollected, credit } = d.credit;
    const due = dueFeesCollected === null ? '' : `"due_fees_collected":"${dueFeesCollected}",`;
    text += `,"credit_ph":{${due}"credit":"${credit.grams}"`;
    text += `${extraMember('credit_extra_currencies', credit.extra)}}`;
  }
  if (d.compute !== null) text += `,"compute_ph":${computeJson(d.compute)}`;
  if (d.action !== null) text += `,"action":${actionJson(d.action)}`;
  if (d.bounce !== null) text += `,"bounce":${bounceJson(d.bounce)}`;
  return `${text}${d.splitInfo === null ? '' : splitJson(d.splitInfo, workchainOf(account))}}`;
}

function flag(name: string, value: boolean | null): string {
  return value === null ? '' : `,"${name}":${value}`;
}

function amount(name: string, value: string | null): string {
  return value === null ? '' : `,"${name}":"${value}"`;
}

function computeJson(phase: ComputePhase): string {
  if (phase.skipped) return `{"skipped":true,"reason":"${phase.reason}"}`;
  return (
    `{"skipped":false,"success":${phase.success},"msg_state_used":${phase.msgStateUsed}` +
    `,"account_activated":${phase.accountActivated},"gas_fees":"${phase.gasFees}","gas_used":"${phase.gasUsed}"` +
    `,"gas_limit":"${phase.gasLimit}"${amount('gas_credit', phase.gasCredit)}` +
    `,"mode":${phase.mode},"exit_code":${phase.exitCode}` +
    `${phase.exitArg === null ? '' : `,"exit_arg":${phase.exitArg}`},"vm_steps":${phase.vmSteps}` +
    `,"vm_init_state_hash":${hashJson(phase.vmInitStateHash)}` +
    `,"vm_final_state_hash":${hashJson(phase.vmFinalStateHash)}}`
  );
}

function actionJson(phase: ActionPhase): string {
  return (
    `{"success":${phase.success},"valid":${phase.valid},"no_funds":${phase.noFunds}` +
    `,"status_change":"${phase.statusChange}"` +
    `${amount('total_fwd_fees', phase.totalFwdFees)}${amount('total_action_fees', phase.totalActionFees)}` +
    `,"result_code":${phase.resultCode}${phase.resultArg === null ? '' : `,"result_arg":${phase.resultArg}`}` +
    `,"tot_actions":${phase.totActions},"spec_actions":${phase.specActions}` +
    `,"skipped_actions":${phase.skippedActions},"msgs_created":${phase.msgsCreated}` +
    `,"action_list_hash":${hashJson(phase.actionListHash)}` +
    `,"tot_msg_size":${sizeJson(phase.totMsgCells, phase.totMsgBits)}}`
  );
}

function bounceJson(phase: BouncePhase): string {
  if (phase.type === 'negfunds') return '{"type":"negfunds"}';
  const size = `,"msg_size":${sizeJson(phase.cells, phase.bits)}`;
  if (phase.type === 'nofunds') return `{"type":"nofunds"${size},"req_fwd_fees":"${phase.reqFwdFees}"}`;
  return `{"type":"ok"${size},"msg_fees":"${phase.msgFees}","fwd_fees":"${phase.fwdFees}"}`;
}

function sizeJson(cells: string, bits: string): string {
  return `{"cells":"${cells}","bits":"${bits}"}`;
}

function splitJson(split: SplitInfo, workchain: number): string {
  const address = (accountId: Buffer) => rawAddress(addressOf(workchain, accountId));
  return (
    `,"split_info":{"cur_shard_pfx_len":${split.curShardPfxLen},"acc_split_depth":${split.accSplitDepth}` +
    `,"this_addr":"${address(split.thisAddr)}","sibling_addr":"${address(split.siblingAddr)}"}`
  );
}
