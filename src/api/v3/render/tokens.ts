/** JSON text of jettons and NFTs, their transfers and sales. */

import { rawAddress } from '../../../chain/address.ts';
import type {
  JettonMasterRecord,
  JettonWalletRecord,
  ListedNftItem,
  NftAuctionRecord,
  NftCollectionRecord,
  NftSaleRecord,
  TelemintItemRecord,
  TokenEvent,
} from '../../../chain/contract-records.ts';
import { DecodeError } from '../../../chain/errors.ts';
import { hashKey } from '../../../chain/hash.ts';
import { type Placeholder, placedAddress } from '../../../chain/layouts/addresses.ts';
import { CellView } from '../../../chain/layouts/cell-view.ts';
import { jettonBurnWith, jettonTransferWith } from '../../../chain/layouts/jettons.ts';
import type { Layout } from '../../../chain/layouts/layout.ts';
import { nftTransferWith } from '../../../chain/layouts/nfts.ts';
import type { Payload } from '../../../chain/layouts/shapes.ts';
import type { Address } from '../../../chain/model.ts';
import type { Book } from './book.ts';
import { decodedJson } from './message.ts';
import { once } from './once.ts';
import { hashJson } from './values.ts';

export const addressOrNull = (address: Address | null, book: Book): string =>
  address === null ? 'null' : `"${book.text(address)}"`;

const placed = (address: Address | Placeholder | null, book: Book): string =>
  `"${Buffer.isBuffer(address) ? book.text(address) : book.place(address ?? 'addr_none')}"`;

const shownTransfer = jettonTransferWith(placedAddress);
const shownBurn = jettonBurnWith(placedAddress);
const shownMove = nftTransferWith(placedAddress);

export function masterJson(row: JettonMasterRecord, book: Book): string {
  return (
    `{"address":"${book.text(row.address)}","total_supply":"${row.totalSupply}","mintable":${row.mintable}` +
    `,"admin_address":${addressOrNull(row.adminAddress, book)},"jetton_content":${row.jettonContent}` +
    `,"jetton_wallet_code_hash":${hashJson(row.jettonWalletCodeHash)}${stateJson(row)}}`
  );
}

const shownWallet = once((row: JettonWalletRecord) => ({
  text:
    `{"address":"${rawAddress(row.address)}","balance":"${row.balance}","owner":"${rawAddress(row.owner)}"` +
    `,"jetton":"${rawAddress(row.jetton)}"${stateJson(row)}}`,
  addresses: [row.address, row.owner, row.jetton].map((address) => [hashKey(address), address] as const),
}));

export function walletJson(row: JettonWalletRecord, book: Book): string {
  const { text, addresses } = shownWallet(row);
  book.noteKnown(addresses);
  return text;
}

type State = Pick<JettonWalletRecord, 'lastTransactionLt' | 'codeHash' | 'dataHash'>;

export function stateJson({ lastTransactionLt, codeHash, dataHash }: State): string {
  return `,"last_transaction_lt":"${lastTransactionLt}","code_hash":${hashJson(codeHash)},"data_hash":${hashJson(dataHash)}`;
}

export function collectionJson(row: NftCollectionRecord, book: Book): string {
  return collectionText(row, `"${book.text(row.address)}"`, addressOrNull(row.ownerAddress, book));
}

function collectionText(row: NftCollectionRecord, address: string, owner: string): string {
  return (
    `{"address":${address},"owner_address":${owner},"next_item_index":"${row.nextItemIndex}"` +
    `,"collection_content":${row.collectionContent}${stateJson(row)}}`
  );
}

/** Neither the seller nor the owner of the collection is in the address book. */
export function itemJson({ item, collection, sale }: ListedNftItem, book: Book, unlisted: Book): string {
  const embedded =
    collection === null
      ? 'null'
      : collectionText(
          collection,
          `"${book.text(collection.address)}"`,
          addressOrNull(collection.ownerAddress, unlisted),
        );
  return (
    `{"address":"${book.text(item.address)}","init":${item.init},"index":"${item.nftIndex ?? '0'}"` +
    `,"collection_address":${addressOrNull(item.collectionAddress, book)}` +
    `,"owner_address":${addressOrNull(item.ownerAddress, book)},"content":${item.content}${stateJson(item)}` +
    `,"collection":${embedded},"on_sale":${sale !== null}${saleOf(sale, unlisted)}}`
  );
}

/** Items and their collections. */
export function itemTokens(items: readonly ListedNftItem[]): Address[] {
  return items.flatMap(({ item: { address, collectionAddress } }) => [
    address,
    ...(collectionAddress ? [collectionAddress] : []),
  ]);
}

function saleOf(sale: ListedNftItem['sale'], unlisted: Book): string {
  if (sale === null) return '';
  const seller = sale.seller === null ? '' : `,"real_owner":"${unlisted.text(sale.seller)}"`;
  return `,"${sale.kind}_contract_address":"${unlisted.text(sale.address)}"${seller}`;
}

/** The fields that all events have of their transaction. */
function transactionJson({ transaction: { transaction, traceId } }: TokenEvent): [string, string] {
  const { hash, lt, now, description } = transaction;
  return [
    `,"transaction_hash":${hashJson(hash)},"transaction_lt":"${lt}","transaction_now":${now}` +
      `,"transaction_aborted":${description.aborted ?? false}`,
    `,"trace_id":${traceId === null ? 'null' : hashJson(traceId)}`,
  ];
}

/**
 * What the transaction was told. Who lists it has seen that the body is of this layout.
 * @throws DecodeError
 */
function told<T>({ transaction: { transaction } }: TokenEvent, layout: Layout<T>): { from: Address | null; body: T } {
  const { inMsg } = transaction;
  const body = inMsg === null ? null : layout.in(CellView.parse(inMsg.bodyBoc()));
  if (inMsg === null || body === null) throw new DecodeError(`no ${layout.name} in the message of a listed one`);
  return { from: inMsg.source, body };
}

export function jettonTransferJson(event: TokenEvent, book: Book): string {
  const { from, body } = told(event, shownTransfer);
  const [transaction, trace] = transactionJson(event);
  return (
    `{"query_id":"${body.query_id}","source":${placed(from, book)}` +
    `,"destination":${placed(body.destination, book)},"amount":"${body.amount}"` +
    `,"source_wallet":"${book.text(event.transaction.transaction.account)}"` +
    `,"jetton_master":${placed(event.token, book)}${transaction}` +
    `,"response_destination":${placed(body.response_destination, book)}` +
    `${customJson(body.custom_payload)},"forward_ton_amount":"${body.forward_ton_amount}"` +
    `${forwardJson(body.forward_payload)}${trace}}`
  );
}

export function jettonBurnJson(event: TokenEvent, book: Book): string {
  const { from, body } = told(event, shownBurn);
  const [transaction, trace] = transactionJson(event);
  return (
    `{"query_id":"${body.query_id}","owner":${placed(from, book)}` +
    `,"jetton_wallet":"${book.text(event.transaction.transaction.account)}"` +
    `,"jetton_master":${placed(event.token, book)}${transaction},"amount":"${body.amount}"` +
    `,"response_destination":${placed(body.response_destination, book)}${customJson(body.custom_payload)}${trace}}`
  );
}

export function nftTransferJson(event: TokenEvent, book: Book): string {
  const { from, body } = told(event, shownMove);
  const [transaction, trace] = transactionJson(event);
  return (
    `{"query_id":"${body.query_id}","nft_address":"${book.text(event.transaction.transaction.account)}"` +
    `,"nft_collection":${placed(event.token, book)}${transaction}` +
    `,"old_owner":${placed(from, book)},"new_owner":${placed(body.new_owner, book)}` +
    `,"response_destination":${placed(body.response_destination, book)}` +
    `${customJson(body.custom_payload)},"forward_amount":"${body.forward_amount}"` +
    `${forwardJson(body.forward_payload)}${trace}}`
  );
}

function customJson(cell: CellView | null): string {
  return payloadJson('custom_payload', cell);
}

/** A payload beside the other fields is packed into a cell of its own; one of nothing is none. */
function forwardJson({ inReference, cell }: Payload): string {
  const isNone = !inReference && cell.bits === 0 && cell.refs === 0;
  return payloadJson('forward_payload', isNone ? null : cell);
}

function payloadJson(name: string, cell: CellView | null): string {
  if (cell === null) return `,"${name}":null,"decoded_${name}":null`;
  const boc = cell.serialize();
  return `,"${name}":"${boc.toString('base64')}","decoded_${name}":${decodedJson(cell, boc.length)}`;
}

const given = (name: string, address: Address | null, book: Book): string =>
  address === null ? '' : `,"${name}":"${book.text(address)}"`;

type Seller = NftSaleRecord | NftAuctionRecord | TelemintItemRecord;

function sellerJson(type: string, row: Seller, more: string, details: string, item: string): string {
  const { lastTransactionLt, codeHash, dataHash } = row;
  return (
    `${more},"last_transaction_lt":"${lastTransactionLt}","code_hash":${hashJson(codeHash)}` +
    `,"data_hash":${hashJson(dataHash)},"type":"${type}","details":{${details}}${item}}`
  );
}

/** JSON text of rows of `/nft/sales`. Of the items the book has what it has of `/nft/items`. */
export function saleRows(
  found: { sales: NftSaleRecord[]; auctions: NftAuctionRecord[]; telemint: TelemintItemRecord[] } & {
    items: Map<string, ListedNftItem>;
  },
  book: Book,
  unlisted: Book,
): string[] {
  const itemOf = (address: Address): string => {
    const item = found.items.get(hashKey(address));
    return item === undefined ? '' : `,"nft_item":${itemJson(item, book, unlisted)}`;
  };
  const head = ({ address, nftAddress, nftOwner, marketplace, createdAt }: NftSaleRecord | NftAuctionRecord): string =>
    `{"address":"${book.text(address)}","nft_address":"${book.text(nftAddress)}"` +
    `${given('nft_owner_address', nftOwner, book)}${given('marketplace_address', marketplace, book)}` +
    `,"created_at":${createdAt}`;
  return [
    ...found.sales.map((row) =>
      sellerJson('getgems_sale', row, head(row), saleDetails(row, book), itemOf(row.nftAddress)),
    ),
    ...found.auctions.map((row) =>
      sellerJson('getgems_auction', row, head(row), auctionDetails(row, book), itemOf(row.nftAddress)),
    ),
    ...found.telemint.map((row) => {
      const owner = found.items.get(hashKey(row.address))?.item.ownerAddress ?? null;
      const more =
        `{"address":"${book.text(row.address)}","nft_address":"${book.text(row.address)}"` +
        given('nft_owner_address', owner, book);
      return sellerJson('telemint', row, more, telemintDetails(row, book), itemOf(row.address));
    }),
  ];
}

function saleDetails(row: NftSaleRecord, book: Book): string {
  return (
    `"is_complete":${row.isComplete},"full_price":"${row.fullPrice}"` +
    `${given('marketplace_fee_address', row.marketplaceFeeAddress, book)},"marketplace_fee":"${row.marketplaceFee}"` +
    `${given('royalty_address', row.royaltyAddress, book)},"royalty_amount":"${row.royaltyAmount}"`
  );
}

function auctionDetails(row: NftAuctionRecord, book: Book): string {
  return (
    `"end_flag":${row.endFlag},"end_time":${row.endTime},"last_bid":"${row.lastBid}"` +
    `${given('last_member', row.lastMember, book)},"min_step":${row.minStep}` +
    `${given('mp_fee_address', row.mpFeeAddress, book)},"mp_fee_factor":${row.mpFeeFactor}` +
    `,"mp_fee_base":${row.mpFeeBase}${given('royalty_fee_address', row.royaltyFeeAddress, book)}` +
    `,"royalty_fee_factor":${row.royaltyFeeFactor},"royalty_fee_base":${row.royaltyFeeBase}` +
    `,"max_bid":"${row.maxBid}","min_bid":"${row.minBid}","last_bid_at":${row.lastBidAt}` +
    `,"is_canceled":${row.isCanceled}`
  );
}

function telemintDetails(row: TelemintItemRecord, book: Book): string {
  return (
    `"token_name":${JSON.stringify(row.tokenName)}${given('bidder_address', row.bidderAddress, book)}` +
    `,"bid":"${row.bid}","bid_ts":"${row.bidTs}","min_bid":"${row.minBid}","end_time":${row.endTime}` +
    `${given('beneficiary_address', row.beneficiaryAddress, book)},"initial_min_bid":"${row.initialMinBid}"` +
    `,"max_bid":"${row.maxBid}","min_bid_step":"${row.minBidStep}","min_extend_time":"${row.minExtendTime}"` +
    `,"duration":"${row.duration}","royalty_numerator":${row.royaltyNumerator}` +
    `,"royalty_denominator":${row.royaltyDenominator}` +
    given('royalty_destination', row.royaltyDestination, book)
  );
}
