/** Queries to begin with: they stand in the schema and run as tests. */
export interface Example {
  title: string;
  sql: string;
  /** `dune`: in the manner of public queries over Dune's TON tables. */
  manner: 'dune' | 'ours';
  /** Values of its parameters. */
  params?: Readonly<Record<string, string>>;
}

const SOMEONE = '0:0000000000000000000000000000000000000000000000000000000000000000';

const dune = (title: string, sql: string): Example => ({ title, sql, manner: 'dune' });
const ours = (title: string, sql: string, params?: Readonly<Record<string, string>>): Example => ({
  title,
  sql,
  manner: 'ours',
  ...(params ? { params } : {}),
});

export const EXAMPLES: readonly Example[] = [
  dune(
    'Transactions and accounts a day',
    `SELECT block_date, count(*) AS transactions, count(DISTINCT account) AS accounts
FROM ton.transactions WHERE block_date >= today() - INTERVAL 30 DAY
GROUP BY 1 ORDER BY 1`,
  ),
  dune(
    'Fees a day, in TON',
    `SELECT block_date, sum(total_fees) / 1e9 AS fees_ton
FROM ton.transactions WHERE block_date >= today() - INTERVAL 30 DAY
GROUP BY 1 ORDER BY 1`,
  ),
  dune(
    'Share of transactions that failed, by the hour',
    `SELECT date_trunc('hour', block_time) AS hour, avg(CASE WHEN aborted THEN 1 ELSE 0 END) AS failed
FROM ton.transactions WHERE block_time >= now() - INTERVAL 1 DAY
GROUP BY 1 ORDER BY 1`,
  ),
  dune(
    'What messages ask for',
    `SELECT coalesce(opcode_name, lower(hex(reinterpretAsUInt32(opcode)))) AS operation, count(*) AS messages
FROM ton.transactions WHERE opcode IS NOT NULL AND block_date >= today() - 7
GROUP BY 1 ORDER BY messages DESC LIMIT 20`,
  ),
  dune(
    'TON moved in messages a day',
    `SELECT toDate(toDateTime(created_at, 'UTC')) AS day, sum(value) / 1e9 AS volume_ton, count(*) AS messages
FROM ton.messages WHERE direction = 'in' AND value IS NOT NULL
GROUP BY 1 ORDER BY 1`,
  ),
  dune(
    'Transfers of each jetton',
    `SELECT e.jetton_master, any(m.symbol) AS symbol, count(*) AS transfers, count(DISTINCT e.source) AS senders
FROM ton.jetton_events AS e LEFT JOIN ton.jetton_metadata AS m ON m.address = e.jetton_master
WHERE e.type = 'transfer' AND NOT e.tx_aborted AND e.block_date >= today() - 7
GROUP BY 1 ORDER BY transfers DESC LIMIT 50`,
  ),
  dune(
    'Largest holders of TON',
    `SELECT address, amount / 1e9 AS ton FROM ton.latest_balances
WHERE asset = 'TON' ORDER BY amount DESC LIMIT 100`,
  ),
  dune(
    'Trades at exchanges by project',
    `SELECT block_date, project, count(*) AS trades, count(DISTINCT trader_address) AS traders
FROM ton.dex_trades WHERE block_date >= today() - INTERVAL 30 DAY
GROUP BY 1, 2 ORDER BY 1, trades DESC`,
  ),
  dune(
    'Pairs that are traded most',
    `SELECT least(token_sold_address, token_bought_address) AS a, greatest(token_sold_address, token_bought_address) AS b,
  count(*) AS trades
FROM ton.dex_trades GROUP BY 1, 2 ORDER BY trades DESC LIMIT 20`,
  ),
  dune(
    'NFT collections by transfers',
    `SELECT collection_address, count(*) AS transfers, count(DISTINCT nft_item_address) AS items
FROM ton.nft_events WHERE type = 'transfer' AND NOT tx_aborted AND collection_address IS NOT NULL
GROUP BY 1 ORDER BY transfers DESC LIMIT 20`,
  ),
  dune(
    'New accounts a day',
    `WITH firsts AS (
  SELECT account, min(block_date) AS first_day FROM ton.transactions GROUP BY account
)
SELECT first_day, count(*) AS new_accounts, sum(count(*)) OVER (ORDER BY first_day) AS total
FROM firsts GROUP BY first_day ORDER BY first_day`,
  ),
  dune(
    'Blocks and transactions a second by workchain',
    `SELECT workchain, count(*) AS blocks, sum(tx_count) AS transactions,
  sum(tx_count) / greatest(max(gen_utime) - min(gen_utime), 1) AS tps
FROM ton.blocks WHERE block_time >= now() - INTERVAL 1 HOUR GROUP BY workchain`,
  ),
  dune(
    'Comings and goings of jettons for one owner',
    `SELECT block_date, sum(CASE WHEN destination = '${SOMEONE}' THEN amount ELSE -amount END) AS net
FROM ton.jetton_events
WHERE type = 'transfer' AND NOT tx_aborted AND (source = '${SOMEONE}' OR destination = '${SOMEONE}')
GROUP BY 1 ORDER BY 1`,
  ),
  ours('The step that queries see', 'SELECT mc_seqno, block_time FROM ton.head'),
  ours(
    'Newest blocks',
    `SELECT workchain, shard, seqno, tx_count, block_time FROM ton.blocks
WHERE mc_block_seqno > (SELECT mc_seqno FROM ton.head) - 10 ORDER BY mc_block_seqno DESC, workchain, shard`,
  ),
  ours(
    'Time between masterchain blocks',
    `SELECT quantiles(0.5, 0.9, 0.99)(pause) AS seconds FROM (
  SELECT gen_utime - lagInFrame(gen_utime, 1, gen_utime) OVER (ORDER BY seqno ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS pause
  FROM ton.blocks WHERE workchain = -1
)`,
  ),
  ours(
    'Transactions of an account',
    `SELECT lt, block_time, hash, opcode_name, aborted, total_fees, account_state_balance_after
FROM ton.account_transactions WHERE account = {account:String} ORDER BY lt DESC LIMIT 50`,
    { account: SOMEONE },
  ),
  ours(
    'Balance of an account by the day',
    `SELECT block_date, argMax(amount, lt) / 1e9 AS ton FROM ton.balances_history
WHERE address = {account:String} GROUP BY block_date ORDER BY block_date`,
    { account: SOMEONE },
  ),
  ours(
    'Whom an account deals with',
    `SELECT counterparty, countIf(direction = 'out') AS sent, countIf(direction = 'in') AS received
FROM ton.account_messages WHERE account = {account:String}
GROUP BY counterparty ORDER BY sent + received DESC LIMIT 20`,
    { account: SOMEONE },
  ),
  ours(
    'Largest holders of a jetton now',
    `SELECT owner, amount FROM ton.jetton_wallets WHERE jetton_master = {jetton:String} ORDER BY amount DESC LIMIT 20`,
    { jetton: SOMEONE },
  ),
  ours(
    'Largest holders of a jetton an hour ago',
    `WITH (SELECT max(mc_block_seqno) FROM ton.blocks WHERE workchain = -1 AND block_time <= now() - INTERVAL 1 HOUR) AS then
SELECT owner, argMax(amount, lt) AS held FROM ton.jetton_balances
WHERE jetton_master = {jetton:String} AND mc_block_seqno <= then
GROUP BY jetton_wallet, owner HAVING held > 0 ORDER BY held DESC LIMIT 20`,
    { jetton: SOMEONE },
  ),
  ours(
    'Exit codes of contracts that failed, by code',
    `SELECT compute_exit_code, count() AS transactions, uniq(account) AS contracts, sum(compute_gas_used) AS gas
FROM ton.transactions WHERE compute_success = 0 GROUP BY 1 ORDER BY transactions DESC LIMIT 20`,
  ),
  ours(
    'Transfers of a jetton with transaction and trace',
    `SELECT e.block_time, e.source, e.destination, e.amount, t.hash, t.trace_id
FROM ton.jetton_events AS e JOIN ton.account_transactions AS t ON t.account = e.jetton_wallet AND t.lt = e.tx_lt
WHERE e.jetton_master = {jetton:String} ORDER BY e.tx_lt DESC LIMIT 20`,
    { jetton: SOMEONE },
  ),
  ours(
    'Jettons by holders',
    `SELECT m.symbol, w.jetton_master, count() AS wallets, countIf(w.amount > 0) AS holders
FROM ton.jetton_wallets AS w LEFT JOIN ton.jetton_metadata AS m ON m.address = w.jetton_master
GROUP BY m.symbol, w.jetton_master ORDER BY holders DESC LIMIT 50`,
  ),
  ours(
    'What traces did, by type',
    `SELECT type, count() AS actions, countIf(NOT success) AS failed FROM ton.actions
WHERE NOT is_part GROUP BY type ORDER BY actions DESC`,
  ),
  ours(
    'Comments of transfers',
    `SELECT block_time, source, destination, value, comment FROM ton.messages
WHERE direction = 'in' AND comment != '' ORDER BY tx_lt DESC LIMIT 20`,
  ),
  ours(
    'Longest traces',
    `SELECT trace_id, transactions, end_time - start_time AS seconds, state FROM ton.traces ORDER BY transactions DESC LIMIT 20`,
  ),
  ours(
    'Transactions of a trace',
    `SELECT account, lt, opcode_name, aborted FROM ton.transactions WHERE trace_id = {trace:String} ORDER BY lt`,
    { trace: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' },
  ),
  ours(
    'Accounts by status',
    'SELECT status, count() AS accounts, sum(balance) / 1e9 AS ton FROM ton.accounts GROUP BY status ORDER BY accounts DESC',
  ),
  ours(
    'Contracts with the same code',
    `SELECT code_hash, count() AS contracts FROM ton.accounts
WHERE status = 'active' GROUP BY code_hash ORDER BY contracts DESC LIMIT 20`,
  ),
  ours(
    'Distribution of balances by powers of ten',
    `SELECT floor(log10(greatest(toFloat64(balance), 1))) AS power, count() AS accounts FROM ton.accounts
GROUP BY power ORDER BY power`,
  ),
  ours(
    'Domains of an owner',
    'SELECT domain, wallet FROM ton.dns_records WHERE owner_address = {owner:String} ORDER BY domain',
    { owner: SOMEONE },
  ),
  ours(
    'NFT items by collection',
    `SELECT collection_address, count() AS items, uniqExact(owner_address) AS owners FROM ton.nft_items
WHERE init GROUP BY collection_address ORDER BY items DESC LIMIT 20`,
  ),
  ours(
    'Messages that nobody received yet',
    `SELECT count() AS messages FROM ton.messages AS o
WHERE o.direction = 'out' AND o.destination IS NOT NULL
  AND o.msg_hash NOT IN (SELECT msg_hash FROM ton.messages WHERE direction = 'in')`,
  ),
  ours(
    'Names of opcodes',
    'SELECT opcode, lower(hex(reinterpretAsUInt32(opcode))) AS hex, name FROM ton.opcodes ORDER BY name',
  ),
];
