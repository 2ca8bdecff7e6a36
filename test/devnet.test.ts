/**
 * The one command of a newcomer: a chain of its own, followed and served. What is looked at on a running devnet joins as
 * a function in test/devnet/ and shares this service.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { describeClients } from './devnet/clients.ts';
import { describeContracts } from './devnet/contracts.ts';
import { describeEmulation } from './devnet/emulation.ts';
import { describeMessages } from './devnet/messages.ts';
import { browserMissing, describePages } from './devnet/pages.ts';
import { describePending } from './devnet/pending.ts';
import { describeShards } from './devnet/shards.ts';
import { describeSql } from './devnet/sql.ts';
import { describeWallets } from './devnet/wallets.ts';
import { describeWindow } from './devnet/window.ts';
import { liteClient } from './lite-client.ts';
import { runToEnd, type Stack, shownHead, startStack, temporaryFolder, until } from './stack.ts';

const folder = temporaryFolder();
const flags = ['--block-time', '400ms', '--devnet-rate', '2', '--split-at', '8', '--merge-at', '16'];
const options = { network: 'devnet', flags, dataDir: folder.path };
let stack: Stack;

beforeAll(async () => {
  stack = await startStack(options);
});

afterAll(async () => {
  try {
    await stack?.remove();
  } finally {
    folder.remove();
  }
});

describe('tonstream start', () => {
  describe('wallets', () => describeWallets(() => stack));
  describe('pending', () => describePending(() => stack));
  describe('emulation', () => describeEmulation(() => stack));
  describe('shards', () => describeShards(() => stack));
  describe('SQL', () => describeSql(() => stack));
  describe('clients of v2', () => describeClients(() => stack));
  describe.skipIf(browserMissing)('pages', () => describePages(() => stack));
  describe('windows', () => describeWindow(() => stack));
  describe('messages', () => describeMessages(() => stack));
  describe('contracts', () => {
    let lite: Awaited<ReturnType<typeof liteClient>>;
    beforeAll(async () => {
      lite = await liteClient(stack.dataDir);
    });
    afterAll(() => lite?.close());
    describeContracts(() => ({ url: stack.url, client: lite.client }), true);
  });
});

/** Asks until this step is shown; gives the newest one. */
function reached({ url }: Stack, seqno: number): Promise<number> {
  return until(`step ${seqno}`, async () => {
    const shown = await shownHead(url);
    return shown >= seqno ? shown : null;
  });
}

/** That the masterchain is shown from its first block up to this one, each once. */
async function expectAllUpTo({ url }: Stack, seqno: number): Promise<void> {
  const response = await fetch(`${url}/api/v3/blocks?workchain=-1&limit=1000&sort=asc`);
  const { blocks } = z.object({ blocks: z.array(z.object({ seqno: z.number() })) }).parse(await response.json());
  const seqnos = blocks.map((block) => block.seqno).slice(0, seqno);
  expect(seqnos).toEqual(Array.from({ length: seqno }, (_, at) => at + 1));
}

describe('a second tonstream start', () => {
  it('is followed by another through the global config it writes', async () => {
    const config = join(stack.dataDir, 'devnet', 'global.config.json');
    const follower = await startStack({ network: config, flags: ['--from', 'genesis'] });
    await expectAllUpTo(follower, await reached(follower, 3));
    await follower.remove();
  }, 400_000);

  it('goes on where it was when it is started again', async () => {
    const before = await shownHead(stack.url);
    await stack.remove();
    stack = await startStack(options);
    await expectAllUpTo(stack, await reached(stack, before + 2));
  }, 400_000);
});

describe('tonstream start --network mainnet', () => {
  it('ends with one line when the global config cannot be had', async () => {
    const folder = temporaryFolder();
    try {
      const flags = ['--config', 'http://127.0.0.1:9/global.config.json', '--data-dir', folder.path, '--port', '0'];
      const said = await runToEnd(['start', '--network', 'mainnet', ...flags], {}, 1);
      expect(said.trim().split('\n')).toEqual([
        expect.stringMatching(/cannot be had from http\S+ \(.+\).*--config <file>/),
      ]);
    } finally {
      folder.remove();
    }
  });
});
