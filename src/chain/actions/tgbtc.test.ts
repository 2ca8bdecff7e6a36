/** What tgBTC's logs tell by themselves, which no recorded trace shows of these two. */
import { expect, test } from 'vitest';
import { account, type Sent } from '../../../test/made-trace.ts';
import { Body, tell } from '../../../test/made-transfers.ts';

const logging = (body: Body): Sent[] => [{ to: 'teleport', sends: [{ to: null, body: body.cell() }] }];

const opcode = (value: number): Body => new Body().u(value, 32);

test('a mint by its log alone', () => {
  const body = opcode(0x77a80ef3).grams(5n).to('bob').big(0x0102n, 256);
  const [, told, ...others] = tell(logging(body));
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['tgbtc_mint_fallback', true]);
  expect(told.details).toEqual({
    source: account('teleport'),
    destination: account('bob'),
    amount: '5',
    asset: null,
    bitcoin_tx_id: `0201${'0'.repeat(60)}`,
    destination_wallet: null,
  });
  expect(told.accounts).toContain(account('bob'));
});

test('a new key by its log alone', () => {
  const body = opcode(0x27756729).grams(5n).big(0xabcn, 256).to('pegout');
  const [, told, ...others] = tell(logging(body));
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['tgbtc_new_key_fallback', true]);
  expect(told.details).toEqual({
    source: null,
    pubkey: 'abc',
    coordinator: account('teleport'),
    pegout: account('pegout'),
    amount: '5',
    asset: null,
  });
});
