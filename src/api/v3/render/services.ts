/** JSON text of names, of multisigs with their orders, of vesting. */
import type { DnsRecord, MultisigOrderRecord, MultisigRecord, VestingRecord } from '../../../chain/contract-records.ts';
import type { Address } from '../../../chain/model.ts';
import { type Book, createBook } from './book.ts';
import { orderActionsJson, type Room } from './order-actions.ts';
import { addressOrNull, stateJson } from './tokens.ts';
import { hashOrNull } from './values.ts';

const addressList = (some: readonly Address[], book: Book): string =>
  `[${some.map((one) => `"${book.text(one)}"`).join(',')}]`;

/** Resolvers are not in the address book. */
export function dnsRecordJson(row: DnsRecord, book: Book): string {
  return (
    `{"nft_item_address":"${book.text(row.address)}","nft_item_owner":${addressOrNull(row.nftItemOwner, book)}` +
    `,"domain":${JSON.stringify(row.domain)}` +
    `,"dns_next_resolver":${addressOrNull(row.dnsNextResolver, createBook(false))}` +
    `,"dns_wallet":${addressOrNull(row.dnsWallet, book)},"dns_site_adnl":${hashOrNull(row.dnsSiteAdnl)}` +
    `,"dns_storage_bag_id":${hashOrNull(row.dnsStorageBagId)}}`
  );
}

/** @param orders of any multisigs, in the order in which they are shown */
export function multisigJson(row: MultisigRecord, orders: readonly MultisigOrderRecord[], book: Book): string {
  const own = orders.filter(({ multisigAddress }) => multisigAddress.equals(row.address));
  return (
    `{"address":"${book.text(row.address)}","next_order_seqno":"${row.nextOrderSeqno}"` +
    `,"threshold":${row.threshold},"signers":${addressList(row.signers, book)}` +
    `,"proposers":${addressList(row.proposers, book)}${stateJson(row)}` +
    `,"orders":[${own.map((order) => orderJson(order, null, book)).join(',')}]}`
  );
}

/** @param room for what the orders of the answer do; null where that is not told */
export function orderJson(row: MultisigOrderRecord, room: Room | null, book: Book): string {
  return (
    `{"address":"${book.text(row.address)}","multisig_address":"${book.text(row.multisigAddress)}"` +
    `,"order_seqno":"${row.orderSeqno}","threshold":${row.threshold}` +
    `,"sent_for_execution":${row.sentForExecution},"approvals_mask":"${row.approvalsMask}"` +
    `,"approvals_num":${row.approvalsNum},"expiration_date":${row.expirationDate}` +
    `,"order_boc":"${row.orderBoc.toString('base64')}","signers":${addressList(row.signers, book)}${stateJson(row)}` +
    `,"actions":${room === null ? '[]' : orderActionsJson(row.orderBoc, book, room)}}`
  );
}

export function vestingJson(row: VestingRecord, book: Book): string {
  return (
    `{"address":"${book.text(row.address)}","start_time":${row.startTime},"total_duration":${row.totalDuration}` +
    `,"unlock_period":${row.unlockPeriod},"cliff_duration":${row.cliffDuration}` +
    `,"sender_address":"${book.text(row.senderAddress)}","owner_address":"${book.text(row.ownerAddress)}"` +
    `,"total_amount":"${row.totalAmount}","whitelist":${addressList(row.whitelist, book)}}`
  );
}
