/** A message to another chain, on a trace written by the layouts that are read. */
import { expect, test } from 'vitest';
import { account, accountBytes, op, type Sent } from '../../../test/made-trace.ts';
import { wholes } from '../../../test/made-transfers.ts';
import { Builder, type Cell } from '../builder.ts';
import { contentOf } from './content.ts';

const wrap = (inner: Cell): Cell => new Builder().ref(inner).cell();
/** Objects begin with 350 bits that are passed over. */
const object = (): Builder => new Builder().bytes(Buffer.alloc(43)).u(0, 6);
const hash = (last: number): Buffer => Buffer.alloc(32, 0).fill(last, 31);

const CAFE = new Builder().u(0xcafe, 16).cell();

function packetTo(oapp: Buffer, nonce = 5n, message = CAFE): Cell {
  const path = object().u(30343, 32).bytes(hash(1)).u(30101, 32).bytes(oapp).cell();
  return object().ref(path).ref(message).big(nonce, 64).bytes(hash(3)).cell();
}

function sentBody(nonce = 5n, fee = 6n, message = CAFE): Cell {
  const packet = packetTo(hash(2), nonce, message);
  const fees = new Builder().bytes(hash(4)).big(fee, 128).bytes(Buffer.alloc(15)).u(7, 8).cell();
  const send = object().u(0, 32).u(8, 32).bytes(hash(9)).bytes(hash(10));
  const options = new Builder().cell();
  const body = wrap(wrap(send.ref(packet).ref(options).ref(fees).cell()));
  return new Builder().u(0xa2b5fbae, 32).ref(body).cell();
}

function sending(...logs: Sent[]): Sent[] {
  return sendingBody(sentBody(), ...logs);
}

function sendingBody(body: Cell, ...logs: Sent[]): Sent[] {
  const sent: Sent = { to: 'oapp', body };
  const callback: Sent = { to: 'channel', body: op(0x421c1a25), sends: [...logs, sent] };
  const uln: Sent = { to: 'uln', body: op(0x5de68393), sends: [callback] };
  const library: Sent = { to: 'connection', body: op(0x4002b790), sends: [uln] };
  const channel: Sent = { to: 'channel', body: op(0x536feb09), sends: [library] };
  return [{ to: 'endpoint', body: op(0xdd4ea3b4), sends: [channel] }];
}

const event: Sent = { to: null, body: op(0xe33b9873) };

test('a message is sent', () => {
  const [told, ...others] = wholes(sending(event));
  expect(others).toEqual([]);
  expect([told.type, told.success]).toEqual(['layerzero_send', true]);
  expect(told.details).toEqual({
    initiator: account('alice'),
    layerzero_send_data: {
      send_request_id: 8,
      msglib_manager: '0x9',
      msglib: '0xa',
      uln: account('uln'),
      native_fee: 6,
      zro_fee: 7,
      endpoint: account('endpoint'),
      channel: account('channel'),
    },
    layerzero_packet_data: {
      src_oapp: '0x1',
      dst_oapp: '0x2',
      src_eid: 30343,
      dst_eid: 30101,
      nonce: 5,
      guid: '0x3',
      message: '0xcafe',
    },
  });
});

test('the bits of a message are told as they are, zeros behind those of its last byte', () => {
  const message = new Builder().u(0xcafe, 16).u(0b101, 3).ref(CAFE).cell();
  const [{ details }] = wholes(sendingBody(sentBody(5n, 6n, message), event));
  expect(details.layerzero_packet_data).toMatchObject({ message: '0xcafea0' });
});

test('without the event of its library nothing was sent', () => {
  const types = wholes(sending()).map(({ type }) => type);
  expect(new Set(types)).toEqual(new Set(['call_contract']));
});

test('numbers are stored and printed with all their digits', () => {
  const content = (body: Cell): string => {
    const [{ details, accounts }] = wholes(sendingBody(body, event));
    return contentOf(details, accounts);
  };
  const text = content(sentBody(9007199254740993n, 18446744073709551615n));
  expect(text).toContain('"nonce":9007199254740993,');
  expect(text).toContain('"native_fee":18446744073709551615,');
  const parsed = JSON.parse(text);
  expect(parsed[0].layerzero_send_data).toMatchObject({ zro_fee: 7, send_request_id: 8 });
  expect(content(sentBody(5n, 10n ** 37n))).toContain(`"native_fee":1${'0'.repeat(37)},`);
  expect(content(sentBody())).toContain('"native_fee":6,');
});

/** A chain of calls, each with its receiver. */
function along(calls: readonly (readonly [number, string])[], last: Sent): Sent {
  return calls.reduceRight((then, [opcode, to]) => ({ to, body: op(opcode), sends: [then] }), last);
}

test('what came back of a commitment is part of it, and no event beside', () => {
  const body = new Builder()
    .u(0x5388cd88, 32)
    .ref(wrap(packetTo(hash(2))))
    .cell();
  const back: Sent = { to: 'alice' };
  const told: Sent = { to: 'library', body: op(0x5e178f33), sends: [{ to: 'sink', body: op(0xe33b9873) }, back, back] };
  const channel: Sent = { to: 'channel', body, sends: [told] };
  const calls = [
    [0x28b97077, 'uln'],
    [0xf9d37b80, 'connection'],
    [0x5dab749a, 'endpoint'],
  ] as const;
  const types = wholes([along(calls, channel)]).map(({ type }) => type);
  expect(types).toEqual(['layerzero_commit_packet', 'call_contract']);
});

test('a packet is received by the account that it names, leading zeros left out', () => {
  const names = Array.from({ length: 100 }, (_, i) => `oapp ${i}`);
  const receives = (oapp: string): boolean => {
    const packet = packetTo(accountBytes(oapp).subarray(4));
    const received = new Builder().u(0x0c7b8418, 32).ref(wrap(packet)).cell();
    const executed: Sent = { to: oapp, body: received, sends: [{ to: 'channel', body: op(0xcaae25a1) }] };
    const calls = [
      [0x22f3ac09, 'endpoint'],
      [0x97df404c, 'oapp'],
      [0xb7680bc6, 'channel'],
    ] as const;
    return wholes([along(calls, executed)]).some(({ type }) => type === 'layerzero_receive');
  };
  const [padded, full] = [true, false].map((zero) => names.find((name) => account(name).startsWith('0:0') === zero));
  expect([receives(full ?? ''), receives(padded ?? '')]).toEqual([true, false]);
});
