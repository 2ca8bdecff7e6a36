import { extraCurrencies } from './format.js';

/**
 * Actions in words. A phrase names fields of the action's `details`: `{source}` is an account, `{value:tons}` nanotons,
 * `{amount:tokens asset}` an amount of the jetton in `asset` (tons without one), `{amount:jettons asset}` the same, null
 * without one, `{key:currencies}` amounts of extra currencies by id, `{key:text}` as it is. What stands in brackets is
 * left out when a field in it is null.
 */
const PHRASES = {
  ton_transfer: '{source} sent {value:tons} to {destination}[: “{comment:text}”]',
  // A call names them otherwise than a transfer.
  extra_currency_transfer:
    '{source} sent[ {extra_currencies:currencies}][ {value_extra_currencies:currencies}] to {destination}[: “{comment:text}”]',
  call_contract: '{source} called {destination}[ ({opcode:text})][ with {value:tons}]',
  contract_deploy: '[{source} ]deployed[ {destination}][ ({opcode:text})]',
  jetton_transfer: '{sender} sent {amount:tokens asset} to {receiver}[: “{comment:text}”]',
  jetton_mint: '{receiver} was minted {amount:tokens asset}',
  jetton_burn: '{owner} burned {amount:tokens asset}',
  jetton_swap:
    '{sender} swapped {dex_incoming_transfer.amount:tokens dex_incoming_transfer.asset} for {dex_outgoing_transfer.amount:tokens dex_outgoing_transfer.asset}[ at {dex:text}]',
  dex_deposit_liquidity:
    '{source} added liquidity[, {amount_1:tokens asset_1}][, {amount_2:tokens asset_2}][ at {dex:text}]',
  dex_withdraw_liquidity:
    '{source} took liquidity[, {amount_1:tokens asset_1}][, {amount_2:tokens asset_2}][ at {dex:text}]',
  nft_mint: '[{owner} minted ]{nft_item:item}',
  nft_transfer: '{old_owner} gave {nft_item:item} to {new_owner}[: “{comment:text}”]',
  nft_purchase: '{new_owner} bought {nft_item:item}[ from {real_old_owner}][ for {price:tons}]',
  nft_put_on_sale: '{owner} put {nft_item:item} on sale[ for {full_price:tons}]',
  nft_cancel_sale: '{owner} took {nft_item:item} off sale',
  nft_update_sale: '{source} changed the price of {nft_address:item}[ to {full_price:tons}]',
  nft_put_on_auction: '{owner} put {nft_item:item} up for auction',
  nft_cancel_auction: '{owner} cancelled the auction of {nft_item:item}',
  nft_finish_auction: 'The auction of {nft_item:item} ended',
  teleitem_start_auction: '{owner} put {nft_item:item} up for auction',
  teleitem_cancel_auction: '{owner} cancelled the auction of {nft_item:item}',
  nft_discovery: '{source} asked for {nft_item:item}',
  auction_bid: '{bidder} bid {amount:tons} for {nft_item:item}',
  auction_outbid: '{new_bidder} outbid {bidder} for {nft_item:item}[, {amount:tons} went back]',
  dns_purchase: '{new_owner} bought the name {nft_item:item} for {price:tons}',
  dns_release: '{source} let the name {nft_item:item} be auctioned again',
  change_dns: '{source} set a record of {asset:item}',
  delete_dns: '{source} deleted a record of {asset:item}',
  renew_dns: '{source} renewed {asset:item}',
  stake_deposit: '{stake_holder} staked {amount:tokens source_asset} in {pool}',
  stake_withdrawal: '{stake_holder} took {amount:tons} from {pool}',
  stake_withdrawal_request: '{stake_holder} asked {pool} for the stake',
  election_deposit: '{stake_holder} staked {amount:tons} for the validators’ election',
  election_recover: '{stake_holder} got[ {amount:tons}] back from the elector',
  subscribe: '{subscriber} subscribed[ to {beneficiary}][ for {amount:tons}]',
  unsubscribe: '{subscriber} ended a subscription[ to {beneficiary}]',
  multisig_create_order: '{source} proposed order {order_seqno:text} to {destination}',
  multisig_approve: '{source} approved order {destination}',
  multisig_execute: '{source} executed order {order_seqno:text} at {destination}',
  vesting_send_message: '{source} sent {amount:tons} to {destination} from vesting {vesting}',
  vesting_add_whitelist: '{source} allowed further receivers of vesting {vesting}',
  coffee_create_pool: '{source} opened the pool {pool}[ with {amount:tokens provided_asset}]',
  coffee_create_pool_creator: '{source} began to open a pool[ with {amount:tokens provided_asset}]',
  coffee_create_vault: '{source} opened the vault {vault}',
  coffee_mev_protect_hold_funds: '{source} laid aside {amount:tokens asset} for a protected swap',
  coffee_staking_deposit: '{source} staked {amount:jettons asset} in {pool}',
  coffee_staking_withdraw: '{source} took {amount:jettons asset} from {pool}',
  coffee_staking_claim_rewards: '{recipient} got {amount:jettons asset} as reward of {pool}',
  tonco_deploy_pool: '{source} opened the pool {pool}',
  evaa_supply: '{source} lent[ {amount:jettons asset}] to {master}',
  evaa_withdraw: '{source} withdrew[ {amount:jettons asset}] from {master}',
  evaa_liquidate: '{source} liquidated a debt of {borrower}[ for {amount:jettons asset}]',
  jvault_stake: '{source} staked {amount:jettons asset} in {pool}',
  jvault_unstake_request: '{source} asked {pool} for {amount:jettons asset}',
  jvault_unstake: '{source} took {amount:jettons asset} from {pool}',
  jvault_claim: '{source} took the rewards of {pool}',
  layerzero_send: '{initiator} sent a message over LayerZero',
  layerzero_send_tokens: '{sender} sent {amount:jettons asset} over LayerZero',
  layerzero_receive: '{oapp} received a message over LayerZero',
  layerzero_commit_packet: '{sender} committed a message of LayerZero',
  layerzero_dvn_verify: '{dvn} verified a message of LayerZero',
  tgbtc_mint: '{destination} was minted {amount:jettons asset} for bitcoins',
  tgbtc_burn: '{source} burned {amount:jettons asset} for bitcoins',
  tick_tock: 'System transaction',
};

/** Calls of this opcode are messages that came back. */
const BOUNCED = '0xffffffff';
const BOUNCE = '{source} bounced {value:tons} to {destination}';
/** An item of which nobody knows whose it was. */
const RECEIVED = '{new_owner} got {nft_item:item}[: “{comment:text}”]';

const FIELD = /\{([\w.]+)(?::(\w+)(?: ([\w.]+))?)?\}/;

/** `jvault_stake` -> `jvault stake`. */
export function typeName(type) {
  return type.replaceAll('_', ' ');
}

function valueAt(details, path) {
  const value = path.split('.').reduce((at, name) => at?.[name], details);
  return value === undefined || value === '' ? null : value;
}

/** Parts of a phrase without brackets; null where one of its fields is. */
function fill(phrase, details, required) {
  const parts = [];
  let rest = phrase;
  for (let found = FIELD.exec(rest); found !== null; found = FIELD.exec(rest)) {
    const [whole, path, kind = 'account', asset] = found;
    if (found.index > 0) parts.push(rest.slice(0, found.index));
    const jetton = asset === undefined ? null : valueAt(details, asset);
    const value = kind === 'jettons' && jetton === null ? null : valueAt(details, path);
    if (value === null && !required) return null;
    if (value === null) parts.push(kind === 'account' ? 'an unknown account' : 'an unknown amount');
    else if (kind === 'currencies') parts.push(extraCurrencies(value) ?? 'no extra currencies');
    else if (asset !== undefined) parts.push({ kind: 'tokens', value: String(value), asset: jetton });
    else parts.push({ kind, value: String(value) });
    rest = rest.slice(found.index + whole.length);
  }
  if (rest !== '') parts.push(rest);
  return parts;
}

function phraseOf(type, { opcode, is_purchase: isPurchase, old_owner: oldOwner = null }) {
  if (type === 'call_contract' && opcode === BOUNCED) return BOUNCE;
  // A sale whose payout was not found.
  if (type === 'nft_transfer' && isPurchase === true) return PHRASES.nft_purchase;
  if (type === 'nft_transfer' && oldOwner === null) return RECEIVED;
  return Object.hasOwn(PHRASES, type) ? PHRASES[type] : undefined;
}

/**
 * An action as parts: texts, and `{kind, value}` with kind `account`, `item`, `tons`, `tokens` (with `asset`, null for
 * tons) or `text`. A type without a phrase is told by its name and its accounts.
 */
export function tell({ type, details }) {
  const known = details ?? {};
  const phrase = phraseOf(type, known);
  if (phrase === undefined) {
    const parts = [typeName(type)];
    for (const name of ['source', 'sender', 'destination', 'pool']) {
      const value = valueAt(known, name);
      if (typeof value === 'string') parts.push(` ${name} `, { kind: 'account', value });
    }
    return parts;
  }
  const parts = [];
  const isEncrypted = known.encrypted === true || known.is_encrypted_comment === true;
  for (const piece of phrase.split(/(\[[^\]]*\])/)) {
    if (piece === '') continue;
    const optional = piece.startsWith('[');
    // Its text is base64 of what the receiver alone can read.
    if (isEncrypted && piece.includes('{comment')) parts.push(', with an encrypted comment');
    else parts.push(...(fill(optional ? piece.slice(1, -1) : piece, known, !optional) ?? []));
  }
  return parts;
}
