/** Jettons, NFTs, trades, and what traces did. */
import { address, addressOrNull, amount, hash, hashOrNull, TIMES, times, type View, wideAmount } from './view.ts';

const jettonEvents: View = {
  name: 'jetton_events',
  about: 'A transfer or a burn that a jetton wallet was told to make, aborted ones included',
  columns: {
    type: '`transfer` or `burn`',
    jetton_master: 'Address',
    jetton_wallet: 'Address of the wallet that was told: its transaction is at `tx_lt`',
    source: 'Address of the owner',
    destination: 'Address of the owner who receives; NULL for a burn',
    amount: 'Smallest units',
    tx_lt: '',
    tx_aborted: '',
    utime: 'Seconds since 1970',
    mc_block_seqno: 'Step; where the contract was confirmed later, the step that did',
    ...TIMES,
  },
  as: 'at step',
  step: 'mc_block_seqno',
  order: ['mc_block_seqno', 'tx_lt', 'jetton_wallet'],
  select: ({ of, head }) => `
    SELECT 'transfer' AS type, ${address('t.jetton_master')} AS jetton_master, ${address('t.source_wallet')} AS jetton_wallet,
      ${addressOrNull('t.source')} AS source, ${addressOrNull('t.destination')} AS destination,
      ${amount('t.amount')} AS amount, t.transaction_lt AS tx_lt, t.transaction_aborted AS tx_aborted,
      t.transaction_now AS utime, t.mc_seqno AS mc_block_seqno, ${times('t.transaction_now')}
    FROM ${of('jetton_transfers')} AS t FINAL WHERE t.mc_seqno <= ${head}
    UNION ALL
    SELECT 'burn' AS type, ${address('t.jetton_master')} AS jetton_master, ${address('t.jetton_wallet')} AS jetton_wallet,
      ${addressOrNull('t.owner')} AS source, CAST(NULL, 'Nullable(String)') AS destination, ${amount('t.amount')} AS amount,
      t.transaction_lt AS tx_lt, t.transaction_aborted AS tx_aborted, t.transaction_now AS utime,
      t.mc_seqno AS mc_block_seqno, ${times('t.transaction_now')}
    FROM ${of('jetton_burns')} AS t FINAL WHERE t.mc_seqno <= ${head}`,
};

const content = (name: string): string => `nullIf(JSONExtractString(t.jetton_content, '${name}'), '')`;

const jettonMetadata: View = {
  name: 'jetton_metadata',
  about: 'A jetton, with what the chain itself says of it (TEP-64)',
  columns: {
    address: 'Of the master',
    admin_address: 'NULL for none',
    mintable: '',
    total_supply: 'Smallest units; NULL where it passes 38 digits',
    name: 'NULL where it is not on the chain',
    symbol: 'NULL where it is not on the chain',
    decimals: 'NULL where it is not on the chain',
    description: 'NULL where it is not on the chain',
    image: 'NULL where it is not on the chain',
    uri: 'Where the rest is; NULL for none',
    jetton_content: 'All of it, JSON',
    mc_block_seqno: 'Step of the state',
  },
  as: 'newest',
  select: ({ of }) => `
    SELECT ${address('t.address')} AS address, ${addressOrNull('t.admin_address')} AS admin_address, t.mintable AS mintable,
      ${wideAmount('t.total_supply')} AS total_supply, ${content('name')} AS name, ${content('symbol')} AS symbol,
      toUInt8OrNull(JSONExtractString(t.jetton_content, 'decimals')) AS decimals,
      ${content('description')} AS description, ${content('image')} AS image, ${content('uri')} AS uri,
      t.jetton_content AS jetton_content, t.mc_seqno AS mc_block_seqno
    FROM ${of('jetton_masters')} AS t FINAL`,
};

const jettonWallets: View = {
  name: 'jetton_wallets',
  about: 'A jetton wallet that its master confirms, the newest state',
  columns: {
    address: 'Of the wallet',
    owner: 'Address',
    jetton_master: 'Address',
    amount: 'Smallest units; NULL where it passes 38 digits',
    mintless_claimed: 'Of a mintless jetton: whether the airdrop was claimed; NULL for others',
    last_change_lt: '',
    mc_block_seqno: 'Step of the state',
  },
  as: 'newest',
  select: ({ of }) => `
    SELECT ${address('t.address')} AS address, ${address('t.owner')} AS owner, ${address('t.jetton')} AS jetton_master,
      ${wideAmount('t.balance')} AS amount, t.mintless_is_claimed AS mintless_claimed,
      t.last_transaction_lt AS last_change_lt, t.mc_seqno AS mc_block_seqno
    FROM ${of('jetton_wallets')} AS t FINAL`,
};

const jettonBalances: View = {
  name: 'jetton_balances',
  about: 'A balance that a jetton wallet had at the end of a step in which it changed',
  columns: {
    jetton_wallet: 'Address',
    owner: 'Address',
    jetton_master: 'Address',
    amount: 'Smallest units; NULL where it passes 38 digits',
    lt: 'Of the transaction that left it',
    mc_block_seqno: 'Step',
    block_time: 'Time of the step, UTC',
    block_date: 'Day of the step, UTC',
  },
  as: 'at step',
  select: ({ of, head }) => `
    SELECT ${address('t.address')} AS jetton_wallet, ${address('t.owner')} AS owner, ${address('t.jetton')} AS jetton_master,
      ${wideAmount('t.balance')} AS amount, t.lt AS lt, t.mc_seqno AS mc_block_seqno, ${times('t.utime')}
    FROM ${of('jetton_balances')} AS t FINAL WHERE t.mc_seqno <= ${head}`,
};

const latestBalances: View = {
  name: 'latest_balances',
  about: 'What an owner has of TON or of a jetton, the newest state',
  columns: {
    address: 'Of the owner',
    asset: '`TON`, or the address of the jetton',
    amount: 'Smallest units; NULL where it passes 38 digits',
    last_change_lt: '',
    mc_block_seqno: 'Step of the state',
  },
  as: 'newest',
  select: ({ of }) => `
    SELECT ${address('t.account')} AS address, 'TON' AS asset, CAST(${amount('t.balance')}, 'Nullable(Decimal(38, 0))') AS amount,
      t.lt AS last_change_lt, t.mc_seqno AS mc_block_seqno
    FROM ${of('accounts')} AS t FINAL
    UNION ALL
    SELECT ${address('t.owner')} AS address, ${address('t.jetton')} AS asset, ${wideAmount('t.balance')} AS amount,
      t.last_transaction_lt AS last_change_lt, t.mc_seqno AS mc_block_seqno
    FROM ${of('jetton_wallets')} AS t FINAL`,
};

const nftEvents: View = {
  name: 'nft_events',
  about: 'A transfer that an NFT item was told to make, aborted ones included',
  columns: {
    type: '`transfer`',
    nft_item_address: 'Address: its transaction is at `tx_lt`',
    collection_address: 'NULL for an item of no collection',
    prev_owner: 'Address; NULL for none',
    owner_address: 'Address of the new owner; NULL for none',
    tx_lt: '',
    tx_aborted: '',
    timestamp: 'Seconds since 1970',
    mc_block_seqno: 'Step; where the contract was confirmed later, the step that did',
    ...TIMES,
  },
  as: 'at step',
  step: 'mc_block_seqno',
  order: ['mc_block_seqno', 'tx_lt', 'nft_item_address'],
  select: ({ of, head }) => `
    SELECT 'transfer' AS type, ${address('t.nft_address')} AS nft_item_address,
      ${addressOrNull('t.nft_collection')} AS collection_address, ${addressOrNull('t.old_owner')} AS prev_owner,
      ${addressOrNull('t.new_owner')} AS owner_address, t.transaction_lt AS tx_lt, t.transaction_aborted AS tx_aborted,
      t.transaction_now AS timestamp, t.mc_seqno AS mc_block_seqno, ${times('t.transaction_now')}
    FROM ${of('nft_transfers')} AS t FINAL WHERE t.mc_seqno <= ${head}`,
};

const nftItems: View = {
  name: 'nft_items',
  about: 'An NFT item that its collection confirms, or that has none, the newest state',
  columns: {
    address: 'Of the item',
    collection_address: 'NULL for none',
    owner_address: 'NULL for none',
    nft_index: 'Decimal text of 256 bits',
    init: '',
    content: 'What the chain holds of it, JSON',
    last_change_lt: '',
    mc_block_seqno: 'Step of the state',
  },
  as: 'newest',
  select: ({ of }) => `
    SELECT ${address('t.address')} AS address, ${addressOrNull('t.collection_address')} AS collection_address,
      ${addressOrNull('t.owner_address')} AS owner_address, toString(t.nft_index) AS nft_index, t.init AS init,
      t.content AS content, t.last_transaction_lt AS last_change_lt, t.mc_seqno AS mc_block_seqno
    FROM ${of('nft_items')} AS t FINAL`,
};

/** Of a trace that was told again the newest telling: few are, and all of such a telling is of one step. */
function asTold(table: string, head: string): string {
  // As the index of these rows has it.
  const again = `FROM ${table} WHERE mc_seqno - end_mc_seqno > 0 AND mc_seqno <= ${head}`;
  return `t.end_mc_seqno <= ${head} AND t.mc_seqno <= ${head} AND t.type != '' AND (
      t.trace_id NOT IN (SELECT trace_id ${again})
      OR (t.trace_id, t.mc_seqno) IN (SELECT trace_id, max(mc_seqno) ${again} GROUP BY trace_id))`;
}

/** Details come first in the JSON of an action, then the accounts it is found by. */
const DETAILS = 't.content, 1';

const actions: View = {
  name: 'actions',
  about: 'What a complete trace, or a part of it, did',
  columns: {
    trace_id: 'Hash of the first transaction, base64',
    action_id: 'Base64',
    type: 'As `action_type` of /api/v3/actions',
    success: '',
    is_part: 'Whether it is a part of another action',
    start_lt: '',
    end_lt: '',
    start_utime: 'Seconds since 1970',
    end_utime: 'Seconds since 1970',
    trace_end_lt: '',
    trace_end_utime: 'Seconds since 1970',
    external_hash: 'Hash of the message that began the trace, base64; NULL when none did',
    accounts: 'Addresses it is found by',
    details: 'JSON, as `details` of /api/v3/actions',
    mc_block_seqno: 'Step in which the trace ended',
    ...TIMES,
  },
  as: 'at step',
  step: 'mc_block_seqno',
  order: ['mc_block_seqno', 'trace_end_lt', 'action_id'],
  select: ({ of, head }) => `
    SELECT ${hash('t.trace_id')} AS trace_id, ${hash('t.action_id')} AS action_id, toString(t.type) AS type,
      t.success AS success, notEmpty(t.ancestors) AS is_part, t.start_lt AS start_lt, t.end_lt AS end_lt,
      t.start_utime AS start_utime, t.end_utime AS end_utime, t.trace_end_lt AS trace_end_lt,
      t.trace_end_utime AS trace_end_utime, ${hashOrNull('t.external_hash')} AS external_hash,
      JSONExtract(t.content, 2, 'Array(String)') AS accounts, JSONExtractRaw(${DETAILS}) AS details,
      t.end_mc_seqno AS mc_block_seqno, ${times('t.trace_end_utime')}
    FROM ${of('actions')} AS t FINAL WHERE ${asTold(of('actions'), head)}`,
};

const leg = (side: 'incoming' | 'outgoing', name: string): string =>
  `JSONExtractString(${DETAILS}, 'dex_${side}_transfer', '${name}')`;

/** The lake writes this address for TON. */
const TON = '0:0000000000000000000000000000000000000000000000000000000000000000';
const asset = (side: 'incoming' | 'outgoing'): string =>
  `if(${leg(side, 'asset')} = '', '${TON}', ${leg(side, 'asset')})`;

const dexTrades: View = {
  name: 'dex_trades',
  about: 'A trade at an exchange that succeeded: an action of type jetton_swap',
  columns: {
    trace_id: 'Hash of the first transaction, base64',
    action_id: 'Base64',
    project: 'The exchange, as `details.dex` of /api/v3/actions',
    event_time: 'Seconds since 1970',
    trader_address: 'NULL for none',
    token_sold_address: `Address of the jetton; \`${TON}\` for TON`,
    token_bought_address: `Address of the jetton; \`${TON}\` for TON`,
    amount_sold_raw: 'Smallest units; NULL where it is not known',
    amount_bought_raw: 'Smallest units; NULL where it is not known',
    end_lt: '',
    mc_block_seqno: 'Step in which the trace ended',
    ...TIMES,
  },
  as: 'at step',
  step: 'mc_block_seqno',
  order: ['mc_block_seqno', 'end_lt', 'action_id'],
  select: ({ of, head }) => `
    SELECT ${hash('t.trace_id')} AS trace_id, ${hash('t.action_id')} AS action_id, JSONExtractString(${DETAILS}, 'dex') AS project,
      t.end_utime AS event_time, nullIf(JSONExtractString(${DETAILS}, 'sender'), '') AS trader_address,
      ${asset('incoming')} AS token_sold_address, ${asset('outgoing')} AS token_bought_address,
      toDecimal128OrNull(${leg('incoming', 'amount')}, 0) AS amount_sold_raw,
      toDecimal128OrNull(${leg('outgoing', 'amount')}, 0) AS amount_bought_raw,
      t.end_lt AS end_lt, t.end_mc_seqno AS mc_block_seqno, ${times('t.end_utime')}
    FROM ${of('actions')} AS t FINAL WHERE ${asTold(of('actions'), head)} AND t.type = 'jetton_swap' AND t.success`,
};

const dnsRecords: View = {
  name: 'dns_records',
  about: 'A domain and where it leads to, the newest state',
  columns: {
    domain: '',
    nft_item_address: 'Address of the item that holds the name',
    owner_address: 'NULL for none',
    wallet: 'Address that the name stands for; NULL for none',
    next_resolver: 'NULL for none',
    mc_block_seqno: 'Step of the state',
  },
  as: 'newest',
  select: ({ of }) => `
    SELECT t.domain AS domain, ${address('t.address')} AS nft_item_address,
      ${addressOrNull('t.nft_item_owner')} AS owner_address, ${addressOrNull('t.dns_wallet')} AS wallet,
      ${addressOrNull('t.dns_next_resolver')} AS next_resolver, t.mc_seqno AS mc_block_seqno
    FROM ${of('dns_records')} AS t FINAL`,
};

export const tokenViews: readonly View[] = [
  jettonEvents,
  jettonMetadata,
  jettonWallets,
  jettonBalances,
  latestBalances,
  nftEvents,
  nftItems,
  actions,
  dexTrades,
  dnsRecords,
];
