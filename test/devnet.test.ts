/**
 * The one command of a newcomer: a chain of its own, followed and served. What is looked at on a running devnet joins as
 * a function in test/devnet/ and shares this service.
 */
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { browserProgram, openBrowser } from './browser.ts';
import { describeClients } from './devnet/clients.ts';
import { describeContracts } from './devnet/contracts.ts';
import { describeEarlier } from './devnet/earlier.ts';
import { describeEmulation } from './devnet/emulation.ts';
import { describeLevels } from './devnet/levels.ts';
import { describeMessages } from './devnet/messages.ts';
import { describePages, describeSentPage } from './devnet/pages.ts';
import { describePending } from './devnet/pending.ts';
import { describeShards } from './devnet/shards.ts';
import { describeSql } from './devnet/sql.ts';
import { describeTonClient } from './devnet/ton-client.ts';
import { describeWallets } from './devnet/wallets.ts';
import { describeWindow } from './devnet/window.ts';
import { liteClient } from './lite-client.ts';
import { runToEnd, type Stack, shownHead, startStack, temporaryFolder, until } from './stack.ts';

const folder = temporaryFolder();
const flags = [
  '--block-time',
  '1600ms',
  '--devnet-rate',
  '2',
  '--devnet-races',
  'true',
  '--split-at',
  '8',
  '--merge-at',
  '16',
];
const options = { network: 'devnet', flags, dataDir: folder.path };
let stack: Stack;
/** Unix seconds by which it was up: from then on it notes what is sent. */
let upAt: number;

beforeAll(async () => {
  stack = await startStack(options);
  upAt = Math.ceil(Date.now() / 1000);
});

afterAll(async () => {
  try {
    await stack?.remove();
  } finally {
    folder.remove();
  }
});

/** Asks until this step is shown; gives the newest one. */
function reached({ url }: Stack, seqno: number): Promise<number> {
  return until(`step ${seqno}`, async () => {
    const shown = await shownHead(url);
    return shown >= seqno ? shown : null;
  });
}

/** That the masterchain is shown up to this block, each once: from its first one on, or a page of those before. */
async function expectAllUpTo({ url }: Stack, seqno: number): Promise<void> {
  const first = Math.max(1, seqno - 999);
  const response = await fetch(`${url}/api/v3/blocks?workchain=-1&limit=1000&offset=${first - 1}&sort=asc`);
  const { blocks } = z.object({ blocks: z.array(z.object({ seqno: z.number() })) }).parse(await response.json());
  const seqnos = blocks.map((block) => block.seqno).slice(0, seqno + 1 - first);
  expect(seqnos).toEqual(Array.from({ length: seqno + 1 - first }, (_, at) => first + at));
}

// Side by side are those that wait for other things: what the devnet costs is the time that it runs.
describe('tonstream start', () => {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (browserProgram !== null) browser = await openBrowser();
  });
  afterAll(() => browser?.close());
  const opened = (): Browser => {
    if (browser === undefined) throw new Error('no browser');
    return browser;
  };

  // While the chain is young: the other one takes in and projects all there is.
  it.concurrent('is followed by another through the global config it writes', async () => {
    const config = join(stack.dataDir, 'devnet', 'global.config.json');
    const follower = await startStack({ network: config, flags: ['--from', 'genesis'] });
    await expectAllUpTo(follower, await reached(follower, 3));
    await follower.remove();
  });

  // One after another: a wallet's messages are numbered.
  describe.concurrent('with the wallets that it prints:', () => {
    describe.sequential('wallets', () => describeWallets(() => stack));
    describe.sequential('emulation', () => describeEmulation(() => stack));
    describe.sequential('levels', () => describeLevels(() => stack));
    describe.sequential('clients of v2', () => {
      describeClients(() => stack);
      describeTonClient(() => stack);
    });
    describe.skipIf(browserProgram === null).sequential('pages', () => describeSentPage(() => stack, opened));
  });

  describe.concurrent('with messages of its people:', () => {
    describe.sequential('pending', () => describePending(() => stack));
    describe.sequential('messages', () =>
      describeMessages(
        () => stack,
        () => upAt,
      ));
  });

  describe.concurrent('with a browser:', () => {
    describe.skipIf(browserProgram === null).sequential('pages', () => describePages(() => stack, opened));
  });

  describe.concurrent('with what is shown:', () => {
    describe.sequential('shards', () => describeShards(() => stack));
    describe.sequential('SQL', () => describeSql(() => stack));
    describe.sequential('windows', () => describeWindow(() => stack));
    describe.sequential('earlier steps', () => describeEarlier(() => stack));
    describe.sequential('contracts', () => {
      let lite: Awaited<ReturnType<typeof liteClient>>;
      beforeAll(async () => {
        lite = await liteClient(stack.dataDir);
      });
      afterAll(() => lite?.close());
      describeContracts(() => ({ url: stack.url, client: lite.client }), true);
    });
  });
});

describe('a second tonstream start', () => {
  it('goes on where it was', async () => {
    const before = await shownHead(stack.url);
    await stack.remove();
    stack = await startStack(options);
    await expectAllUpTo(stack, await reached(stack, before + 2));
  });
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
