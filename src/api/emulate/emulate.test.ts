/** What `/api/emulate/v1` refuses before anything is emulated, and the form of what it tells. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { silent } from '../../../clickhouse/test-server.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from '../../../test/api-server.ts';
import { COIN, serveDevnet } from '../../../test/devnet-served.ts';
import { createFakeSource } from '../../../test/fake-source.ts';
import { createMemoryChain } from '../../../test/memory-source.ts';
import { addressOf } from '../../chain/address.ts';
import { Builder, type Cell, parseBoc, toBoc } from '../../chain/builder.ts';
import { writeExternalMessage } from '../../chain/external-message.ts';
import { parseGlobalConfig } from '../../node/global-config.ts';
import { createLitePool } from '../../node/lite-pool.ts';
import { emulated } from './answer.ts';

const refusal = z.strictObject({ error: z.string() });
let server: ApiServer;
beforeAll(async () => {
  server = await serveApi(createFakeSource().source);
});
afterAll(() => server.close());

async function post(path: string, body: string, { url } = server): Promise<{ status: number; error: string }> {
  const headers = { 'Content-Type': 'application/json', 'X-Timeout': '100' };
  const response = await fetch(`${url}/api/emulate/v1/${path}`, { method: 'POST', headers, body });
  const { error } = refusal.parse(await response.json());
  return { status: response.status, error };
}

const from = `0:${'1'.repeat(64)}`;
const message = { address: from, amount: '1' };

const address = addressOf(0, Buffer.alloc(32, 0x11));
const text = (cell: Cell): string => toBoc(cell).toString('base64');
const library = new Builder().u(2, 8).bytes(Buffer.alloc(32, 7)).cell(true);
const pruned = new Builder().u(0x0101, 16).bytes(Buffer.alloc(32, 7)).u(0, 16).cell(true);
const deep = Array.from({ length: 1024 }).reduce<Cell>((inner) => new Builder().ref(inner).cell(), library);
const messageTo = (body: Cell): Cell => {
  const builder = new Builder().u(0b0110, 4).u(4, 3).i(0, 8).bytes(address.subarray(4)).u(4, 3).i(0, 8);
  builder.bytes(address.subarray(4)).grams(1n).bit(0).grams(0n).grams(0n).big(0n, 64).u(0, 32).bit(0);
  return builder.bit(1).ref(body).cell();
};
/** With a StateInit that is none, to be read from a cell of its own. */
const withInit = (info: Builder): Cell => info.u(3, 2).ref(new Builder().u(1, 9).cell()).bit(0).cell();
const externalInit = withInit(new Builder().u(2, 2).u(0, 2).u(4, 3).i(0, 8).bytes(address.subarray(4)).grams(0n));
const internalInit = withInit(
  new Builder()
    .u(0b0110, 4)
    .u(4, 3)
    .i(0, 8)
    .bytes(address.subarray(4))
    .u(4, 3)
    .i(0, 8)
    .bytes(address.subarray(4))
    .grams(1n)
    .bit(0)
    .grams(0n)
    .grams(0n)
    .big(0n, 64)
    .u(0, 32),
);
const external = (body: Cell): string => text(writeExternalMessage({ address, body, init: null }));

it.each([
  ['emulateTrace', {}, 'boc is required'],
  ['emulateTrace', { boc: null }, 'boc is required'],
  ['emulateTrace', { boc: 'AA' }, /^invalid boc: /],
  ['emulateTrace', { boc: external(library) }, 'boc is no message: body: exotic cell of type 2'],
  ['emulateTrace', { boc: text(messageTo(library)) }, 'boc is no message: body: exotic cell of type 2'],
  ['emulateTrace', { boc: text(externalInit) }, /^boc is no message: init: /],
  ['emulateTrace', { boc: text(internalInit) }, /^boc is no message: init: /],
  ['emulateTrace', { boc: external(pruned) }, 'boc is no message: message: pruned branches in a message'],
  ['emulateTonConnect', { messages: [message] }, 'from address is required for emulation'],
  ['emulateTonConnect', { from }, 'messages array cannot be empty'],
  ['emulateTonConnect', { from, messages: [] }, 'messages array cannot be empty'],
  [
    'emulateTonConnect',
    { from, messages: new Array(5).fill(message) },
    'messages array cannot contain more than 4 messages',
  ],
  ['emulateTonConnect', { from, messages: [message, { amount: '1' }] }, 'message at index 1 cannot be empty'],
  ['emulateTonConnect', { from, messages: [{ address: from }] }, 'amount in message at index 0 cannot be empty'],
  ['emulateTonConnect', { from, messages: [{ ...message, amount: '-1' }] }, /^invalid amount in message at index 0: /],
  [
    'emulateTonConnect',
    { from, messages: [{ ...message, amount: String(2n ** 64n) }] },
    /^invalid amount in message at index 0: /,
  ],
  ['emulateTonConnect', { from, messages: [{ ...message, payload: '*' }] }, /^invalid message payload at index 0: /],
  [
    'emulateTonConnect',
    { from, messages: [{ ...message, stateInit: 'AAAA' }] },
    /^invalid message stateInit at index 0: /,
  ],
  [
    'emulateTonConnect',
    { from, messages: [{ ...message, payload: text(pruned) }] },
    /^invalid message payload at index 0: pruned branches/,
  ],
  ['emulateTonConnect', { from, messages: [message], valid_until: 1767225600.5 }, /^valid_until: /],
  ['emulateTonConnect', { from, messages: [message], valid_until: 0.5 }, /^valid_until: /],
  ['emulateTonConnect', { from, messages: [message], valid_until: 2 ** 32 * 1e9 }, /^valid_until: /],
  [
    'emulateTonConnect',
    { from, messages: [{ ...message, address: `128:${'1'.repeat(64)}` }] },
    /^address in message at index 0: /,
  ],
])('%s refuses %j in the words that clients know', async (path, body, reason) => {
  const { status, error } = await post(path, JSON.stringify(body));
  expect(status).toBe(400);
  if (typeof reason === 'string') expect(error).toBe(`invalid request: ${reason}`);
  else expect(error.replace(/^invalid request: /, '')).toMatch(reason);
});

it('refuses what is no JSON', async () => {
  expect(await post('emulateTrace', '{')).toEqual({ status: 400, error: expect.stringMatching(/^invalid request: /) });
});

it('takes what is null in a message of TON Connect for left out', async () => {
  const messages = [{ ...message, payload: null, stateInit: null }];
  const { error } = await post('emulateTonConnect', JSON.stringify({ from, messages, valid_until: null }));
  expect(error).not.toMatch(/payload|stateInit/);
});

it('takes nanoseconds, which are more than a number holds', async () => {
  const body = `{"from":"${from}","messages":[${JSON.stringify(message)}],"valid_until":1767225600123456789}`;
  expect((await post('emulateTonConnect', body)).error).not.toMatch(/valid_until/);
});

it('says that the time is over, whatever it waits for then', async () => {
  const waiting = createFakeSource({
    masterchainInfo: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('masterchain info: ended by the caller')));
      }),
  });
  const slow = await serveApi(waiting.source);
  const boc = external(new Builder().cell());
  const answer = await post('emulateTrace', JSON.stringify({ boc, with_actions: true }), slow);
  await slow.close();
  expect(answer).toEqual({ status: 500, error: 'the emulation took too long' });
  expect(slow.reported).toEqual([]);
});

it('tells the seed, flags and the cells of accounts before and behind each transaction as TON Center does', async () => {
  const devnet = await serveDevnet();
  const pool = createLitePool(parseGlobalConfig(JSON.parse(devnet.server.globalConfig)), { logger: silent });
  const blocks = devnet.steps.flatMap(({ mc, shards }) =>
    [...shards, mc].map(({ bytes }) => ({ bytes, mcSeqno: mc.seqno })),
  );
  const served = await serveApi(createMemoryChain(blocks).source, { liteservers: pool, limits: PATIENT_LIMITS });
  const [, , , from, to] = devnet.wallets;
  const boc = from.pay({ to: to.address, value: COIN, comment: 'emulated' }).toString('base64');
  const body = JSON.stringify({ boc, include_code_data: true });
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(`${served.url}/api/emulate/v1/emulateTrace`, { method: 'POST', headers, body });
  const json = await response.json();
  expect(json).not.toHaveProperty('error');
  const wallet = `0:${from.address.hash.toString('hex')}`;
  const asked = JSON.stringify({ from: wallet, messages: [{ ...message, payload: text(deep) }] });
  const refused = await fetch(`${served.url}/api/emulate/v1/emulateTonConnect`, {
    method: 'POST',
    headers,
    body: asked,
  });
  expect([refused.status, refusal.parse(await refused.json()).error]).toEqual([
    400,
    expect.stringMatching(/^invalid request: no message can be made of the request: .*deeper than 512$/),
  ]);
  await Promise.all([served.close(), pool.close(), devnet.close()]);
  const { rand_seed: seed, transactions, code_cells: codes, data_cells: data } = emulated.parse(json);
  expect(Buffer.from(seed, 'base64')).toHaveLength(32);
  expect(Buffer.from(seed, 'base64').toString('base64')).toBe(seed);
  const rows = Object.values(transactions);
  expect(rows).toHaveLength(2);
  for (const { description, account_state_before: before, account_state_after: after } of rows) {
    expect(description).toMatchObject({ type: 'ord', is_tock: false, installed: false });
    for (const state of [before, after]) {
      for (const [cells, hash] of [
        [codes, state?.code_hash],
        [data, state?.data_hash],
      ] as const) {
        if (!hash) throw new Error('wallets have code and data');
        expect(parseBoc(Buffer.from(cells[hash], 'base64')).hash().toString('base64')).toBe(hash);
      }
    }
  }
});
