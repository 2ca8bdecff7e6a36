/** What the chain is made of: blocks, transactions, messages, accounts, traces. */

import { HEADER_COLUMNS, header } from './header.ts';
import { opcodeNames } from './opcodes.ts';
import { PHASE_COLUMNS, phases } from './phases.ts';
import { balanceAfter, codeHashAfter } from './states.ts';
import {
  address,
  addressOrNull,
  amount,
  hash,
  hashOrNull,
  isAddress,
  ltOrNull,
  opcode,
  TIMES,
  timeOrNull,
  times,
  type View,
  wideAmount,
} from './view.ts';

const head: View = {
  name: 'head',
  about: 'The step that the query sees: one row',
  columns: {
    mc_seqno: 'Masterchain seqno up to which all views show everything',
    gen_utime: 'Its time, the greatest of its blocks, or of the newest step before that has some; seconds since 1970',
    ...TIMES,
  },
  as: 'at step',
  select: ({ of, head: seqno }) => `
    SELECT t.seqno AS mc_seqno, t.utime AS gen_utime, ${times('t.utime')}
    FROM (SELECT toUInt32(${seqno}) AS seqno, max(b.gen_utime) AS utime FROM ${of('blocks')} AS b
      WHERE b.mc_seqno = (SELECT n.mc_seqno FROM ${of('blocks')} AS n WHERE n.mc_seqno <= ${seqno} ORDER BY n.mc_seqno DESC LIMIT 1)) AS t`,
};

const blocks: View = {
  name: 'blocks',
  about: 'A block of any chain, as its masterchain step committed it',
  columns: {
    workchain: '-1 or 0',
    shard: 'Signed 64 bits',
    seqno: '',
    root_hash: 'Base64',
    file_hash: 'Base64',
    mc_block_workchain: 'Of the masterchain block that commits it: -1',
    mc_block_shard: '',
    mc_block_seqno: '',
    global_id: 'Of the network: -239 mainnet, -3 testnet',
    gen_utime: 'Seconds since 1970',
    start_lt: '',
    end_lt: '',
    rand_seed: 'Base64',
    created_by: 'Public key of the validator, base64; NULL for none',
    tx_count: 'Transactions',
    ...HEADER_COLUMNS,
    ...TIMES,
  },
  as: 'at step',
  step: 'mc_block_seqno',
  order: ['mc_block_seqno', 'workchain', 'shard', 'seqno'],
  select: ({ of, head: seqno }) => `
    SELECT t.workchain AS workchain, t.shard AS shard, t.seqno AS seqno, ${hash('t.root_hash')} AS root_hash,
      ${hash('t.file_hash')} AS file_hash, toInt32(-1) AS mc_block_workchain,
      toInt64('-9223372036854775808') AS mc_block_shard, t.mc_seqno AS mc_block_seqno, t.global_id AS global_id,
      t.gen_utime AS gen_utime, t.start_lt AS start_lt, t.end_lt AS end_lt, ${hash('t.rand_seed')} AS rand_seed,
      ${hashOrNull('t.created_by')} AS created_by, t.tx_count AS tx_count,
      ${header('t.info')}, ${times('t.gen_utime')}
    FROM ${of('blocks')} AS t FINAL WHERE t.mc_seqno <= ${seqno}`,
};

const workchain = (column: string): string =>
  `toInt32(toInt64(reinterpretAsUInt32(reverse(substring(${column}, 1, 4)))) - 2147483648)`;

const transactions: View = {
  name: 'transactions',
  about: 'A transaction, in the order of logical time: for ranges of time and steps',
  columns: {
    account: 'Address',
    lt: 'Logical time',
    hash: 'Base64',
    now: 'Seconds since 1970',
    block_workchain: '',
    block_shard: '',
    block_seqno: '',
    mc_block_seqno: 'Step that made it visible',
    trace_id: 'Hash of the first transaction of its trace, base64',
    opcode: 'First 32 bits of the body of the message received, signed; NULL for none',
    opcode_name: 'Name of the opcode; NULL where it has none',
    aborted: '',
    total_fees: 'Nanotons',
    ...PHASE_COLUMNS,
    ...TIMES,
  },
  as: 'at step',
  step: 'mc_block_seqno',
  order: ['mc_block_seqno', 'lt', 'account'],
  select: ({ of, head: seqno }) => `
    SELECT ${address('t.account')} AS account, t.lt AS lt, ${hash('t.hash')} AS hash, t.now AS now,
      ${workchain('t.account')} AS block_workchain, t.shard AS block_shard, t.seqno AS block_seqno,
      t.mc_seqno AS mc_block_seqno, ${hash('t.trace_id')} AS trace_id, ${opcode('t.in_opcode')} AS opcode,
      ${opcodeNames('t.in_opcode')} AS opcode_name, t.aborted AS aborted, ${amount('t.total_fees')} AS total_fees,
      ${phases}, ${times('t.now')}
    FROM ${of('transactions_by_lt')} AS t FINAL WHERE t.mc_seqno <= ${seqno}`,
};

const accountTransactions: View = {
  name: 'account_transactions',
  about: 'A transaction, in the order of accounts: for `account = …`; with the states around it and its cells',
  columns: {
    account: 'Address',
    lt: 'Logical time',
    hash: 'Base64',
    now: 'Seconds since 1970',
    block_shard: '',
    block_seqno: '',
    mc_block_seqno: 'Step that made it visible',
    trace_id: 'Hash of the first transaction of its trace, base64',
    external_hash: 'Hash of the message that began the trace, base64; NULL when none did',
    opcode: 'First 32 bits of the body of the message received, signed; NULL for none',
    opcode_name: 'Name of the opcode; NULL where it has none',
    aborted: '',
    total_fees: 'Nanotons',
    ...PHASE_COLUMNS,
    account_state_balance_after: 'Nanotons; NULL where the log has not shown the state',
    account_state_code_hash_after: 'Base64; NULL for none, or where the log has not shown the state',
    boc: 'The transaction as a bag of cells, base64',
    ...TIMES,
  },
  as: 'at step',
  select: ({ of, head: seqno }) => `
    SELECT ${address('t.account')} AS account, t.lt AS lt, ${hash('t.hash')} AS hash, t.now AS now,
      t.shard AS block_shard, t.seqno AS block_seqno, t.mc_seqno AS mc_block_seqno, ${hash('t.trace_id')} AS trace_id,
      ${hashOrNull('t.external_hash')} AS external_hash, ${opcode('t.in_opcode')} AS opcode,
      ${opcodeNames('t.in_opcode')} AS opcode_name, t.aborted AS aborted, ${amount('t.total_fees')} AS total_fees,
      ${phases},
      ${balanceAfter('t.states')} AS account_state_balance_after,
      ${codeHashAfter('t.states')} AS account_state_code_hash_after, base64Encode(t.payload) AS boc, ${times('t.now')}
    FROM ${of('transactions')} AS t FINAL WHERE t.mc_seqno <= ${seqno}`,
};

/** From this global version on there is no `ihr_fee`. */
const FLAGS_FROM = 12;

/** Messages are sent at the time of their transaction. */
const timeOf = (direction: 'in' | 'out'): string => (direction === 'in' ? 't.in_now' : 't.created_at');

const messageSide = (direction: 'in' | 'out', from: string, seqno: string): string => `
    SELECT '${direction}' AS direction, ${hashOrNull(`t.${direction}_tx_hash`)} AS tx_hash, t.${direction}_lt AS tx_lt,
      ${hash('t.hash')} AS msg_hash, ${addressOrNull('t.source')} AS source,
      ${addressOrNull('t.destination')} AS destination,
      if(${isAddress('t.source')} AND ${isAddress('t.destination')}, ${amount('t.value')}, NULL) AS value,
      ${ltOrNull('t.created_lt')} AS created_lt, ${timeOrNull('t.created_at')} AS created_at,
      ${opcode('t.opcode')} AS opcode, ${opcodeNames('t.opcode')} AS opcode_name, ${hash('t.body_hash')} AS body_hash,
      t.${direction}_mc_seqno AS mc_block_seqno, ${timeOf(direction)} AS tx_now,
      ${hash('t.trace_id')} AS trace_id, ${amount('t.fwd_fee')} AS fwd_fee,
      ${amount(`if(t.global_version >= ${FLAGS_FROM} AND isNotNull(t.ihr_fee_or_flags), toUInt128(0), t.ihr_fee_or_flags)`)} AS ihr_fee,
      ${amount('t.import_fee')} AS import_fee, t.bounce AS bounce, t.bounced AS bounced, t.ihr_disabled AS ihr_disabled,
      t.comment AS comment, ${hashOrNull('t.init_hash')} AS init_state_hash, base64Encode(t.payload) AS boc,
      ${times(timeOf(direction))}
    FROM ${from} AS t FINAL WHERE t.${direction}_mc_seqno > 0 AND t.${direction}_mc_seqno <= ${seqno}`;

const REPEATED =
  'a message from outside that is accepted once more, with the same bytes, is told with its newest transaction alone';

const messages: View = {
  name: 'messages',
  about: 'A side of a message: `in` with the transaction that received it, `out` with the one that sent it',
  changes: REPEATED,
  columns: {
    direction: '`in` or `out`',
    tx_hash: 'Of that transaction, base64',
    tx_lt: '',
    msg_hash: 'Base64',
    source: 'Address; NULL for a message from outside',
    destination: 'Address; NULL for a message to the outside',
    value: 'Nanotons; NULL for a message from or to the outside',
    created_lt: 'NULL for a message from outside',
    created_at: 'Seconds since 1970; NULL for a message from outside',
    opcode: 'First 32 bits of the body, signed; NULL for none',
    opcode_name: 'Name of the opcode; NULL where it has none',
    body_hash: 'Base64',
    mc_block_seqno: 'Step of that transaction',
    tx_now: 'Time of that transaction, seconds since 1970',
    trace_id: 'Hash of the first transaction of its trace, base64',
    fwd_fee: 'Nanotons; NULL for a message from or to the outside',
    ihr_fee: 'Nanotons; NULL for a message from or to the outside',
    import_fee: 'Nanotons; NULL but for a message from outside',
    bounce: 'NULL for a message from or to the outside',
    bounced: 'NULL for a message from or to the outside',
    ihr_disabled: 'NULL for a message from or to the outside',
    comment: 'Text of a plain comment; NULL for another body',
    init_state_hash: 'Of the StateInit that it brings, base64; NULL for none',
    boc: 'The message as a bag of cells, base64',
    ...TIMES,
  },
  as: 'at step',
  step: 'mc_block_seqno',
  order: ['mc_block_seqno', 'tx_lt', 'direction', 'msg_hash'],
  select: ({ of, head: seqno }) =>
    `${messageSide('in', of('messages'), seqno)}
    UNION ALL ${messageSide('out', of('messages'), seqno)}`,
};

const accountMessage = (own: 'source' | 'destination', from: string, seqno: string): string => {
  const other = own === 'source' ? 'destination' : 'source';
  const direction = own === 'source' ? 'out' : 'in';
  // The other side stands for one that the log has not shown up to the head: of a message on its way, say.
  const step = `if(t.${direction}_mc_seqno BETWEEN 1 AND ${seqno}, t.${direction}_mc_seqno, t.${direction === 'in' ? 'out' : 'in'}_mc_seqno)`;
  return `
    SELECT ${address(`t.${own}`)} AS account, '${direction}' AS direction, ${addressOrNull(`t.${other}`)} AS counterparty,
      ${hash('t.hash')} AS msg_hash, ${ltOrNull('t.created_lt')} AS created_lt,
      ${timeOrNull('t.created_at')} AS created_at, ${opcode('t.opcode')} AS opcode,
      ${opcodeNames('t.opcode')} AS opcode_name, ${step} AS mc_block_seqno
    FROM ${from} AS t FINAL WHERE ${isAddress(`t.${own}`)} AND ${step} BETWEEN 1 AND ${seqno}`;
};

const accountMessages: View = {
  name: 'account_messages',
  about: 'A message that an account sent or was sent, in the order of accounts: for `account = …`',
  changes: REPEATED,
  columns: {
    account: 'Address',
    direction: '`out`: sent by it; `in`: sent to it',
    counterparty: 'Address of the other; NULL for the outside',
    msg_hash: 'Base64',
    created_lt: 'NULL for a message from outside',
    created_at: 'Seconds since 1970; NULL for a message from outside',
    opcode: 'First 32 bits of the body, signed; NULL for none',
    opcode_name: 'Name of the opcode; NULL where it has none',
    mc_block_seqno: 'Step of the side of the account, of the other where the log has not shown that',
  },
  as: 'at step',
  select: ({ of, head: seqno }) =>
    `${accountMessage('source', of('messages_by_source'), seqno)}
    UNION ALL ${accountMessage('destination', of('messages_by_destination'), seqno)}`,
};

const accounts: View = {
  name: 'accounts',
  about: 'The newest state of an account',
  columns: {
    address: 'Address',
    status: 'nonexist, uninit, active or frozen',
    balance: 'Nanotons',
    code_hash: 'Base64; NULL for none',
    last_tx_hash: 'Base64',
    last_tx_lt: '',
    mc_block_seqno: 'Step of the state',
  },
  as: 'newest',
  select: ({ of }) => `
    SELECT ${address('t.account')} AS address, toString(t.status) AS status, ${amount('t.balance')} AS balance,
      ${hashOrNull('t.code_hash')} AS code_hash, ${hash('t.last_transaction_hash')} AS last_tx_hash, t.lt AS last_tx_lt,
      t.mc_seqno AS mc_block_seqno
    FROM ${of('accounts')} AS t FINAL`,
};

const balancesHistory: View = {
  name: 'balances_history',
  about:
    'A balance in TON after each transaction of an account, and of jettons at the end of each step in which it changed',
  columns: {
    address: 'Of the owner: `address = …` is fast',
    asset: '`TON`, or the address of the jetton',
    amount: 'Smallest units; rows whose state the log has not shown are left out; NULL where it passes 38 digits',
    timestamp: 'Seconds since 1970: time of the transaction; of jettons that of the step',
    lt: '',
    mc_block_seqno: 'Step',
    ...TIMES,
  },
  as: 'at step',
  select: ({ of, head: seqno }) => `
    SELECT ${address('t.account')} AS address, 'TON' AS asset, ${balanceAfter('t.states')} AS amount,
      t.now AS timestamp, t.lt AS lt, t.mc_seqno AS mc_block_seqno, ${times('t.now')}
    FROM ${of('transactions')} AS t FINAL
    WHERE t.mc_seqno <= ${seqno} AND t.state_after != toFixedString('', 32)
    UNION ALL
    SELECT ${address('t.owner')} AS address, ${address('t.jetton')} AS asset, ${wideAmount('t.balance')} AS amount,
      t.utime AS timestamp, t.lt AS lt, t.mc_seqno AS mc_block_seqno, ${times('t.utime')}
    FROM ${of('jetton_balances')} AS t FINAL WHERE t.mc_seqno <= ${seqno}`,
};

const traces: View = {
  name: 'traces',
  about: 'A trace: a message from outside, or a tick, and all that followed from it',
  columns: {
    trace_id: 'Hash of its first transaction, base64: `trace_id = …` is fast',
    external_hash: 'Hash of the message that began it, base64; NULL when none did',
    start_lt: '',
    end_lt: 'Of its newest transaction',
    start_time: 'Seconds since 1970',
    end_time: 'Seconds since 1970',
    transactions: '',
    messages: 'Received, or gone from the chain',
    pending_messages: 'On their way',
    state: 'pending, complete or broken',
    classification: 'unclassified, ok or failed',
    mc_block_seqno: 'Step of its newest transaction',
    ...TIMES,
  },
  as: 'at step',
  // A comparison with a `trace_id` passes a `GROUP BY` on its way to the index, and not a `LIMIT BY`.
  select: ({ of, head: seqno }) => `
    SELECT ${hash('n.id')} AS trace_id, ${hashOrNull('n.external')} AS external_hash,
      n.first_lt AS start_lt, n.last_lt AS end_lt, n.first_utime AS start_time, n.last_utime AS end_time,
      n.transaction_count AS transactions, n.message_count AS messages, n.pending_count AS pending_messages,
      toString(n.last_state) AS state, toString(n.told) AS classification, n.step AS mc_block_seqno,
      ${times('n.first_utime')}
    FROM (SELECT t.trace_id AS id, max(t.mc_seqno) AS step, argMax(t.external_hash, t.mc_seqno) AS external,
        argMax(t.start_lt, t.mc_seqno) AS first_lt, argMax(t.end_lt, t.mc_seqno) AS last_lt,
        argMax(t.start_utime, t.mc_seqno) AS first_utime, argMax(t.end_utime, t.mc_seqno) AS last_utime,
        argMax(t.transactions, t.mc_seqno) AS transaction_count, argMax(t.messages, t.mc_seqno) AS message_count,
        argMax(t.pending_messages, t.mc_seqno) AS pending_count, argMax(t.state, t.mc_seqno) AS last_state,
        argMax(t.classification, t.mc_seqno) AS told
      FROM ${of('traces')} AS t FINAL WHERE t.mc_seqno <= ${seqno} GROUP BY t.trace_id) AS n`,
};

export const chainViews: readonly View[] = [
  head,
  blocks,
  transactions,
  accountTransactions,
  messages,
  accountMessages,
  accounts,
  balancesHistory,
  traces,
];
