import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Address } from '@ton/core';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../test/default-limits.ts';
import { type Faucet, FaucetError } from '../devnet/actors/faucet.ts';
import { FAUCET_PATH, faucetApi } from './faucet.ts';
import { createFront } from './front.ts';

const gifts: [string, bigint][] = [];
const reported: unknown[] = [];
let fail: FaucetError | null = null;
const faucet: Faucet = {
  address: new Address(0, Buffer.alloc(32, 0xab)),
  limits: { most: 5n, giftsPerMinute: 3, queue: 1 },
  async give(to, nanotons) {
    if (fail !== null) throw fail;
    gifts.push([to.toRawString(), nanotons]);
    return { messageHash: Buffer.alloc(32, 1) };
  },
  step: async () => {},
  close: () => {},
};

let server: Server;
let url: string;

beforeAll(async () => {
  const front = createFront({
    apis: [faucetApi(faucet)],
    limits: DEFAULT_LIMITS,
    metrics: new Registry(),
    report: (error) => void reported.push(error),
  });
  server = createServer(front).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${FAUCET_PATH}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  gifts.length = 0;
  reported.length = 0;
  fail = null;
});

const raw = `0:${'cd'.repeat(32)}`;

async function post(body: string): Promise<{ status: number; answer: unknown }> {
  const response = await fetch(url, { method: 'POST', body });
  return { status: response.status, answer: await response.json() };
}

test.each([
  [raw, '1.5', 1_500_000_000n],
  [Address.parse(raw).toString(), 2, 2_000_000_000n],
  [Address.parse(raw).toString({ bounceable: false, testOnly: true }), '0.000000001', 1n],
])('gives to %s %j TON', async (address, amount, nanotons) => {
  expect(await post(JSON.stringify({ address, amount }))).toEqual({
    status: 200,
    answer: {
      message_hash: Buffer.alloc(32, 1).toString('base64'),
      address: raw.toUpperCase(),
      amount: nanotons.toString(),
    },
  });
  expect(gifts).toEqual([[raw, nanotons]]);
});

test.each([
  ['{"address":"nobody","amount":1}', 422, /address: not an address/],
  [`{"address":"${raw}","amount":"-1"}`, 422, /amount/],
  [`{"address":"${raw}","amount":"1e9"}`, 422, /amount/],
  [`{"address":"${raw}"}`, 422, /amount/],
  ['[]', 422, /body/],
  ['not json', 422, /JSON/],
  [`{"address":"${'x'.repeat(5000)}"}`, 413, /large/],
])('%s is refused with %i', async (body, status, error) => {
  expect(await post(body)).toMatchObject({ status, answer: { error: expect.stringMatching(error) } });
  expect(gifts).toEqual([]);
});

test.each([
  ['amount', 422],
  ['rate', 429],
  ['full', 429],
  ['empty', 503],
  ['unavailable', 503],
] as const)('the faucet refuses for %s: %i', async (code, status) => {
  fail = new FaucetError(code, 'because');
  expect(await post(JSON.stringify({ address: raw, amount: 1 }))).toEqual({ status, answer: { error: 'because' } });
  expect(reported.length).toBe(status >= 500 ? 1 : 0);
});

test('GET tells address and limits, other methods are refused', async () => {
  const answer = await (await fetch(url)).json();
  expect(answer).toEqual({ address: `0:${'AB'.repeat(32)}`, most_amount: '5', gifts_per_minute: 3 });
  expect((await fetch(url, { method: 'DELETE' })).status).toBe(405);
});
