/** Auctions by the data that their contracts were made with: no recorded trace shows more than two of them. */
import { expect, test } from 'vitest';
import { account, accountBytes, op, type Sent, written } from '../../../test/made-trace.ts';
import { Body, inline, tell } from '../../../test/made-transfers.ts';
import { Builder, type Cell } from '../builder.ts';
import { CellView } from '../layouts/cell-view.ts';
import { stateInit } from '../layouts/messages.ts';
import { nftOwnershipAssigned, nftTransfer } from '../layouts/nfts.ts';

const move = (to: string) =>
  written(nftTransfer, {
    query_id: '1',
    new_owner: accountBytes(to),
    response_destination: null,
    custom_payload: null,
    forward_amount: '1',
    forward_payload: inline(),
  });

/** What is told of an item that alice gives to a lister, who puts it into an auction with these data. */
function listed(data: Cell, codeHash: string | null) {
  const parts = { fixed_prefix_length: null, special: null, code: null, library: null };
  const init = written(stateInit, { ...parts, data: CellView.from(data) });
  const assigned = { query_id: '1', prev_owner: accountBytes('alice'), forward_payload: inline() };
  const lister: Sent = {
    to: 'lister',
    body: written(nftOwnershipAssigned, assigned),
    sends: [
      { to: 'auction', body: op(1), init, from: 'uninit' },
      { to: 'item', body: move('auction') },
    ],
  };
  const actions = tell([{ to: 'item', body: move('lister'), sends: [lister] }], {
    nftItem: (address) =>
      address === account('item')
        ? { index: '3', collection: account('collection'), uri: null, codeHash: null }
        : undefined,
    nftAuction(address) {
      if (address !== account('auction')) return undefined;
      const [nft, owner, marketplace] = ['item', 'alice', 'market'].map(account);
      return { nft, owner, marketplace, lastBid: '0', codeHash };
    },
  });
  return actions.find(({ type }) => type === 'nft_put_on_auction');
}

/** Each address before its share, as the first auctions have them. */
const earlyFees = (): Cell => {
  const fees = new Body().to('fees').u(5, 32).u(100, 32);
  return fees.to('royalties').u(7, 32).u(200, 32).cell();
};

/** Nobody has bid: not over, (not activated,) not cancelled. */
const unbid = (flags: number): Body => new Body().u(0, flags).to(null).grams(0n).u(0, 32).u(1, 32);

/** By the hash of their code, as the description of GetGems' contracts has them. */
const AUCTIONS: [version: string, codeHash: string | null, data: Cell][] = [
  [
    'v1',
    '/ACindAgW83MDT/7nKOMw8jBWexg2KpUMkCpLxBZLUA=',
    new Body()
      .ref(earlyFees())
      .ref(new Builder().grams(1000n).grams(9000n).grams(1n).u(1, 32).u(2, 32).u(3, 32).cell())
      .cell(),
  ],
  [
    'v3r2',
    'G9nFo5v/t6DzQViLXdkrgTqEK/Ze8UEJOCIAzq+Pct8=',
    unbid(3)
      .ref(earlyFees())
      .ref(new Body().u(50_000, 32).to('market').grams(1000n).grams(9000n).grams(1n).u(60, 32).cell())
      .cell(),
  ],
  [
    'v3r3',
    'u29ireD+stefqzuK6/CTCvmFU99gCTsgJ/Covxab/Ow=',
    unbid(2)
      .to('alice')
      .u(0, 32)
      .u(0, 32)
      .u(5, 32)
      .u(100, 32)
      .u(7, 32)
      .u(200, 32)
      .ref(new Body().to('fees').to('royalties').cell())
      .ref(new Body().to('market').grams(1000n).grams(9000n).grams(1n).u(60, 32).cell())
      .cell(),
  ],
  [
    'v4r1',
    'zlp4U06qps7tja/UhtB262CpsNbb+1Nnb2YmScBomVY=',
    unbid(2)
      .to('alice')
      .u(0, 32)
      .u(0, 32)
      .ref(new Body().to('fees').to('royalties').u(5, 32).u(100, 32).u(7, 32).u(200, 32).cell())
      .ref(new Body().to('market').grams(1000n).grams(9000n).u(5, 7).u(60, 17).cell())
      .cell(),
  ],
];

test.each(AUCTIONS)('an item is put up for auction (%s)', (_, codeHash, data) => {
  const told = listed(data, codeHash);
  expect(told?.success).toBe(true);
  expect(told?.details).toEqual({
    nft_collection: account('collection'),
    nft_item: account('item'),
    nft_item_index: '3',
    owner: account('alice'),
    listing_address: account('lister'),
    auction_address: account('auction'),
    marketplace_address: null,
    marketplace_fee_factor: '5',
    marketplace_fee_base: '100',
    royalty_fee_base: '200',
    max_bid: '9000',
    min_bid: '1000',
    marketplace_fee_address: account('fees'),
    royalty_address: account('royalties'),
    marketplace: null,
  });
});

test('of an auction whose code nobody knows the data are those of v3r3, and those of v2 are not read', () => {
  const [, , data] = AUCTIONS[2];
  expect(listed(data, null)?.details).toMatchObject({ min_bid: '1000', max_bid: '9000' });
  expect(listed(data, 'ZmiHL6eXBUQ//UdSPo6eqfdquZ+aC1nSfej4GhwnudQ=')).toBeUndefined();
});
