import { expect, test } from 'vitest';
import { account } from '../../../test/made-trace.ts';
import { readTraceFile } from './trace-file.ts';

/** A file of no transactions that knows this of contracts. */
const knownFrom = (context: unknown) =>
  readTraceFile({
    format: 1,
    name: 'made',
    trace: { trace_id: null, external_hash: null, mc_seqno_end: 1, end_lt: '1', end_utime: 1 },
    transactions: [],
    context,
  }).known;

test('a sale and an auction may have no price in a file', () => {
  const [item, sale, auction] = ['item', 'sale', 'auction'].map(account);
  const known = knownFrom({
    nft_sales: { [sale]: { nft_address: item, nft_owner_address: null, marketplace_address: null, full_price: null } },
    nft_auctions: { [auction]: { nft_addr: item, nft_owner: null, mp_addr: null } },
  });
  expect([known.nftSale(sale)?.fullPrice, known.nftAuction(auction)?.lastBid]).toEqual(['0', '0']);
});

test('what a file leaves open of a contract is not known, and the rest is', () => {
  const [order, item, sale, auction, wallet] = ['order', 'item', 'sale', 'auction', 'wallet'].map(account);
  const known = knownFrom({
    multisig_orders: { [order]: { signers: null } },
    nft_items: { [item]: { index: null, collection_address: null, content: { uri: null } } },
    nft_sales: {
      [sale]: { nft_address: null, nft_owner_address: null, marketplace_address: null, full_price: '1' },
    },
    nft_auctions: { [auction]: { nft_addr: null, nft_owner: null, mp_addr: null, last_bid: '1' } },
    jetton_wallets: { [wallet]: { owner: account('alice'), jetton: null } },
  });
  expect(known.multisigOrder(order)).toEqual({ signers: [] });
  expect(known.nftItem(item)).toEqual({ index: null, collection: null, uri: null, codeHash: null });
  // A sale of nothing, and a wallet of no jetton, are none.
  expect([known.nftSale(sale), known.nftAuction(auction), known.jettonWallet(wallet)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
