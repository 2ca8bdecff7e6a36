import { expect, it } from 'vitest';
import { madeAction } from '../../test/made-chain.ts';
import { createBookRows } from '../api/v3/render/book-rows.ts';
import { createRenderings } from '../api/v3/render/renderings.ts';
import { contentOf } from '../chain/actions/content.ts';
import { addressOf, rawAddress } from '../chain/address.ts';
import { hearing } from './hearing.ts';
import { createNotifier, type Surroundings } from './notification.ts';
import { NOTHING } from './protocol.ts';
import { actionsEvent, toldAction } from './trace-events.ts';

it('tells with an action whom it is found by', () => {
  const account = addressOf(0, Buffer.alloc(32, 1));
  const hash = Buffer.alloc(32, 2);
  const record = { ...madeAction(hash), content: contentOf({}, [rawAddress(account)]) };
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
