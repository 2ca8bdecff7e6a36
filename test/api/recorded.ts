/** The HTTP API of the whole stack over imported blocks, compared with what other decoders read in these blocks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiServer } from '../api-server.ts';
import { isLong } from '../chance.ts';
import { type Stack, startStack } from '../stack.ts';
import { OTHER_POSITIONS, positionName, serveFrom } from '../window-positions.ts';
import { describeAccounts } from './accounts.ts';
import { describeBlocks } from './blocks.ts';
import { createApiClient } from './client.ts';
import { describeFront } from './front.ts';
import { describeMessages } from './messages.ts';
import { type Network, readSequenceFacts, sequencePath } from './network.ts';
import { readOpcodes, type Subject } from './subject.ts';
import { describeTransactions } from './transactions.ts';

export interface Recorded {
  name: string;
  files: () => string[];
  facts: () => Network;
  loose: boolean;
  /** Blocks, transactions, and shards of the basechain at the end. */
  size: [number, number];
  /** Where a window begins besides the stack's own, which holds everything; all positions in the long run. */
  positions: readonly number[];
  /** What is not about rows is asked, too; everywhere in the long run. */
  front: boolean;
}

export function recordedSequence(name: string, size: Recorded['size'], more: Partial<Recorded> = {}): Recorded {
  return {
    name,
    files: () => [sequencePath(name)],
    facts: () => readSequenceFacts(name),
    loose: false,
    size,
    positions: [],
    front: false,
    ...more,
  };
}

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

export function describeRecorded({ files, facts, loose, size, positions, front }: Recorded): void {
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
  if (front || isLong) describe('front', () => describeFront(() => subject));

  const others = isLong ? OTHER_POSITIONS : positions;
  describe.each(others.map((share) => [positionName(share), share] as const))('with %s', (_, share) => {
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

  it('reports nothing as its own failure', () =>
    expect(stack.program.output()).not.toMatch(/a request failed|requests are not answered/));
}
