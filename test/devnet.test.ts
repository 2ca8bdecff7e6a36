/** The one command of a newcomer: a chain of its own, followed and served, spoken to with published clients. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Address, beginCell, comment, external, internal, SendMode, storeMessage, toNano } from '@ton/core';
import { keyPairFromSeed } from '@ton/crypto';
import { WalletContractV4 } from '@ton/ton';
import { LiteClient, LiteSingleEngine } from 'ton-lite-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createApiClient } from './api/client.ts';
import { shelf } from './shelf.ts';
import { runProgram, runToEnd, type Stack, shownHead, startStack, temporaryFolder, until } from './stack.ts';
import { atEach, POSITIONS } from './window-positions.ts';

const GLOBAL_CONFIG = z.object({
  liteservers: z.array(z.object({ port: z.number(), id: z.object({ key: z.string() }) })),
});

/** The published client on the devnet's liteserver. */
async function liteClient(dataDir: string): Promise<{ client: LiteClient; close(): void }> {
  const text = readFileSync(join(dataDir, 'devnet', 'global.config.json'), 'utf8');
  const [{ port, id }] = GLOBAL_CONFIG.parse(JSON.parse(text)).liteservers;
  const engine = new LiteSingleEngine({ host: `tcp://127.0.0.1:${port}`, publicKey: Buffer.from(id.key, 'base64') });
  engine.on('error', () => undefined);
  await until('the liteserver answers', async () => (engine.isReady() ? true : null));
  return { client: new LiteClient({ engine }), close: () => engine.close() };
}

function demoWallet(output: string) {
  const [, address, secret] = /v4r2 +(\S+) +([0-9a-f]{64})/.exec(output) ?? [];
  const keys = keyPairFromSeed(Buffer.from(secret, 'hex'));
  const wallet = WalletContractV4.create({ workchain: 0, publicKey: keys.publicKey });
  expect(wallet.address.equals(Address.parse(address))).toBe(true);
  return { wallet, secretKey: keys.secretKey };
}

/** The fields that are looked at here, of the many. */
const message = z.object({
  hash: z.string(),
  source: z.string().nullable(),
  destination: z.string().nullable(),
  value: z.string().nullable(),
  bounce: z.boolean().nullable(),
  message_content: z.object({ decoded: z.unknown() }),
});
const transaction = z.object({
  account: z.string(),
  hash: z.string(),
  lt: z.string(),
  now: z.number(),
  trace_id: z.string(),
  orig_status: z.string(),
  end_status: z.string(),
  total_fees: z.string(),
  description: z.object({
    type: z.string(),
    aborted: z.boolean(),
    compute_ph: z.object({ success: z.boolean().optional() }),
  }),
  in_msg: message,
  out_msgs: z.array(message),
  mc_block_seqno: z.number(),
});
const transactions = z.object({ transactions: z.array(transaction) });
type Transaction = z.infer<typeof transaction>;

let stack: Stack;

beforeAll(async () => {
  const flags = ['--block-time', '400ms', '--devnet-rate', '2', '--split-at', '8', '--merge-at', '16'];
  stack = await startStack({ network: 'devnet', flags });
});

afterAll(() => stack?.remove());

/** Asks until there are so many transactions. */
function find(query: string, count: number): Promise<Transaction[]> {
  return until(`transactions by ${query}`, async () => {
    const response = await fetch(`${stack.url}/api/v3/${query}`);
    if (response.status !== 200) throw new Error(`${query}: ${response.status} ${await response.text()}`);
    const found = transactions.parse(await response.json()).transactions;
    return found.length >= count ? found : null;
  });
}

const rawUpper = (address: Address): string => address.toRawString().toUpperCase();

describe('tonstream start', () => {
  it('shows what a wallet sends through the liteserver, with all fields right', async () => {
    const { wallet, secretKey } = demoWallet(stack.program.output());
    const { client, close } = await liteClient(stack.dataDir);
    const receiver = new Address(0, Buffer.alloc(32, 0x5a));
    const master = await client.getMasterchainInfo();
    const seqno = (await client.runMethod(wallet.address, 'seqno', Buffer.alloc(0), master.last)).exitCode;
    expect(seqno).toBe(0);
    const body = wallet.createTransfer({
      seqno: 0,
      secretKey,
      sendMode: SendMode.PAY_GAS_SEPARATELY,
      messages: [
        internal({ to: receiver, value: toNano('1.5'), bounce: false, body: comment('to whom it may concern') }),
      ],
    });
    const sent = beginCell()
      .store(storeMessage(external({ to: wallet.address, body })))
      .endCell();
    await client.sendMessage(sent.toBoc());

    const query = `transactionsByMessage?msg_hash=${encodeURIComponent(sent.hash().toString('base64'))}`;
    const [from] = await find(query, 1);
    const seenAt = Date.now() / 1000;
    process.stdout.write(`devnet: visible ${(seenAt - from.now).toFixed(1)} s after its block's second\n`);
    expect(from).toMatchObject({
      account: rawUpper(wallet.address),
      orig_status: 'active',
      end_status: 'active',
      description: { type: 'ord', aborted: false, compute_ph: { success: true } },
      in_msg: { hash: sent.hash().toString('base64'), source: null, destination: rawUpper(wallet.address) },
      out_msgs: [
        { destination: rawUpper(receiver), source: rawUpper(wallet.address), value: '1500000000', bounce: false },
      ],
    });
    const out = from.out_msgs[0];
    const ends = await find(`transactionsByMessage?msg_hash=${encodeURIComponent(out.hash)}`, 2);
    const to = ends.find(({ account }) => account === rawUpper(receiver));
    expect(to).toMatchObject({
      trace_id: from.trace_id,
      orig_status: 'nonexist',
      end_status: 'uninit',
      in_msg: { hash: out.hash, message_content: { decoded: { comment: 'to whom it may concern' } } },
    });

    // The liteserver tells the same of both accounts.
    for (const [address, known] of [
      [wallet.address, from],
      [receiver, to],
    ] as const) {
      const { last } = await client.getMasterchainInfo();
      const { lastTx } = await client.getAccountState(address, last);
      expect(lastTx).toMatchObject({ lt: BigInt(known?.lt ?? 0) });
      expect(Buffer.from((lastTx?.hash ?? 0n).toString(16).padStart(64, '0'), 'hex').toString('base64')).toBe(
        known?.hash,
      );
    }
    close();
  });

  it('gives coins through the faucet, from the command line too', async () => {
    const receiver = new Address(0, Buffer.alloc(32, 0x5b));
    const port = new URL(stack.url).port;
    const said = await runToEnd(['faucet', receiver.toString(), '2.5', '--port', port]);
    expect(said).toContain('sent 2.5 TON');
    const [gift] = await find(`transactions?account=${rawUpper(receiver)}`, 1);
    expect(gift.in_msg).toMatchObject({ value: '2500000000', destination: rawUpper(receiver) });
  });

  it.skipIf(shelf === null)('answers as the contract wants, across a split and a merge', async () => {
    await until('the shards have merged again', async () => {
      const { projected } = await stack.status();
      return (projected.mc_seqno ?? 0) > 20 ? true : null;
    });
    await expectShown(stack.url);
    await atEach(POSITIONS, stack, ({ url }) => expectShown(url));
  });
});

/** Each answer is checked against the schemas. */
async function expectShown(url: string): Promise<void> {
  const client = createApiClient(url);
  const { rows } = await client.page('blocks', 'blocks', { workchain: 0, limit: 1000 });
  const shards = new Set(rows.map(({ shard }) => shard));
  expect([...shards].sort()).toEqual(['4000000000000000', '8000000000000000', 'C000000000000000']);
  expect(rows.some((row) => row.after_merge === true)).toBe(true);
  expect((await client.page('transactions', 'transactions', { limit: 1000 })).rows.length).toBeGreaterThan(50);
  expect((await client.page('messages', 'messages', { limit: 1000 })).rows.length).toBeGreaterThan(20);
}

describe('tonstream start again', () => {
  it('goes on where it was, and stops cleanly', async () => {
    const folder = temporaryFolder();
    const flags = ['--block-time', '200ms', '--devnet-rate', '0'];
    const options = { network: 'devnet', flags, dataDir: folder.path };
    const reached = async (running: Stack, seqno: number) =>
      until(`step ${seqno}`, async () => {
        const shown = await shownHead(running.url);
        return shown >= seqno ? shown : null;
      });
    try {
      const first = await startStack(options);
      await reached(first, 5);
      await first.remove();
      const second = await startStack(options);
      const seqno = await reached(second, 10);
      const response = await fetch(`${second.url}/api/v3/blocks?workchain=-1&limit=1000`);
      const { blocks } = z.object({ blocks: z.array(z.object({ seqno: z.number() })) }).parse(await response.json());
      const seqnos = blocks.map((block) => block.seqno).sort((a, b) => a - b);
      expect(seqnos.slice(0, seqno)).toEqual(Array.from({ length: seqno }, (_, at) => at + 1));
      await second.remove();
    } finally {
      folder.remove();
    }
  });
});

describe('tonstream devnet', () => {
  it('is followed by a start of its own through the global config it writes', async () => {
    const folder = temporaryFolder();
    const config = join(folder.path, 'devnet.json');
    const words = ['devnet', '--data-dir', join(folder.path, 'chain'), '--port', '0', '--block-time', '200ms'];
    const chain = runProgram([...words, '--config-out', config]);
    try {
      await chain.printed(/Ctrl-C/);
      const follower = await startStack({ network: config, flags: ['--from', 'genesis'] });
      await until('the chain is projected', async () => {
        const { projected } = await follower.status();
        return (projected.mc_seqno ?? 0) > 3 ? true : null;
      });
      await follower.remove();
    } finally {
      await chain.stop().finally(() => folder.remove());
    }
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
