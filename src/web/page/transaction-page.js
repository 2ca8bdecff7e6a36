/** A transaction and the trace it belongs to. */
import { ApiError, ask } from './ask.js';
import { element } from './elements.js';
import { count, extraCurrencies } from './format.js';
import { card, facts, heading, none, pagedTable, table } from './layout.js';
import { accountLink, actionLine, blockLink, copied, hashLink, timeOf, tonsOf } from './links.js';
import { failureOf, operationOf, traceGraph } from './trace-graph.js';

const LISTED = 500;

/** `hash`: of the transaction, its messages or its trace, in any form that the API reads. */
export async function transactionPage(hash) {
  const { transactions } = await ask('transactions', { hash });
  const transaction = transactions[0] ?? (await ask('transactionsByMessage', { msg_hash: hash })).transactions[0];
  const traces = await tracesOf(transaction?.hash ?? hash, transaction === undefined);
  const [trace] = traces;
  const main = transaction ?? trace?.transactions?.[trace.trace.tx_hash];
  if (main === undefined) throw new ApiError('No transaction, message or trace has this hash.', 404);
  const sections = [
    heading('Transaction', copied(main.hash, 'transaction hash')),
    card('Facts', transactionFacts(main)),
  ];
  if (trace === undefined) sections.push(none('Its trace is not indexed.'));
  else if (trace.transactions === undefined) sections.push(none(leftOut(trace)));
  else sections.push(...traceSections(trace, main.hash));
  sections.push(card('Messages', messageTable(main)));
  return { title: `Transaction ${main.hash}`, sections };
}

/** A large trace comes without its transactions. */
function leftOut({ trace_info: info, warning }) {
  return `Its trace of ${count(info.transactions)} transactions is not shown: ${warning}.`;
}

async function tracesOf(hash, byTrace) {
  const parameters = byTrace ? { trace_id: hash } : { tx_hash: hash };
  return (await ask('traces', { ...parameters, include_actions: true })).traces;
}

function transactionFacts(transaction) {
  const failure = failureOf(transaction);
  const phase = transaction.description?.compute_ph;
  return facts([
    ['Account', accountLink(transaction.account, { whole: true })],
    ['Time', timeOf(transaction.now)],
    ['Block', blockLink(transaction.block_ref)],
    ['Masterchain block', blockLink({ workchain: -1, shard: '8000000000000000', seqno: transaction.mc_block_seqno })],
    ['Logical time', transaction.lt],
    ['Outcome', element('span', { class: failure === null ? 'good' : 'bad' }, failure ?? 'success')],
    ['Operation', operationOf(transaction) || null],
    ['Value', transaction.in_msg?.value ? tonsOf(transaction.in_msg.value) : null],
    ['Extra currencies', extraCurrencies(transaction.in_msg?.value_extra_currencies)],
    ['Fees', tonsOf(transaction.total_fees)],
    ['Gas', phase?.gas_used === undefined ? null : count(Number(phase.gas_used))],
    [
      'Balance after',
      transaction.account_state_after?.balance ? tonsOf(transaction.account_state_after.balance) : null,
    ],
    ['Status', `${transaction.orig_status} → ${transaction.end_status}`],
  ]);
}

function traceSections(trace, shown) {
  const actions = trace.actions ?? [];
  const list = element('ol', { class: 'actions' }, ...actions.map(actionLine));
  const order = trace.transactions_order ?? Object.keys(trace.transactions);
  const columns = ['Transaction', 'Account', 'Operation', 'Value', 'Fees', 'Outcome'];
  const rowsOf = (hashes) =>
    hashes.map((hash) => {
      const transaction = trace.transactions[hash];
      return [
        hash === shown ? [hashLink(hash), ' (this one)'] : hashLink(hash),
        accountLink(transaction.account),
        operationOf(transaction),
        transaction.in_msg?.value ? tonsOf(transaction.in_msg.value) : '',
        tonsOf(transaction.total_fees),
        failureOf(transaction) ?? 'success',
      ];
    });
  const page = async (offset) => order.slice(offset, offset + LISTED);
  const options = { first: order.slice(0, LISTED), limit: LISTED, page, rowsOf };
  const state = trace.is_incomplete ? 'Some of its transactions are still to come.' : null;
  return [
    ...(state === null ? [] : [element('p', { class: 'notice warn' }, state)]),
    card('What happened', actions.length === 0 ? none('No actions are told of this trace.') : list),
    card('Trace', traceGraph(trace)),
    card('Transactions of the trace', pagedTable('Transactions of the trace', columns, options)),
  ];
}

function messageTable({ in_msg: received, out_msgs: sent }) {
  const rows = [...(received ? [['in', received]] : []), ...sent.map((message) => ['out', message])];
  if (rows.length === 0) return none('No messages.');
  const columns = ['Way', 'From', 'To', 'Value', 'Operation', 'Body'];
  const party = (address) => (address === null ? 'external' : accountLink(address));
  return table(
    'Messages',
    columns,
    rows.map(([way, message]) => [
      way,
      party(message.source),
      party(message.destination),
      message.value === null ? '' : tonsOf(message.value),
      operationOf({ in_msg: message }),
      bodyOf(message),
    ]),
  );
}

function bodyOf({ message_content: content }) {
  const decoded = content?.decoded;
  if (!decoded) return '';
  const text = JSON.stringify(decoded, null, 1);
  return element('details', {}, element('summary', {}, decoded.type ?? 'decoded'), element('pre', {}, text));
}
