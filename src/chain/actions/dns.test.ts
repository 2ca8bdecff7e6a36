/** Records of names that no recorded trace shows. */
import { expect, test } from 'vitest';
import { account } from '../../../test/made-trace.ts';
import { Body, call, tell } from '../../../test/made-transfers.ts';

test('a record may name no account', () => {
  for (const [tag, sum_type] of [
    [0xba93, 'DNSNextResolver'],
    [0x9fd3, 'DNSSmcAddress'],
  ] as const) {
    const value = new Body().u(tag, 16).to(null).u(0, 8).cell();
    const [told] = tell([{ to: 'item', body: call(0x4eb1f0f9).big(0xabn, 256).ref(value).cell() }]);
    expect(told.type).toBe('change_dns');
    expect(told.details).toMatchObject({
      key: 'ab'.padStart(64, '0'),
      value: { sum_type, dns_smc_address: null, dns_next_resolver_address: null },
      asset: account('item'),
    });
  }
});

test('a record that names an address outside the chain is none that is read', () => {
  for (const tag of [0xba93, 0x9fd3]) {
    const value = new Body().u(tag, 16).u(0b01, 2).u(8, 9).u(0xff, 8).u(0, 8).cell();
    const told = tell([{ to: 'item', body: call(0x4eb1f0f9).big(0xabn, 256).ref(value).cell() }]);
    expect(told.map(({ type }) => type)).toEqual(['call_contract']);
  }
});

test('an empty cell is no record', () => {
  const body = call(0x4eb1f0f9).big(0xabn, 256).ref(new Body().cell()).cell();
  expect(tell([{ to: 'item', body }]).map(({ type }) => type)).toEqual(['call_contract']);
});

test('a text is told where it is of one piece, and a longer one is no record that is read', () => {
  const told = (chunks: number, value: Body) => {
    const body = call(0x4eb1f0f9)
      .big(0xabn, 256)
      .ref(new Body().u(0x1eda, 16).u(chunks, 8).append(value.cell()).cell());
    const [action] = tell([{ to: 'item', body: body.cell() }]);
    return [action.type, (action.details.value as Record<string, unknown> | undefined)?.dns_storage_address];
  };
  const piece = (text: string) => new Body().u(text.length, 8).bytes(Buffer.from(text));
  expect(told(0, new Body())).toEqual(['change_dns', '']);
  expect(told(1, piece('one'))).toEqual(['change_dns', 'one']);
  expect(told(2, piece('one').ref(piece('two').cell()))).toEqual(['call_contract', undefined]);
});
