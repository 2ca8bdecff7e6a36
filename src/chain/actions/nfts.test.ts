/** Ways items move and are listed that no recorded trace shows: they hold the code to the description. */
import { expect, test } from 'vitest';
import {
  account,
  accountBytes,
  comment,
  knowing,
  madeTrace,
  op,
  type Sent,
  written,
} from '../../../test/made-trace.ts';
import { Body, call, inline, tell, wholes } from '../../../test/made-transfers.ts';
import { Builder, type Cell } from '../builder.ts';
import { CellView } from '../layouts/cell-view.ts';
import { stateInit } from '../layouts/messages.ts';
import { nftTransfer } from '../layouts/nfts.ts';
import { classify } from './classify.ts';
import type { KnownContracts, KnownNftItem, KnownSale } from './known.ts';

const ITEM: KnownNftItem = { index: '3', collection: account('collection'), uri: null, codeHash: null };
const nftItem: KnownContracts['nftItem'] = (address) => (address === account('item') ? ITEM : undefined);

test('an item that leaves the payload out moves', () => {
  const request = call(0x5fcc3d14).to('bob').to(null).bit(0).grams(1n).cell();
  const told = call(0x05138d91).to('carol').cell();
  const [action, ...others] = tell([{ to: 'item', body: request, sends: [{ to: 'bob', body: told }] }], { nftItem });
  expect(others).toEqual([]);
  expect(action.type).toBe('nft_transfer');
  expect(action.details).toMatchObject({
    old_owner: account('carol'),
    new_owner: account('bob'),
    forward_payload: null,
    is_encrypted_comment: null,
  });
});

test('an item that tells of no owner before is told without one, whoever had it move', () => {
  const told: Sent = { to: 'bob', body: call(0x05138d91).to(null).bit(0).cell() };
  const [action] = tell([moving('bob', told)], { nftItem });
  expect(action.type).toBe('nft_transfer');
  expect(action.details.old_owner).toBeUndefined();
  expect(tell([moving('bob')], { nftItem })[0].details.old_owner).toBe(account('alice'));
});

test('an item that is to go to nobody, or outside the chain, is asked by a call', () => {
  const outside = new Builder().u(0b01, 2).u(8, 9).u(5, 8).cell();
  const asked = (body: Body) => {
    return tell([{ to: 'item', body: body.bit(0).grams(1n).bit(0).cell(), aborted: true }], { nftItem })[0].type;
  };
  const head = () => call(0x5fcc3d14);
  expect(asked(head().to('bob').to(null))).toBe('nft_transfer');
  expect(asked(head().to(null).to('bob'))).toBe('call_contract');
  expect(asked(head().append(outside).to('bob'))).toBe('call_contract');
  expect(asked(head().to('bob').append(outside))).toBe('call_contract');
});

test('an item is of a collection, or of none, and not of one outside the chain', () => {
  const typesOf = (collection: Body) => {
    const answer = call(0x8b771735).big(3n, 256).append(collection.cell()).cell();
    return tell([{ to: 'item', body: call(0x2fcb26a2).cell(), sends: [{ to: 'alice', body: answer }] }]).map(
      ({ type, isPart }) => (isPart ? `part ${type}` : type),
    );
  };
  const parts = ['part call_contract', 'part call_contract'];
  expect(typesOf(new Body().to(null))).toEqual(['nft_discovery', ...parts]);
  expect(typesOf(new Body().u(0b01, 2).u(8, 9).u(5, 8))).toEqual(['call_contract', 'call_contract']);
});

const fillUp = (to: string, value: string): Sent => ({ to, body: call(0x370fec51).cell(), value });

/** A payment to an item, which then tells bob that it is his. */
function paying(body: Body, ...payouts: Sent[]): Sent {
  return { to: 'item', body: comment('mine'), sends: [{ to: 'bob', body: body.cell() }, ...payouts] };
}

const assigned = (payload: (body: Body) => Body): Body => payload(call(0x05138d91).to('carol'));

test('what an item paid is part of the move where it held an auction', () => {
  const bid = assigned((body) => body.bit(0).u(0x38127de1, 32).grams(90n).u(1, 32));
  const [action, ...others] = tell([paying(bid, fillUp('telegram', '5'), fillUp('carol', '80'))], { nftItem });
  expect(others).toEqual([]);
  expect(action.details).toMatchObject({
    is_purchase: true,
    price: '90',
    royalty_amount: '5',
    royalty_address: account('telegram'),
    payout_amount: '80',
    payout_address: account('carol'),
  });
});

test('without an auction the payment and what the item paid stay apart', () => {
  for (const payload of [(body: Body) => body.bit(0), (body: Body) => body]) {
    const actions = tell([paying(assigned(payload), fillUp('telegram', '5'))], { nftItem });
    expect(actions.map(({ type }) => type).sort()).toEqual(['call_contract', 'nft_transfer', 'ton_transfer']);
    const [told] = actions.filter(({ type }) => type === 'nft_transfer');
    expect(told.details).toMatchObject({ is_purchase: false, old_owner: account('carol'), payout_amount: null });
  }
});

test('a payload that cannot be read is none', () => {
  const noReference = assigned((body) => body.bit(1));
  const cutBid = assigned((body) => body.bit(0).u(0x38127de1, 32).grams(90n));
  for (const body of [noReference, cutBid]) {
    const actions = tell([paying(body, fillUp('telegram', '5'))], { nftItem });
    expect(actions.map(({ type }) => type).sort()).toEqual(['call_contract', 'nft_transfer', 'ton_transfer']);
    const [told] = actions.filter(({ type }) => type === 'nft_transfer');
    expect(told.details).toMatchObject({ is_purchase: false, forward_payload: null, is_encrypted_comment: null });
  }
});

test('the text of a payload is told byte by byte', () => {
  const text = Buffer.concat([Buffer.from('a\0€'), Buffer.from('ff82e282', 'hex'), Buffer.from('z')]);
  const body = assigned((into) => into.bit(0).u(0, 32).bytes(text));
  const [told] = tell([paying(body)], { nftItem }).filter(({ type }) => type === 'nft_transfer');
  expect(told.details.comment).toBe('a\0€\ufffd\ufffd\ufffd\ufffdz');
});

test('an auction of an item of Telegram is told without terms that cannot be read', () => {
  const username: KnownNftItem = { ...ITEM, uri: 'https://nft.fragment.com/username/a.json' };
  const starting = (config: Cell): Sent => ({ to: 'item', body: call(0x487a8e81).ref(config).cell() });
  const told = (config: Cell) => {
    const [action, ...others] = wholes([starting(config)], { nftItem: () => username });
    expect([action.type, others]).toEqual(['teleitem_start_auction', []]);
    const { min_bid: min, max_bid: max, marketplace_fee_address: fees } = action.details;
    return [min, max, fees];
  };
  const terms = (to: string | null) => new Body().to(to).grams(10n).grams(90n).u(5, 8);
  expect(told(terms('alice').u(60, 32).u(600, 32).cell())).toEqual(['10', '90', account('alice')]);
  expect(told(terms(null).u(60, 32).u(600, 32).cell())).toEqual(['10', '90', null]);
  expect(told(terms('alice').cell())).toEqual(['0', '0', null]);
  // What is outside the chain gets no fees: the whole is a call.
  const outside = new Body().u(0b01, 2).u(8, 9).u(0xff, 8).grams(10n).grams(90n).u(5, 8).u(60, 32).u(600, 32).cell();
  expect(wholes([starting(outside)], { nftItem: () => username }).map(({ type }) => type)).toEqual(['call_contract']);
});

test('an item that an external message deployed is told as such', () => {
  const bid = assigned((body) => body.bit(0).u(0x38127de1, 32).grams(90n).u(1, 32));
  const trace = madeTrace({ to: 'item', from: 'uninit', body: op(5), sends: [{ to: 'bob', body: bid.cell() }] });
  const { actions } = classify(trace, knowing({ nftItem }));
  expect(actions.map(({ type }) => type).sort()).toEqual(['contract_deploy', 'nft_mint', 'nft_transfer']);
  const [told] = actions.filter(({ type }) => type === 'nft_transfer');
  expect(told.details).toMatchObject({ is_purchase: false, new_owner: account('bob') });
});

function moving(to: string, ...sends: Sent[]): Sent {
  const body = written(nftTransfer, {
    query_id: '1',
    new_owner: accountBytes(to),
    response_destination: null,
    custom_payload: null,
    forward_amount: '1',
    forward_payload: inline(),
  });
  return { to: 'item', body, sends };
}

/** Alice's item goes to the marketplace, which makes a contract with this data and sends the item on there. */
function listing(data: Cell): Sent {
  const parts = { fixed_prefix_length: null, special: null, code: null, library: null };
  const init = written(stateInit, { ...parts, data: CellView.from(data) });
  const told: Sent = {
    to: 'lister',
    body: call(0x05138d91).to('alice').bit(0).cell(),
    sends: [{ to: 'sale', body: op(1), init, from: 'uninit' }, moving('sale')],
  };
  return moving('lister', told);
}

/** Data of the newest sale contract. */
const SALE_V4 = new Body()
  .bit(0)
  .to('market')
  .to('alice')
  .grams(700n)
  .u(0, 32)
  .u(0, 64 - 32)
  .u(0, 32)
  .ref(new Body().to('fees').to('royalties').u(5000, 17).u(250, 17).cell())
  .cell();

function selling(sale: Partial<KnownSale>): Partial<KnownContracts> {
  const known: KnownSale = {
    nft: account('item'),
    owner: account('alice'),
    marketplace: account('market'),
    fullPrice: '700',
    codeHash: 'a5WmQYucnSNZBF0edVm41UmuDlBvJMqrWPowyPsf64Y=',
    ...sale,
  };
  return { nftItem, nftSale: (address) => (address === account('sale') ? known : undefined) };
}

test('an item is put on sale at a contract that takes shares', () => {
  const listed = wholes([listing(SALE_V4)], selling({})).filter(({ type }) => type !== 'contract_deploy');
  expect(listed.map(({ type }) => type)).toEqual(['nft_put_on_sale']);
  expect(listed[0].details).toEqual({
    nft_collection: account('collection'),
    nft_item: account('item'),
    nft_item_index: '3',
    owner: account('alice'),
    listing_address: account('lister'),
    sale_address: account('sale'),
    marketplace_address: null,
    full_price: '700',
    marketplace_fee: null,
    royalty_amount: null,
    marketplace_fee_address: account('fees'),
    royalty_address: account('royalties'),
    marketplace: null,
  });
});

test('a sale of another item, or of another owner, is not what was listed', () => {
  for (const sale of [{ nft: account('other item') }, { owner: account('bob') }]) {
    const types = tell([listing(SALE_V4)], selling(sale)).map(({ type }) => type);
    expect(types).not.toContain('nft_put_on_sale');
  }
});

test('a payout with an encrypted comment is told in base64', () => {
  const body = new Builder().u(0x2167da4b, 32).bytes(Buffer.from('0123', 'hex')).cell();
  const bought: Sent = {
    to: 'sale',
    body: comment('mine'),
    sends: [moving('alice'), { to: 'carol', body, value: '5' }],
  };
  const [told, ...others] = wholes([bought], selling({ owner: account('carol') }));
  expect(others).toEqual([]);
  expect(told.type).toBe('nft_purchase');
  expect(told.details).toMatchObject({
    payout_amount: '5',
    payout_comment: 'ASM=',
    payout_comment_encrypted: true,
    payout_comment_encoded: true,
  });
});

test('a sale is cancelled where the first item that it sends is its own', () => {
  const other: KnownContracts['nftItem'] = (address) => (address === account('other item') ? ITEM : nftItem(address));
  const cancelling = (...sends: Sent[]): Sent => ({ to: 'sale', body: call(3).cell(), sends });
  const typesOf = (...sends: Sent[]) =>
    wholes([cancelling(...sends)], { ...selling({}), nftItem: other }).map(({ type }) => type);
  const astray = { ...moving('bob'), to: 'other item' };
  expect(typesOf(moving('alice'), astray)).toEqual(['nft_cancel_sale', 'nft_transfer', 'nft_transfer']);
  expect(typesOf(astray, moving('alice'))).toEqual(['call_contract', 'nft_transfer', 'nft_transfer']);
});
