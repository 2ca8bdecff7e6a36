/** What tgBTC's logs tell by themselves, which no recorded trace shows of these two. */
import { expect, test } from 'vitest';
import { account, op, type Sent } from '../../../test/made-trace.ts';
import { Body, burning, call, tell, wallets, wholes } from '../../../test/made-transfers.ts';

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

test('a new key that is not told whole is none', () => {
  expect(tell(logging(opcode(0x27756729).grams(5n).big(0xabcn, 256))).map(({ type }) => type)).toEqual([
    'ton_transfer',
  ]);
});

test('what was burnt is what the burn or the log says, whichever is less, but not a burn of nothing', () => {
  const told = (burnt: string, logged: bigint) => {
    const log: Sent = { to: null, body: opcode(0xca444ce6).grams(logged).to('alice').to('pegout').cell() };
    const atTeleport: Sent = { to: 'teleport', body: call(0x7bdd97de).cell(), sends: [log] };
    const atMaster: Sent = { to: 'red', body: call(0x7bdd97de).cell(), sends: [atTeleport] };
    const [action, ...others] = wholes([burning('alice', 'red', burnt, atMaster)], { jettonWallet: wallets });
    expect([action.type, others]).toEqual(['tgbtc_burn', []]);
    return action.details.amount;
  };
  expect([told('5', 7n), told('7', 5n), told('0', 7n)]).toEqual(['5', '5', '7']);
});

test('keys that were made before a new one is taken up are part of it', () => {
  const made: Sent = { to: null, body: opcode(0x453443a6).big(9n, 64).big(0xabcn, 256).cell() };
  const taken: Sent = { to: null, body: opcode(0x27756729).grams(5n).big(0xabcn, 256).to('pegout').cell() };
  const teleport: Sent = { to: 'teleport', body: call(0x690f357a).cell(), sends: [taken] };
  const [told, ...others] = wholes([{ to: 'coordinator', body: op(1), sends: [made, made, teleport] }]);
  expect([told.type, told.success, others]).toEqual(['tgbtc_new_key', true, []]);
  expect(told.details).toEqual({
    source: account('coordinator'),
    pubkey: 'abc',
    coordinator: account('teleport'),
    pegout: account('pegout'),
    amount: '5',
    asset: null,
  });
});

test('where bitcoins are asked for from may be of any workchain, and one of many accounts, but of standard length', () => {
  const destinationOf = (pegout: Body) => {
    const body = opcode(0xca444ce6).grams(5n).to('alice').append(pegout.big(0xabcn, 256).cell()).cell();
    const atTeleport: Sent = { to: 'teleport', body: call(0x587643a2).cell(), sends: [{ to: null, body }] };
    const [told, ...others] = wholes([burning('alice', 'red', '5', atTeleport)], { jettonWallet: wallets });
    expect([told.type, others]).toEqual(['tgbtc_burn', []]);
    return told.details.destination;
  };
  const address = `15:${'ABC'.padStart(64, '0')}`;
  expect(destinationOf(new Body().u(0b100, 3).i(15, 8))).toBe(address);
  expect(destinationOf(new Body().u(0b101, 3).u(4, 5).u(0b1010, 4).i(15, 8))).toBe(address);
  expect(destinationOf(new Body().u(0b101, 3).u(0, 5).i(15, 8))).toBeNull();
  expect(destinationOf(new Body().u(0b111, 3).u(4, 5).u(0b1010, 4).u(256, 9).i(15, 32))).toBeNull();
});
