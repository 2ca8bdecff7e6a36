/** Clients by others against the devnet's liteserver; they check the proofs of what they are told themselves. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Address, Cell } from '@ton/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { blockTransactions } from '../src/chain/accounts.ts';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import type { ProducedBlock } from '../src/devnet/model.ts';
import { accountBalance } from '../src/devnet/transaction.ts';
import { COIN, type ServedDevnet, serveDevnet } from './devnet-served.ts';
import { askForeign, type ForeignProgram, pytoniq, pytonlib, tonutilsGo } from './foreign/programs.ts';

const BLOCK_TIME_MS = 250;
/** In it the basechain is split. */
const SEQNO = 8;
const nobody = new Address(0, Buffer.alloc(32, 0x77));

let devnet: ServedDevnet;
let folder: string;

beforeAll(async () => {
  // Key blocks with other validators each, of which the block that is read is none: pytoniq proves no older key block.
  devnet = await serveDevnet({}, { keyBlockEvery: 5 });
  // What is still on its way arrives, so that only what a client sends changes anything.
  for (let i = 0; i < 4; i++) devnet.produce();
  folder = mkdtempSync(join(tmpdir(), 'foreign-'));
});
afterAll(async () => {
  await devnet.close();
  rmSync(folder, { recursive: true });
});

/** Only what is compared apart from the rest. */
const answer = z.looseObject({ blocks: z.array(z.looseObject({ root: z.string() })) });
const byRoot = <T extends { root: string }>(blocks: T[]): T[] => blocks.toSorted((a, b) => (a.root < b.root ? -1 : 1));

const hashesOf = (block: ProducedBlock): string[] =>
  [...blockTransactions(decodeBlock(openBoc(block.bytes)))].map(({ hash }) => hash.toString('hex'));

/** What the chain itself knows of an account. */
function accountOf({ address }: { address: Address }) {
  const known = devnet.chain.account(address.workChain, address.hash);
  if (known === null) throw new Error('no account');
  const { lastTransactionLt: lt, lastTransactionHash: hash } = known;
  const list = devnet.chain.transactions(address.workChain, address.hash, { lt, hash }, 16);
  return {
    address: address.toRawString(),
    balance: String(accountBalance(known.account)),
    lastHash: hash.toString('hex'),
    transactions: list.map((transaction) => transaction.hash.toString('hex')).reverse(),
    walletSeqno: expect.any(Number),
  };
}

/** @param policy what the program's clients are to check */
async function compare(program: ForeignProgram | null, sender: number, policy: string): Promise<void> {
  if (program === null) {
    // Said already; where it should be there it is a failure.
    expect(process.env.CI ?? '').toBe('');
    return;
  }
  const { chain, wallets, server, steps } = devnet;
  const message = wallets[sender].pay({ to: nobody, value: COIN, bounce: false });
  const readers = [wallets[0], wallets[3], wallets[4], wallets[8]];
  const question = {
    accounts: readers.map(({ address }) => address.toRawString()),
    nobody: new Address(0, Buffer.alloc(32, 0x66)).toRawString(),
    seqno: SEQNO,
    message: message.toString('base64'),
  };
  const [config, asked] = [join(folder, 'config.json'), join(folder, `question-${sender}.json`)];
  writeFileSync(config, server.globalConfig);
  writeFileSync(asked, JSON.stringify(question));
  const accounts = readers.map(accountOf);
  const { seqno } = chain.head().mc;
  const clock = setInterval(() => devnet.produce(), BLOCK_TIME_MS);
  const told = answer.parse(
    await askForeign(program, folder, config, asked, policy).finally(() => clearInterval(clock)),
  );
  const { mc, shards } = steps[SEQNO - 1];
  // Shards come in the order of a map of the client's.
  expect({ ...told, blocks: byRoot(told.blocks) }).toEqual({
    master: expect.any(Number),
    masterRoot: expect.any(String),
    accounts,
    nobodyIsOne: false,
    blocks: byRoot(
      [...shards, mc].map((block) => ({
        workchain: block.workchain,
        seqno: block.seqno,
        root: block.rootHash.toString('hex'),
        transactions: hashesOf(block),
      })),
    ),
    globalId: chain.globalId,
    waitedFor: expect.any(Number),
  });
  const head = z.object({ master: z.int(), masterRoot: z.string(), waitedFor: z.int() }).parse(told);
  expect(head.masterRoot).toBe(steps[head.master - 1].mc.rootHash.toString('hex'));
  expect(head.master).toBeGreaterThanOrEqual(seqno);
  expect(head.waitedFor).toBeGreaterThanOrEqual(head.master + 2);
  const hash = Cell.fromBoc(message)[0].hash().toString('hex');
  const executed = steps.slice(seqno).flatMap((step) => step.shards.flatMap(inMessagesOf));
  expect(executed).toContain(hash);
}

const inMessagesOf = (block: ProducedBlock) =>
  [...blockTransactions(decodeBlock(openBoc(block.bytes)))].map(({ inMsg }) => inMsg?.hash.toString('hex'));

test('tonutils-go under its default policy', async () => {
  await compare(await tonutilsGo(), 5, 'default');
});

test('tonutils-go under its policy "secure", which checks signatures', async () => {
  await compare(await tonutilsGo(), 10, 'secure');
});

test('pytoniq at trust level 1', async () => {
  await compare(await pytoniq(), 6, '1');
});

test('pytoniq at trust level 0, which checks signatures', async () => {
  await compare(await pytoniq(), 9, '0');
});

test('tonlib, which checks signatures and runs get-methods itself', async () => {
  await compare(await pytonlib(), 7, 'all');
});
