/** Recorded requests to the reference service, sent to the whole stack and compared by the recordings' own tool. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { disagreements, strayChanges } from './actions-agreement.ts';
import { isLong } from './chance.ts';
import { type DividedRequests, divideRequests } from './recorded-requests.ts';
import { requireShelf, shelf } from './shelf.ts';
import { type Stack, startStack } from './stack.ts';
import { OTHER_POSITIONS, positionName, serveFrom } from './window-positions.ts';

/** Recorded requests by endpoint, where they are as many of each recording. */
const ALIKE = {
  masterchainInfo: 2,
  masterchainBlockShardState: 21,
  masterchainBlockShards: 36,
  transactionsByMasterchainBlock: 24,
  messages: 133,
  traces: 81,
  events: 3,
  actions: 6,
  balanceChanges: 5,
  accountStates: 22,
  addressBook: 23,
  topAccountsByBalance: 11,
  account: 4,
  wallet: 4,
  metadata: 3,
  'jetton/masters': 4,
  'jetton/wallets': 8,
  'jetton/transfers': 4,
  'jetton/burns': 4,
  'nft/items': 10,
  'nft/collections': 4,
  'nft/transfers': 4,
  'nft/sales': 4,
  'dns/records': 7,
  'multisig/wallets': 4,
  'multisig/orders': 4,
  vesting: 4,
  decode: 4,
  paths: 6,
};

/**
 * Last masterchain block, where windows begin besides the stack's own, which holds everything (all positions in the
 * long run), recorded requests by endpoint, and in how many parts they are divided. Each position is asked one of them.
 */
const RECORDINGS = [
  {
    name: 'mainnet',
    lastMcSeqno: 66_519_402,
    positions: [1],
    parts: 2,
    cases: {
      ...ALIKE,
      blocks: 108,
      transactions: 221,
      transactionsByMessage: 83,
      adjacentTransactions: 41,
    },
  },
  {
    name: 'private',
    lastMcSeqno: 216_638,
    // Windows of other sizes over these blocks: test/window.test.ts.
    positions: [],
    parts: 2,
    cases: {
      ...ALIKE,
      blocks: 107,
      transactions: 215,
      transactionsByMessage: 82,
      adjacentTransactions: 40,
    },
  },
];

/** A line of the comparer for each endpoint, those that are not served included. */
const COMPARED = /^([\w/]+) +same +(\d+) +different +(\d+)/gm;

interface Compared {
  /** Requests whose answers are the recorded ones, by endpoint. */
  same: Record<string, number>;
  different: Record<string, number>;
  output: string;
}

/** Sends every request of a folder. */
async function compare(folder: string, url: string): Promise<Compared> {
  const words = ['--against', folder, '--show', '5', url];
  const child = spawn('python3', [join(requireShelf(), 'tools', 'answers-diff'), ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  const compared: Compared = { same: {}, different: {}, output };
  for (const [, endpoint, same, different] of output.matchAll(COMPARED)) {
    compared.same[endpoint] = Number(same);
    compared.different[endpoint] = Number(different);
  }
  return compared;
}

function answers(): string {
  return join(requireShelf(), 'data', 'answers');
}

describe.skipIf(shelf === null).each(RECORDINGS)('recorded answers over $name blocks', (recording) => {
  let stack: Stack;
  let requests: DividedRequests;

  beforeAll(async () => {
    requests = divideRequests(join(answers(), recording.name), recording.parts);
    stack = await startStack({ files: [join(answers(), recording.name, 'blocks.ndjson.gz')], loose: true });
    const status = await stack.caughtUp(recording.lastMcSeqno);
    expect(status.gaps).toEqual([]);
    // The stack answers from a window that holds everything.
    await stack.windowed();
  });

  afterAll(async () => {
    requests?.remove();
    await stack?.remove();
  });

  async function expectSame(url: string, part: number): Promise<void> {
    const { folder, cases } = requests.parts[part];
    const { same, different, output } = await compare(folder, url);
    for (const endpoint of Object.keys(recording.cases)) {
      expect(different[endpoint], output).toBe(0);
      expect([endpoint, same[endpoint]], output).toEqual([endpoint, cases[endpoint]]);
    }
  }

  it('are the known ones', () => expect(requests.cases).toMatchObject(recording.cases));

  it(`with ${positionName(0)}`, () => expectSame(stack.url, 0), 300_000);

  it('the same actions by every way to ask for them', async () => {
    const { asked, different } = await disagreements(stack.url);
    expect(asked).toBeGreaterThan(10);
    expect(different).toEqual([]);
  });

  it('what actions changed, of the accounts that their traces change', async () => {
    const changes = await strayChanges(stack.url);
    expect(changes.asked).toBeGreaterThan(10);
    expect(changes.stray).toEqual([]);
  });

  const others: readonly number[] = isLong ? OTHER_POSITIONS : recording.positions;
  it.each(others.map((share) => [positionName(share), share] as const))(
    'with %s',
    async (_, share) => {
      const server = await serveFrom(stack, share);
      try {
        await expectSame(server.url, 1);
        expect(server.reported).toEqual([]);
      } finally {
        await server.close();
      }
    },
    300_000,
  );
});
