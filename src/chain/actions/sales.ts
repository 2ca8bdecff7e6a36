/** Items that change hands for money: fixed prices and auctions of GetGems (getgems-io/nft-contracts). */
import { saleUpdate } from '../layouts/nfts.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { destinationOf, messageOf, readBody } from './bodies.ts';
import type { Comment } from './comment.ts';
import { declare, type Reading } from './kind.ts';
import type { KnownContracts } from './known.ts';
import { ENDINGS, type Item, itemDetails, type NftTransfer, nftTransfer, transferDetails } from './nfts.ts';
import type { Match, Pattern } from './pattern.ts';
import { type AuctionTerms, readAuctionTerms, readSaleTerms, type SaleTerms } from './sale-data.ts';
import { deploys, tonTransfer } from './ton.ts';
import type { RawAddress } from './trace.ts';

const CANCEL_SALE = 0x00000003;

interface Purchase extends NftTransfer {
  payoutComment: Comment;
}

export const nftPurchase = declare<Purchase>({
  block: 'nft_purchase',
  groups: ['v3', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 28,
      pattern: { block: nftTransfer.block, where: (block) => nftTransfer.of(block)?.wasAsked === true },
      read: readPurchase,
    },
  ],
  details: (purchase) => transferDetails(purchase, purchase.payoutComment),
  accounts: ({ oldOwner, newOwner }) => ({ source: oldOwner, destination: newOwner }),
});

/** The seller's money: sent by the contract that had the item move, when it was paid or when it was ended. */
function readPurchase({ head }: Match): Reading<Purchase> | null {
  const transfer = nftTransfer.of(head);
  const seller = transfer?.sale?.seller ?? null;
  if (transfer === null || seller === null) return null;
  const ended = isEnding(head.prev) ? head.prev : null;
  const payment = (ended ?? head).next.find((block) => tonTransfer.of(block)?.message.destination === seller);
  const paid = payment === undefined ? null : tonTransfer.of(payment);
  if (payment === undefined || paid === null) return null;
  const payout = { amount: paid.value ?? '0', address: seller };
  const reading: Reading<Purchase> = {
    data: { ...transfer, payout, payoutComment: paid.comment() },
    blocks: [head, payment],
  };
  if (ended !== null) reading.under = ended;
  return reading;
}

function isEnding(block: Block | null): boolean {
  const transfer = tonTransfer.of(block);
  return transfer !== null && ENDINGS.has(transfer.comment().text);
}

/** An item that goes to who lists it, who makes a contract and sends it on there. */
const listing: Pattern = {
  block: nftTransfer.block,
  children: [
    { block: ['ton_transfer', 'call_contract'], where: ({ node }) => deploys(node), as: 'deploy' },
    { block: nftTransfer.block, as: 'listed' },
  ],
};

interface Listing {
  item: Item;
  owner: RawAddress | null;
  lister: RawAddress | null;
  contract: RawAddress;
  codeHash: string | null;
  deploy: Block;
}

/** Null when the item went elsewhere, or the contract is not known as one of the kind that is for this item and owner. */
function readListing(found: Match, known: KnownContracts['nftSale'] | KnownContracts['nftAuction']): Listing | null {
  const deploy = found.first('deploy');
  const first = nftTransfer.of(found.head);
  const listed = nftTransfer.of(found.first('listed'));
  if (deploy === null || first === null || listed === null) return null;
  const contract = destinationOf(deploy);
  const record = known(contract);
  if (record === undefined || listed.newOwner !== contract || listed.item.address !== first.item.address) return null;
  const { owner, codeHash } = record;
  if (record.nft !== first.item.address || owner !== first.oldOwner) return null;
  return { item: first.item, owner, lister: first.newOwner, contract, codeHash, deploy };
}

export const nftPutOnSale = declare<Listing & { terms: SaleTerms }>({
  block: 'nft_put_on_sale',
  groups: ['v3', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 29,
      pattern: listing,
      read(found, known) {
        const told = readListing(found, known.nftSale);
        return told === null ? null : { data: { ...told, terms: readSaleTerms(told.deploy, told.codeHash) } };
      },
    },
  ],
  details: ({ item, owner, lister, contract, terms }) => ({
    ...itemDetails(item),
    owner,
    listing_address: lister,
    sale_address: contract,
    marketplace_address: null,
    full_price: terms.fullPrice,
    marketplace_fee: terms.marketplaceFee,
    royalty_amount: terms.royalty,
    marketplace_fee_address: terms.marketplaceFeeAddress,
    royalty_address: terms.royaltyAddress,
    marketplace: null,
  }),
  accounts: ({ owner, lister, contract }) => ({ source: owner, source2: lister, destination: contract }),
});

interface AuctionListing {
  item: Item;
  owner: RawAddress | null;
  lister: RawAddress | null;
  contract: RawAddress;
  terms: AuctionTerms;
}

/** What actions that begin an auction print. */
export const auctionDetails = ({ item, owner, lister, contract, terms }: AuctionListing) => ({
  ...itemDetails(item),
  owner,
  listing_address: lister,
  auction_address: contract,
  marketplace_address: null,
  marketplace_fee_factor: terms.marketplaceFeeFactor,
  marketplace_fee_base: terms.marketplaceFeeBase,
  royalty_fee_base: terms.royaltyFeeBase,
  max_bid: terms.maxBid,
  min_bid: terms.minBid,
  marketplace_fee_address: terms.marketplaceFeeAddress,
  royalty_address: terms.royaltyAddress,
  marketplace: null,
});

export const nftPutOnAuction = declare<AuctionListing>({
  block: 'nft_put_on_auction',
  groups: ['v3', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 29.1,
      pattern: listing,
      read(found, known) {
        const told = readListing(found, known.nftAuction);
        return told === null ? null : { data: { ...told, terms: readAuctionTerms(told.deploy, told.codeHash) } };
      },
    },
  ],
  details: auctionDetails,
  accounts: ({ owner, lister, contract }) => ({ source: owner, source2: lister, destination: contract }),
});

interface Cancelled {
  item: Item;
  owner: RawAddress | null;
  sale: RawAddress;
  marketplace: RawAddress | null;
}

export const nftCancelSale = declare<Cancelled>({
  block: 'nft_cancel_sale',
  groups: ['v3', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 40,
      pattern: { op: CANCEL_SALE, child: { block: nftTransfer.block, as: 'returned' } },
      read(found, known) {
        const sale = destinationOf(found.head);
        const record = known.nftSale(sale);
        const returned = returnedItem(found, record?.nft);
        if (record === undefined || returned === null) return null;
        const { item, newOwner: owner } = returned;
        return { data: { item, owner, sale, marketplace: record.marketplace }, blocks: [found.head] };
      },
    },
  ],
  details: ({ item, owner, sale, marketplace }) => ({
    owner,
    nft_item: item.address,
    nft_collection: item.collection,
    sale_address: sale,
    marketplace_address: marketplace,
    marketplace: null,
  }),
  accounts: ({ item, owner, sale }) => ({ source: owner, destination: sale, more: [item.address] }),
});

/** The first of the transfers taken as `returned`, null when it is not of this item. */
export function returnedItem(found: Match, item: RawAddress | undefined): NftTransfer | null {
  const transfer = nftTransfer.of(found.first('returned'));
  return transfer?.item.address === item ? transfer : null;
}

interface Updated {
  source: RawAddress | null;
  sale: RawAddress;
  nft: RawAddress;
  marketplace: RawAddress | null;
  fullPrice: Decimal;
  marketplaceFee: Decimal;
  royalty: Decimal;
}

export const nftUpdateSale = declare<Updated>({
  block: 'nft_update_sale',
  groups: ['v3', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 25,
      pattern: { op: saleUpdate.opcode },
      read({ head }, known) {
        const sale = destinationOf(head);
        const record = known.nftSale(sale);
        if (record === undefined) return null;
        const update = readBody(head, saleUpdate);
        return {
          data: {
            source: messageOf(head).source,
            sale,
            nft: record.nft,
            marketplace: record.marketplace,
            fullPrice: update.new_full_price,
            marketplaceFee: update.new_mp_fee,
            royalty: update.new_royalty_amount,
          },
          failed: head.node.transaction.aborted,
        };
      },
    },
  ],
  details: (told) => ({
    source: told.source,
    sale_contract: told.sale,
    nft_address: told.nft,
    marketplace_address: told.marketplace,
    marketplace: null,
    full_price: told.fullPrice,
    marketplace_fee: told.marketplaceFee,
    royalty_amount: told.royalty,
  }),
  accounts: ({ source, sale, nft }) => ({ source, destination: sale, more: [nft] }),
});

export const kinds = [nftPurchase, nftPutOnSale, nftPutOnAuction, nftCancelSale, nftUpdateSale];
