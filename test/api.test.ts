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
import type { ApiServer } from './api-server.ts';
import { shelf } from './shelf.ts';
import { type Stack, startStack } from './stack.ts';
import { OTHER_POSITIONS, positionName, serveFrom } from './window-positions.ts';

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

async function subjectAt(url: string, network: Network): Promise<Subject> {
  const client = createApiClient(url);
  return { url, client, network, opcodes: await readOpcodes(client) };
}

function describeChain(subject: () => Subject): void {
  describe('blocks', () => describeBlocks(subject));
  describe('transactions', () => describeTransactions(subject));
  describe('messages', () => describeMessages(subject));
  describe('accounts', () => describeAccounts(subject));
}

describe.skipIf(shelf === null).each(RECORDED)('API over $name', ({ files, facts, loose, size }) => {
  let stack: Stack;
  let network: Network;
  let subject: Subject;

  beforeAll(async () => {
    network = facts();
    stack = await startStack({ files: files(), loose });
    const { gaps, rows } = await stack.caughtUp(Math.max(...network.blocks.map(({ mcSeqno }) => mcSeqno)));
    expect([gaps, rows.blocks, rows.transactions]).toEqual([[], ...size]);
    expect([network.blocks.length, network.transactions.length]).toEqual(size);
    await stack.windowed();
    subject = await subjectAt(stack.url, network);
  }, 200_000);

  afterAll(async () => await stack?.remove());

  describeChain(() => subject);
  describe('front', () => describeFront(() => subject));

  describe.each(OTHER_POSITIONS.map((share) => [positionName(share), share] as const))('with %s', (_, share) => {
    let server: ApiServer;
    let windowed: Subject;

    beforeAll(async () => {
      server = await serveFrom(stack, share);
      windowed = await subjectAt(server.url, network);
    });
    afterAll(() => server?.close());

    describeChain(() => windowed);
    it('reports nothing as its own failure', () => expect(server.reported).toEqual([]));
  });

  it('reports nothing as its own failure', () => expect(stack.program.output()).not.toContain('a request failed'));
});
