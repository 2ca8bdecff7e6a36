/** A running stack takes in what is imported beside it, and has all of it again after a restart. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ApiClient, createApiClient, hashesOf, walk } from './api/client.ts';
import { transactionsWanted } from './api/contract.ts';
import { base64, type Network, readSequenceFacts, sequencePath } from './api/network.ts';
import { cutSequence } from './cut-sequence.ts';
import { shelf } from './shelf.ts';
import { hashesOfTables, runToEnd, type Stack, startStack, temporaryFolder } from './stack.ts';
import { tableHashes } from './table-hashes.ts';
import { atEach, OTHER_POSITIONS } from './window-positions.ts';
import { projectFiles } from './windowed.ts';

const SEQUENCE = 'local-ton4j-2024_a';
const CUT = 88;
const LAST = 176;

describe.skipIf(shelf === null)('import into a running stack', () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let stack: Stack;
  let client: ApiClient;
  let network: Network;
  let parts: [string, string];

  const open = async (): Promise<void> => {
    stack = await startStack({ dataDir: folder.path });
    client = createApiClient(stack.url);
  };

  /** That the API has exactly the blocks up to this step. */
  const expectUpTo = async (mcSeqno: number): Promise<void> => {
    const { rows } = await stack.caughtUp(mcSeqno);
    const blocks = network.blocks.filter((block) => block.mcSeqno <= mcSeqno);
    expect(rows.blocks).toBe(blocks.length);
    const expected = transactionsWanted(network, { sort: 'asc' }).filter(({ block }) => block.mcSeqno <= mcSeqno);
    const shows = async (asked: ApiClient): Promise<void> => {
      const found = await walk(asked, 'transactions', 'transactions', { sort: 'asc' }, 500, 'offset');
      expect(hashesOf(found)).toEqual(expected.map(({ facts }) => base64(facts.hash)));
      const info = z.object({ last: z.looseObject({ seqno: z.number() }) }).parse(await asked.get('masterchainInfo'));
      expect(info.last.seqno).toBe(mcSeqno);
    };
    await stack.windowed();
    await shows(client);
    await atEach(OTHER_POSITIONS, stack, ({ url }) => shows(createApiClient(url)));
  };

  beforeAll(async () => {
    folder = temporaryFolder();
    network = readSequenceFacts(SEQUENCE);
    parts = cutSequence(sequencePath(SEQUENCE), CUT, folder.path);
    await open();
  });

  afterAll(async () => {
    try {
      await stack?.remove();
    } finally {
      folder?.remove();
    }
  });

  it('answers over an empty log', async () => {
    const { log, projected, lag_steps } = await stack.status();
    expect({ log, projected, lag_steps }).toEqual({
      log: { mc_seqno: null },
      projected: { mc_seqno: null },
      lag_steps: 0,
    });
    for (const [endpoint, key] of [
      ['transactions', 'transactions'],
      ['blocks', 'blocks'],
      ['messages', 'messages'],
    ]) {
      expect((await client.page(endpoint, key)).rows).toEqual([]);
    }
    expect(await client.get('topAccountsByBalance')).toEqual([]);
    expect((await client.refused('masterchainInfo')).status).toBe(500);
  });

  it('serves what is imported, and more of it, and nothing twice', async () => {
    await stack.import([parts[0]]);
    await expectUpTo(CUT);
    const before = await hashesOfTables(stack.clickhouseUrl);
    expect(await stack.import([parts[0]])).toContain('nothing new to import');
    await expectUpTo(CUT);
    expect(await hashesOfTables(stack.clickhouseUrl)).toEqual(before);
    await stack.import([sequencePath(SEQUENCE)]);
    await expectUpTo(LAST);
  });

  it('is as before when blocks of another chain are refused', async () => {
    const before = await hashesOfTables(stack.clickhouseUrl);
    const words = ['import', '--data-dir', folder.path, sequencePath('everscale-1459995')];
    expect(await runToEnd(words, {}, 1)).toMatch(/^tonstream import: .*; nothing was imported$/m);
    await expectUpTo(LAST);
    expect(await hashesOfTables(stack.clickhouseUrl)).toEqual(before);
  });

  it('has the same tables and answers after a restart, and as when imported at once', async () => {
    const before = await hashesOfTables(stack.clickhouseUrl);
    await stack.program.stop();
    await open();
    await expectUpTo(LAST);
    expect(await hashesOfTables(stack.clickhouseUrl)).toEqual(before);
    const atOnce = await projectFiles([sequencePath(SEQUENCE)]);
    try {
      expect(await tableHashes(atOnce.clickhouse)).toEqual(before);
    } finally {
      await atOnce.remove();
    }
  });
});
