import { beginCell, ExternalAddress } from '@ton/core';
import { expect, it } from 'vitest';
import { madeAction } from '../../test/made-chain.ts';
import { createBookRows } from '../api/v3/render/book-rows.ts';
import { createRenderings } from '../api/v3/render/renderings.ts';
import { contentOf } from '../chain/actions/content.ts';
import { addressOf, rawAddress } from '../chain/address.ts';
import type { FeedEvent } from './events.ts';
import { hearing } from './hearing.ts';
import { createNotifier, type Surroundings } from './notification.ts';
import { NOTHING } from './subscription.ts';
import { actionsEvent, toldAction } from './trace-events.ts';

const around: Surroundings = {
  traceHash: () => 'norm',
  messageRecord: () => expect.fail('there is no message'),
  bookRecords: () => [],
  metadata: () => '{}',
};
const notifier = createNotifier({
  renderings: createRenderings({ maxBytes: 0 }),
  rows: createBookRows(16),
  globalId: () => -239,
  testOnly: () => false,
  domainOf: () => null,
});

it('tells with an action whom it is found by', () => {
  const account = addressOf(0, Buffer.alloc(32, 1));
  const hash = Buffer.alloc(32, 2);
  const record = { ...madeAction(hash), content: contentOf({}, [rawAddress(account)]) };
  const event = actionsEvent(1, { traceId: hash, index: 0 } as Parameters<typeof actionsEvent>[1], [
    toldAction(record),
  ]);
  const subscription = { ...NOTHING, types: new Set(['actions'] as const), addresses: [account] };
  const told: unknown = JSON.parse(notifier.bytes(event, subscription, hearing(subscription), around).toString());
  expect(told).toMatchObject({
    type: 'actions',
    finality: 'finalized',
    trace_external_hash_norm: 'norm',
    actions: [{ type: 'ton_transfer', accounts: [rawAddress(account)] }],
  });
});

it('hears an action by the type that it is told as', () => {
  const account = addressOf(0, Buffer.alloc(32, 1));
  const hash = Buffer.alloc(32, 2);
  const details = [{}, { value_extra_currencies: { 100: '5' } }];
  const [coins, extra] = details.map((one) => ({
    ...madeAction(hash),
    content: contentOf(one, [rawAddress(account)]),
  }));
  const event = actionsEvent(1, { traceId: hash, index: 0 } as Parameters<typeof actionsEvent>[1], [
    toldAction(coins),
    toldAction(extra),
  ]);
  const chosenOf = (actionTypes: string[]) =>
    hearing({ ...NOTHING, types: new Set(['actions'] as const), addresses: [account], actionTypes }).chosen(event);
  expect(chosenOf(['extra_currency_transfer'])).toEqual([1]);
  expect(chosenOf(['ton_transfer'])).toEqual([0, 1]);
  expect(chosenOf(['jetton_transfer'])).toEqual([]);
});

it('tells in the address book what stands where a transfer names no account', () => {
  const [account, from, token] = [1, 3, 4].map((n) => addressOf(0, Buffer.alloc(32, n)));
  const body = beginCell()
    .storeUint(0x0f8a7ea5, 32)
    .storeUint(7, 64)
    .storeCoins(8n)
    .storeAddress(new ExternalAddress(0x1234n, 16))
    .storeAddress(null)
    .storeBit(0)
    .storeCoins(0n)
    .storeBit(0);
  const inMsg = { source: from, bodyBoc: () => body.endCell().toBoc() };
  const transaction = { account, hash: Buffer.alloc(32, 2), lt: '5', now: 6, description: {}, inMsg };
  const told = { type: 'jetton_transfer', token, from, to: null, amount: '8', response: null };
  const event = { ...told, record: { transaction, traceId: null } } as unknown as FeedEvent;
  const types = new Set(['jetton_transfer'] as const);
  const subscription = { ...NOTHING, types, addresses: [account], addressBook: true };
  const heard = hearing(subscription);
  const place = { user_friendly: 'addr_none', domain: null, interfaces: [] };
  const bytes = notifier.bytes(event, subscription, heard, around);
  expect(JSON.parse(bytes.toString())).toMatchObject({
    transfer: { destination: 'addr_extern', response_destination: 'addr_none' },
    address_book: { addr_extern: place, addr_none: place },
  });
  expect(notifier.pieces(event, subscription, heard, around).join('')).toBe(bytes.toString());
});
