/** What orders of multisigs do, for orders made with another library; the words are the reference's. */
import { beginCell, Cell, Dictionary, internal, storeMessageRelaxed, Address as TonAddress } from '@ton/core';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { addressOf, rawAddress } from '../../../chain/address.ts';
import { createBook } from './book.ts';
import { orderActionsJson, roomForActions } from './order-actions.ts';

const ton = (n: number): TonAddress => new TonAddress(0, Buffer.alloc(32, n));
const raw = (n: number): string => rawAddress(addressOf(0, Buffer.alloc(32, n)));
type Body = ReturnType<typeof beginCell>;

const shown = z.array(z.looseObject({ parsed_body_type: z.string(), parsed_body: z.looseObject({}) }));

/** An action that sends a message with this body. */
function send(body: Cell): Cell {
  const message = internal({ to: ton(3), value: 5n, body });
  return beginCell()
    .storeUint(0xf1381e5b, 32)
    .storeUint(3, 8)
    .storeRef(beginCell().store(storeMessageRelaxed(message)).endCell())
    .endCell();
}

/** What is printed of an order that sends a message with this body, and the addresses that are noted. */
function sent(body: Body) {
  const actions = Dictionary.empty(Dictionary.Keys.Uint(8), Dictionary.Values.Cell()).set(0, send(body.endCell()));
  const book = createBook(false);
  const order = beginCell().storeDictDirect(actions).endCell().toBoc();
  const [{ parsed_body_type: type, parsed_body: body_ }] = shown.parse(
    JSON.parse(orderActionsJson(order, book, roomForActions())),
  );
  return { type, body: body_, noted: book.addresses().map(rawAddress) };
}

const begun = (opcode: number): Body => beginCell().storeUint(opcode, 32).storeUint(1, 64);
const transfer = (): Body =>
  begun(0x0f8a7ea5).storeCoins(7n).storeAddress(ton(1)).storeAddress(null).storeBit(0).storeCoins(1n);

it.each([
  [0xeed236d3, 'JettonSetStatus'],
  [0x0f8a7ea5, 'JettonTransfer'],
  [0x595f07bc, 'JettonBurn'],
  [0x12345678, 'Unknown'],
])('a master has a wallet do what begins with %i: %s', (opcode, action_type) => {
  const action = beginCell().storeUint(opcode, 32).endCell();
  const { type, body } = sent(begun(0x235caf52).storeAddress(ton(1)).storeCoins(2n).storeRef(action));
  expect([type, body]).toEqual(['jetton_call_to', expect.objectContaining({ action_type })]);
});

it('a master has a wallet do nothing that has a name', () => {
  const { body } = sent(begun(0x235caf52).storeAddress(ton(1)).storeCoins(2n).storeRef(beginCell().endCell()));
  expect(body.action_type).toBe('');
});

it.each([
  [1_500_000_000n, '1.5'],
  [0n, '0'],
  [20n, '0.00000002'],
  [30_000_000_000n, '30'],
])('a swap is told with what it pays for: %d', (amount, min_amount) => {
  const swap = beginCell().storeUint(0x25938561, 32).storeAddress(ton(8)).storeCoins(amount).storeAddress(ton(9));
  const { body, noted } = sent(transfer().storeBit(1).storeRef(swap.storeBit(0).endCell()));
  expect(body).toMatchObject({
    payload_sum_type: 'StonfiSwap',
    stonfi_swap_body: { jetton_wallet: raw(8), min_amount, user_address: raw(9) },
  });
  expect(noted).toEqual(expect.arrayContaining([raw(8), raw(9)]));
});

it('a swap that cannot be read stays one', () => {
  const { body } = sent(transfer().storeBit(0).storeUint(0x25938561, 32));
  expect(body).toMatchObject({ payload_sum_type: 'StonfiSwap', stonfi_swap_body: null });
});

it('a forward payload of nothing is an empty cell', () => {
  const { body } = sent(transfer().storeBit(0));
  expect(body.payload_sum_type).toBe('');
  expect(Cell.fromBase64(String(body.forward_payload)).equals(beginCell().endCell())).toBe(true);
});

it.each([
  ['beside the other fields', begun(0xcb862902).storeStringTail('https://a.example/1.json')],
  ['in a reference', begun(0xcb862902).storeRef(beginCell().storeStringTail('https://a.example/1.json').endCell())],
])('new content is read %s', (_where, body) => {
  expect(sent(body)).toMatchObject({
    type: 'jetton_change_content',
    body: { new_metadata_url: 'https://a.example/1.json' },
  });
});

it('new content is read to its end', () => {
  const url = `https://a.example/${'metadata/'.repeat(20)}1.json`;
  expect(sent(begun(0xcb862902).storeStringTail(url)).body.new_metadata_url).toBe(url);
});

it('a mint is one whatever the wallet is told', () => {
  const told = beginCell().storeUint(0x11111111, 32).storeUint(4, 64).storeCoins(6n).endCell();
  const { type, body } = sent(begun(0x642b7d07).storeAddress(ton(1)).storeCoins(2n).storeRef(told));
  expect([type, body]).toEqual([
    'jetton_mint',
    expect.objectContaining({ master_msg_query_id: 4, master_msg_jetton_amount: '6' }),
  ]);
});

it('an action that does not stand in a reference is not parsed, and the others are', () => {
  const actions = Dictionary.empty(Dictionary.Keys.Uint(8), {
    serialize: (inside: boolean, builder: Body) => {
      if (inside) builder.storeUint(0xf1381e5b, 32);
      else builder.storeRef(send(begun(0x12345678).endCell()));
    },
    parse: () => false,
  });
  actions.set(0, true).set(1, false);
  const text = orderActionsJson(
    beginCell().storeDictDirect(actions).endCell().toBoc(),
    createBook(false),
    roomForActions(),
  );
  expect(JSON.parse(text)).toEqual([
    expect.objectContaining({ parsed: false, parsed_body: null, parsed_body_type: 'unknown' }),
    expect.objectContaining({ parsed: true, parsed_body: expect.objectContaining({ opcode: 0x12345678 }) }),
  ]);
});

it('a burn is one with or without what stands behind whom the rest goes to', () => {
  const burn = () => begun(0x595f07bc).storeCoins(7n).storeAddress(ton(1));
  const told = { type: 'jetton_burn', body: { query_id: 1, amount: '7', response_destination: raw(1) } };
  expect(sent(burn())).toMatchObject(told);
  expect(sent(burn().storeBit(0))).toMatchObject(told);
  expect(sent(burn().storeBit(1).storeRef(beginCell().endCell()))).toMatchObject(told);
  expect(sent(begun(0x595f07bc))).toMatchObject({ type: 'unknown', body: { opcode: 0 } });
});

it.each([
  ['of whole bytes', beginCell().storeBuffer(Buffer.from('hey')), 'hey'],
  [
    'of bytes that go on',
    beginCell()
      .storeBuffer(Buffer.from('he'))
      .storeRef(beginCell().storeBuffer(Buffer.from('y'))),
    'hey',
  ],
  ['of nothing', beginCell(), ''],
  ['of a reference alone', beginCell().storeRef(beginCell().storeBuffer(Buffer.from('hey'))), ''],
  ['of some bits', beginCell().storeUint(1, 7), ''],
  ['of bytes that are no text', beginCell().storeBuffer(Buffer.from([0xff])), ''],
])('a body %s is a plain transfer', (_what, body, comment) => {
  expect(sent(body)).toMatchObject({ type: 'ton_transfer', body: { comment, encrypted: false } });
});

it('a nominator may be told of no validator', () => {
  const body = begun(0x1001).storeAddress(null);
  expect(sent(body)).toMatchObject({
    type: 'single_nominator_change_validator',
    body: { query_id: 1, validator_address: null },
  });
});

it('an order of one body that all of its actions share is told up to a size, the rest as not parsed', () => {
  let body = beginCell().endCell();
  for (let i = 0; i < 100; i++) body = beginCell().storeUint(i, 1000).storeRef(body).endCell();
  // Empty labels, and both branches of each fork the same cell.
  let order = beginCell()
    .storeUint(0, 2)
    .storeRef(send(begun(0x12345678).storeRef(body).endCell()))
    .endCell();
  for (let i = 0; i < 8; i++) order = beginCell().storeUint(0, 2).storeRef(order).storeRef(order).endCell();
  const text = orderActionsJson(order.toBoc(), createBook(false), roomForActions());
  expect(text.length).toBeLessThan(1.1 * 1024 * 1024);
  const actions = shown.parse(JSON.parse(text.replaceAll('"parsed_body":null', '"parsed_body":{}')));
  expect(actions).toHaveLength(256);
  expect(actions[0]).toMatchObject({ parsed: true, parsed_body: { opcode: 0x12345678 } });
  expect(actions[0].body_raw).toBe(actions[0].parsed_body.data);
  const error = expect.stringContaining('too large');
  expect(actions[255]).toMatchObject({ parsed: false, error, body_raw: null, parsed_body_type: 'unknown' });
});

it('the orders of an answer share what room there is', () => {
  const actions = Dictionary.empty(Dictionary.Keys.Uint(8), Dictionary.Values.Cell());
  actions.set(0, send(begun(0x12345678).endCell()));
  const order = beginCell().storeDictDirect(actions).endCell().toBoc();
  const room = { bytes: 10 };
  const told = [1, 2].map(() => orderActionsJson(order, createBook(false), room));
  const list = z.array(z.object({ parsed: z.boolean() }));
  expect(told.map((text) => list.parse(JSON.parse(text))[0].parsed)).toEqual([true, false]);
});
