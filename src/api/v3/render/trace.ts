import { MAX_TRANSACTIONS } from '../../../chain/actions/classify.ts';
import { hashKey } from '../../../chain/hash.ts';
import type { Hash } from '../../../chain/model.ts';
import type { PendingTraceRecord, TraceRecord, TransactionRecord } from '../../../chain/records.ts';
import type { Book } from './book.ts';
import type { Renderings } from './renderings.ts';
import { hashJson, hashOrNull } from './values.ts';

/** Why a trace comes without its transactions. */
export const TOO_LARGE = 'trace is too large';
const TOO_MANY = 'too many transactions in one answer: ask for fewer traces';
const MISSING_NODE = 'missing node in trace found';

/** What is shown of a trace besides how it stands. */
export interface TraceBody {
  /** Null when it is too large, or the traces before it are. */
  transactions: readonly TransactionRecord[] | null;
  /** JSON of its actions, where they are asked for. */
  actions: readonly string[] | null;
}

/** JSON of a trace (schema `Trace`). Addresses for the book are noted in `book`. */
export function traceJson(
  trace: TraceRecord | PendingTraceRecord,
  body: TraceBody,
  book: Book,
  renderings: Renderings,
): Buffer {
  const { transactions, actions } = body;
  const told = actions === null || transactions === null ? '' : `,"actions":[${actions}]`;
  if (transactions === null) {
    return Buffer.from(`${headJson(trace, true, trace.transactions > MAX_TRANSACTIONS ? TOO_LARGE : TOO_MANY)}}`);
  }
  const tree = traceTree(transactions);
  const isIncomplete = 'isIncomplete' in trace ? trace.isIncomplete : trace.state !== 'complete';
  const ids = transactions.map(({ transaction }) => hashJson(transaction.hash));
  const before =
    `${headJson(trace, isIncomplete, tree.isWhole ? null : MISSING_NODE)}${told},"trace":${tree.json}` +
    `,"transactions_order":[${ids}],"transactions":{`;
  return Buffer.concat([Buffer.from(before), ...entriesOf(transactions, book, renderings), Buffer.from('}}')]);
}

/** JSON of a map of transactions by their hashes, in parts. */
export function transactionMap(transactions: readonly TransactionRecord[], book: Book, renderings: Renderings): Buffer {
  return Buffer.concat([Buffer.from('{'), ...entriesOf(transactions, book, renderings), Buffer.from('}')]);
}

function entriesOf(transactions: readonly TransactionRecord[], book: Book, renderings: Renderings): Buffer[] {
  const entries = transactions.map((record) => ({ id: hashJson(record.transaction.hash), record }));
  return entries
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap(({ id, record }, i) => [Buffer.from(`${i > 0 ? ',' : ''}${id}:`), renderings.transaction(record, book)]);
}

function headJson(
  trace: Omit<PendingTraceRecord, 'isIncomplete'>,
  isIncomplete: boolean,
  warning: string | null,
): string {
  const { traceId, externalHash, startLt, startUtime, endLt, endUtime, state, classification } = trace;
  return (
    `{"trace_id":${hashOrNull(traceId)},"external_hash":${hashOrNull(externalHash)}` +
    `,"mc_seqno_start":"${trace.mcSeqnoStart}","mc_seqno_end":"${trace.mcSeqnoEnd}"` +
    `,"start_lt":"${startLt}","start_utime":${startUtime},"end_lt":"${endLt}","end_utime":${endUtime}` +
    `,"trace_info":{"trace_state":"${state}","messages":${trace.messages},"transactions":${trace.transactions}` +
    `,"pending_messages":${trace.pendingMessages},"classification_state":"${classification}"}` +
    `,"is_incomplete":${isIncomplete}${warning === null ? '' : `,"warning":"${warning}"`}`
  );
}

interface Node {
  head: string;
  children: Node[];
}

/** The transactions as a tree, by who sent the message that another received (spec v3 semantics 3.2). */
export function traceTree(transactions: readonly TransactionRecord[]): { json: string; isWhole: boolean } {
  const senders = new Map<string, Node>();
  const keyOf = (hash: Hash): string => hashKey(hash);
  let root: Node | null = null;
  let isWhole = true;
  for (const { transaction } of transactions) {
    const { hash, inMsg, outMsgs } = transaction;
    const message = inMsg === null ? '' : `,"in_msg_hash":${hashJson(inMsg.hash)}`;
    const node: Node = { head: `{"tx_hash":${hashJson(hash)}${message},"children":[`, children: [] };
    const parent = inMsg && senders.get(keyOf(inMsg.hash));
    if (parent) parent.children.push(node);
    else if (root === null) root = node;
    else isWhole = false;
    for (const out of outMsgs) senders.set(keyOf(out.hash), node);
  }
  return { json: root === null ? 'null' : nodeJson(root), isWhole };
}

/** Without recursion: a trace is as deep as its longest chain of messages. */
function nodeJson(root: Node): string {
  let json = root.head;
  const path: { node: Node; next: number }[] = [{ node: root, next: 0 }];
  while (path.length > 0) {
    const top = path[path.length - 1];
    const child = top.node.children[top.next++];
    if (child === undefined) {
      json += ']}';
      path.pop();
    } else {
      json += `${top.next > 1 ? ',' : ''}${child.head}`;
      path.push({ node: child, next: 0 });
    }
  }
  return json;
}
