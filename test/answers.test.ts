/** Every recorded request to the reference service, sent to the whole stack and compared by the recordings' own tool. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requireShelf, shelf } from './shelf.ts';
import { type Stack, startStack } from './stack.ts';
import { OTHER_POSITIONS, positionName, serveFrom } from './window-positions.ts';

const COMPARER = fileURLToPath(new URL('v3-diff.py', import.meta.url));

/** Last masterchain block, recorded requests by endpoint, and pages of messages that are not in the contract's order. */
const RECORDINGS = [
  {
    name: 'mainnet',
    lastMcSeqno: 66_519_402,
    pagesOutOfOrder: 17,
    cases: {
      masterchainInfo: 2,
      blocks: 108,
      masterchainBlockShardState: 21,
      masterchainBlockShards: 36,
      transactions: 221,
      transactionsByMasterchainBlock: 24,
      transactionsByMessage: 83,
      adjacentTransactions: 41,
      messages: 133,
      accountStates: 22,
      addressBook: 23,
      topAccountsByBalance: 11,
      paths: 6,
    },
  },
  {
    name: 'private',
    lastMcSeqno: 216_638,
    pagesOutOfOrder: 13,
    cases: {
      masterchainInfo: 2,
      blocks: 107,
      masterchainBlockShardState: 21,
      masterchainBlockShards: 36,
      transactions: 215,
      transactionsByMasterchainBlock: 24,
      transactionsByMessage: 82,
      adjacentTransactions: 40,
      messages: 133,
      accountStates: 22,
      addressBook: 23,
      topAccountsByBalance: 11,
      paths: 6,
    },
  },
];

async function compare(recording: string, url: string, endpoint: string): Promise<string> {
  const words = [join(requireShelf(), 'tools', 'v3-diff'), '--against', join(answers(), recording)];
  const child = spawn('python3', [COMPARER, ...words, '--endpoint', endpoint, '--show', '5', url], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  return output;
}

function answers(): string {
  return join(requireShelf(), 'data', 'answers');
}

describe.skipIf(shelf === null).each(RECORDINGS)('recorded answers over $name blocks', (recording) => {
  let stack: Stack;
  let passed = 0;

  beforeAll(async () => {
    stack = await startStack({ files: [join(answers(), recording.name, 'blocks.ndjson.gz')], loose: true });
    const status = await stack.caughtUp(recording.lastMcSeqno);
    expect(status.gaps).toEqual([]);
    // The stack answers from a window that holds everything.
    await stack.windowed();
  }, 200_000);

  afterAll(async () => {
    process.stderr.write(`${recording.name}: ${passed} recorded answers are the same\n`);
    await stack?.remove();
  });

  it.each(Object.entries(recording.cases))('/%s: all %i', async (endpoint, count) => {
    const output = await compare(recording.name, stack.url, endpoint);
    expect(output).toContain(`${count} passed, 0 failed\n`);
    if (endpoint === 'messages') expect(output).toContain(`\n${recording.pagesOutOfOrder} pages put in order\n`);
    passed += count;
  });

  it.each(OTHER_POSITIONS.map((share) => [positionName(share), share] as const))(
    'all of them with %s',
    async (_, share) => {
      const server = await serveFrom(stack, share);
      try {
        for (const [endpoint, count] of Object.entries(recording.cases)) {
          const output = await compare(recording.name, server.url, endpoint);
          expect(output).toContain(`${count} passed, 0 failed\n`);
          passed += count;
        }
        expect(server.reported).toEqual([]);
      } finally {
        await server.close();
      }
    },
    300_000,
  );
});
