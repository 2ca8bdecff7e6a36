import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { Writable } from 'node:stream';
import { Address } from '@ton/core';
import { Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../test/default-limits.ts';
import { faucetApi } from '../api/faucet.ts';
import { createFront } from '../api/front.ts';
import { type Faucet, FaucetError } from '../devnet/actors/faucet.ts';
import { runFaucet } from './faucet.ts';

const raw = `0:${'CD'.repeat(32)}`;
let server: Server | null = null;

afterEach(() => {
  server?.close();
  server = null;
});

async function listen(handler: RequestListener): Promise<number> {
  server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function devnet(give: Faucet['give']): Promise<number> {
  const address = new Address(0, Buffer.alloc(32));
  const limits = { most: 1n, giftsPerMinute: 1, queue: 1 };
  const apis = [faucetApi({ address, limits, give })] as const;
  return listen(createFront({ apis, limits: DEFAULT_LIMITS, metrics: new Registry(), report: () => {} }));
}

async function run(port: number, ...words: string[]): Promise<{ code: number; lines: string[]; errors: string }> {
  const lines: string[] = [];
  let errors = '';
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      errors += String(chunk);
      done();
    },
  });
  const code = await runFaucet({ host: '127.0.0.1', port }, words, { print: (line) => void lines.push(line), stderr });
  return { code, lines, errors };
}

test('prints the hash of the message that carries the gift', async () => {
  const gifts: bigint[] = [];
  const port = await devnet(async (_, nanotons) => {
    gifts.push(nanotons);
    return { messageHash: Buffer.alloc(32, 1) };
  });
  const { code, lines } = await run(port, raw, '2.5');
  expect({ code, lines, gifts }).toEqual({
    code: 0,
    lines: [`sent 2.5 TON to ${raw}`, `message hash ${Buffer.alloc(32, 1).toString('base64')}`],
    gifts: [2_500_000_000n],
  });
});

test.each([
  [['nobody', '1'], /address: not an address/],
  [[raw, 'much'], /amount/],
  [[raw], /tonstream faucet <address> <amount>/],
  [[raw, '1'], /the faucet is empty/],
])('%j fails and says why', async (words, why) => {
  const port = await devnet(() => Promise.reject(new FaucetError('empty', 'the faucet is empty')));
  const { code, lines, errors } = await run(port, ...words);
  expect({ code, lines }).toEqual({ code: 1, lines: [] });
  expect(errors).toMatch(why);
});

test('says when there is no devnet, or something else', async () => {
  const other = await listen((_request, response) => response.end('hello'));
  expect((await run(other, raw, '1')).errors).toMatch(/is not a devnet \(HTTP 200\)/);
  server?.close();
  server?.closeAllConnections();
  const { code, errors } = await run(other, raw, '1');
  expect(code).toBe(1);
  expect(errors).toMatch(/nothing listens there.*--port/);
});
