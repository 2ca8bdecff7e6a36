import { expect, it } from 'vitest';
import { rawAddress } from '../chain/address.ts';
import { readBody, readRequest, readSubscriber } from './protocol.ts';

it('a subscription is told of traces as the protocol has it, but single transactions where it asks for more than that', () => {
  const plain = { types: ['transactions', 'account_state_change'], addresses: [rawAddress(Buffer.alloc(36, 1))] };
  const typesOf = (more: Record<string, unknown>) =>
    [...readBody(JSON.stringify({ ...plain, ...more })).subscription.types][0];
  const beyond = [
    { with_cursor: true },
    { from_mc_seqno: 5 },
    { everything: true },
    { opcodes: ['0x1'] },
    { types: ['transactions', 'block'] },
    { finality_scope: 'transaction' },
  ];
  expect(beyond.map(typesOf)).toEqual(beyond.map(() => 'transactions'));
  const known = [
    {},
    { min_finality: 'finalized', include_metadata: true, unheard: 1 },
    { types: ['transactions', 'trace_invalidated'] },
    { with_cursor: true, min_finality: 'pending' },
    { with_cursor: true, finality_scope: 'trace' },
  ];
  expect(known.map(typesOf)).toEqual(known.map(() => 'trace_transactions'));
  // A webhook was made to hear each.
  expect([...readSubscriber(plain).subscription.types][0]).toBe('transactions');
  // One that has gone beyond stays there.
  const before = readBody(JSON.stringify({ ...plain, with_cursor: true })).subscription;
  for (const [had, heard] of [
    [before, 'transactions'],
    [readBody(JSON.stringify(plain)).subscription, 'trace_transactions'],
  ] as const) {
    const request = readRequest(JSON.stringify({ operation: 'subscribe', ...plain }), had);
    expect(request.operation === 'subscribe' && [...request.subscription.types][0]).toBe(heard);
  }
});
