/** What comes back to a multisig, which no recorded trace shows. */
import { expect, test } from 'vitest';
import { account, op, type Sent } from '../../../test/made-trace.ts';
import { call, wholes } from '../../../test/made-transfers.ts';
import { Builder } from '../builder.ts';
import type { KnownContracts } from './known.ts';

const multisigOrder: KnownContracts['multisigOrder'] = (address) =>
  address === account('order') ? { signers: [account('alice'), account('bob')] } : undefined;

const order = new Builder().u(7, 8).cell();
const bounced = (to: string): Sent => ({ to, body: op(0xffffffff) });

test('an order that is refused comes back as a call of its own', () => {
  const asked = call(0xf718510f).big(5n, 256).bit(1).u(2, 8).u(0, 16).u(99, 32).ref(order).cell();
  const init = call(0x9c73fba2).u(2, 8).bit(0).u(0, 16).u(99, 32).ref(order).bit(1).u(2, 8).cell();
  const sent: Sent = { to: 'order', body: init, aborted: true, sends: [bounced('multisig')] };
  const actions = wholes([{ to: 'multisig', body: asked, sends: [sent] }], { multisigOrder });
  expect(actions.map(({ type, success }) => [type, success])).toEqual([
    ['multisig_create_order', true],
    ['call_contract', true],
  ]);
  expect(actions[0].details).toMatchObject({
    order_seqno: '5',
    is_created_by_signer: true,
    is_signed_by_creator: true,
    creator_index: 2,
    expiration_date: 99,
    destination_order: account('order'),
  });
  expect(actions[0].accounts).toContain(account('bob'));
});

test('the answer to a vote is part of it, and nothing behind that', () => {
  for (const [opcode, success, exitCode] of [
    [0x82609bf6, true, 0],
    [0xafaf283e, false, 106],
  ] as const) {
    const answer: Sent = { to: 'alice', body: call(opcode).u(106, 32).cell(), sends: [bounced('order')] };
    const actions = wholes([{ to: 'order', body: call(0xa762230f).u(1, 8).cell(), sends: [answer] }], {
      multisigOrder,
    });
    expect(actions.map(({ type }) => type)).toEqual(['multisig_approve', 'call_contract']);
    expect([actions[0].success, actions[0].details]).toMatchObject([success, { signer_index: 1, exit_code: exitCode }]);
  }
});

test('a vote whose body is cut off names no signer', () => {
  const answer: Sent = { to: 'alice', body: call(0x82609bf6).u(0, 32).cell() };
  const actions = wholes([{ to: 'order', body: call(0xa762230f).u(1, 4).cell(), sends: [answer] }], { multisigOrder });
  expect(actions.map(({ type, details }) => [type, details])).toMatchObject([
    ['multisig_approve', { signer_index: -1 }],
  ]);
});
