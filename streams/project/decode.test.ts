import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { crc32c } from '../../src/chain/crc.ts';
import { sha256Of } from '../../src/chain/hash.ts';
import { blockFile } from '../../test/recorded-blocks.ts';
import { shelf } from '../../test/shelf.ts';
import type { StoredBlock } from '../envelope.ts';
import { createAccountStore } from './accounts.ts';
import { createAssembler } from './assemble.ts';
import { BlockError, decodeStep } from './decode.ts';
import { createSenders } from './senders.ts';
import { createOpenMessages } from './traces.ts';

const BLOCKS = ['local-ton4j_0_8000000000000000_205890', '0_8000000000000000_71398501'];
const signal = new AbortController().signal;

function storedBlock(boc: Buffer): StoredBlock {
  const hash = sha256Of(boc);
  return {
    id: { workchain: 0, shard: '8000000000000000', seqno: 7, rootHash: hash, fileHash: hash },
    mcSeqno: 9,
    globalId: -239,
    globalVersion: null,
    genUtime: 0,
    zeroState: null,
    seal: 1,
    receivedAtMs: 0,
    source: 'file',
    boc,
    offset: 0,
  };
}

/** Tables that hold nothing. */
function emptyTables(): ClickHouse {
  const never = () => Promise.reject(new Error('not part of this test'));
  return {
    url: '',
    database: 'none',
    command: never,
    insert: never,
    json: async () => [],
    query: async () => Buffer.alloc(0),
    ping: never,
    withDatabase: emptyTables,
    close: async () => undefined,
  };
}

/** Rows of the step, or null when it is a gap. Nothing else may be thrown. */
async function project(boc: Buffer): Promise<number | null> {
  const block = storedBlock(boc);
  const step = { mcSeqno: 9, firstOffset: 0, nextOffset: 1, blocks: [block], masterBlock: null };
  const clickhouse = emptyTables();
  const ignore = () => undefined;
  const openMessages = createOpenMessages(1000, ignore);
  const assembler = createAssembler({
    accounts: createAccountStore({ clickhouse, cachedAccounts: 1000, cachedDataBytes: 1_000_000 }),
    openMessages,
    senders: createSenders(clickhouse, openMessages),
    maxDataBytes: 1_000_000,
    metrics: { brokenTrace: ignore, missingCells: ignore, oversized: ignore, learnedCells: ignore },
  });
  try {
    const { inserts } = await assembler.assemble([decodeStep(step)], { number: 1, firstMcSeqno: 9 }, signal);
    return inserts.reduce((sum, { rows }) => sum + rows, 0);
  } catch (error) {
    if (error instanceof BlockError) return null;
    throw error;
  }
}

describe.skipIf(shelf === null)('a block with flipped bits', () => {
  it.each(BLOCKS)('%s: makes rows or is a gap', async (name) => {
    const good = readFileSync(blockFile(name));
    const whole = await project(good);
    expect(whole).toBeGreaterThan(10);
    const outcomes = { rows: 0, gap: 0 };
    const runs = good.length > 100_000 ? 60 : 600;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: good.length * 8 - 1 }), { minLength: 1, maxLength: 3 }), async (bits) => {
        const bytes = Buffer.from(good);
        for (const bit of bits) bytes[bit >> 3] ^= 1 << (bit & 7);
        // The checksum is made right again, so that what is behind it is reached.
        if ((bytes[4] & 0x40) !== 0) bytes.writeUInt32LE(crc32c(bytes, 0, bytes.length - 4), bytes.length - 4);
        outcomes[(await project(bytes)) === null ? 'gap' : 'rows']++;
      }),
      { numRuns: runs },
    );
    expect(outcomes.rows).toBeGreaterThan(0);
    expect(outcomes.gap).toBeGreaterThan(0);
  });
});
