/** The HTTP API of the whole stack over imported blocks, compared with what other decoders read in these blocks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeAccounts } from './api/accounts.ts';
import { describeBlocks } from './api/blocks.ts';
import { createApiClient } from './api/client.ts';
import { describeFront } from './api/front.ts';
import { describeMessages } from './api/messages.ts';
import { type Network, readSequenceFacts, readSingleFacts, sequencePath, singlePaths } from './api/network.ts';
import { readOpcodes, type Subject } from './api/subject.ts';
import { describeTransactions } from './api/transactions.ts';
import { shelf } from './shelf.ts';
import { type Stack, startStack } from './stack.ts';

interface Recorded {
  name: string;
  files: () => string[];
  facts: () => Network;
  loose: boolean;
  /** Blocks, transactions, and shards of the basechain at the end. */
  size: [number, number];
}

const sequence = (name: string, size: Recorded['size']): Recorded => ({
  name,
  files: () => [sequencePath(name)],
  facts: () => readSequenceFacts(name),
  loose: false,
  size,
});

const RECORDED: Recorded[] = [
  sequence('mainnet-genesis_a', [460, 1450]),
  sequence('local-ton4j-2024_a', [414, 911]),
  sequence('everscale-1459995', [155, 39]),
  {
    name: 'single mainnet blocks',
    files: () => singlePaths('mainnet'),
    facts: () => readSingleFacts('mainnet'),
    loose: true,
    size: [25, 1780],
  },
];

describe.skipIf(shelf === null).each(RECORDED)('API over $name', ({ files, facts, loose, size }) => {
  let stack: Stack;
  let subject: Subject;

  beforeAll(async () => {
    const network = facts();
    stack = await startStack({ files: files(), loose });
    const { gaps, rows } = await stack.caughtUp(Math.max(...network.blocks.map(({ mcSeqno }) => mcSeqno)));
    expect([gaps, rows.blocks, rows.transactions]).toEqual([[], ...size]);
    expect([network.blocks.length, network.transactions.length]).toEqual(size);
    const client = createApiClient(stack.url);
    subject = { url: stack.url, client, network, opcodes: await readOpcodes(client) };
  }, 200_000);

  afterAll(async () => await stack?.remove(), 120_000);

  describe('blocks', () => describeBlocks(() => subject));
  describe('transactions', () => describeTransactions(() => subject));
  describe('messages', () => describeMessages(() => subject));
  describe('accounts', () => describeAccounts(() => subject));
  describe('front', () => describeFront(() => subject));
  it('reports nothing as its own failure', () => expect(stack.program.output()).not.toContain('a request failed'));
});
