import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ballast, heavyBlock } from '../../test/heavy-block.ts';
import { blockFile, recordedBlocks } from '../../test/recorded-blocks.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { cellHash } from '../chain/hash.ts';
import type { BlockIdExt } from '../chain/model.ts';
import { NodeError } from '../node/chain-node.ts';
import { blockIdExtFromTl, blockIdExtToTl } from '../node/lite-api.ts';
import type { Liteservers } from '../node/liteservers.ts';
import { readSigned, watchSignedBlocks } from './signed-blocks.ts';

it('reads the jetton wallets of well-known code that a block leaves, though it does not show all their cells', async () => {
  const balances: string[] = [];
  for await (const { bytes } of recordedBlocks()) {
    const { workchain, shard, seqno } = decodeBlock(openBoc(bytes)).header;
    const id = { workchain, shard, seqno, rootHash: Buffer.alloc(32), fileHash: Buffer.alloc(32) };
    for (const { claims } of readSigned(id, bytes).transactions) {
      if (claims === null) continue;
      expect([claims.owner.length, claims.master.length]).toEqual([36, 36]);
      balances.push(claims.balance);
    }
  }
  expect(balances.filter((balance) => balance !== '0').length).toBeGreaterThan(20);
});

it('refuses a block that is small, and large once each of its transactions stands by itself', () => {
  const bytes = readFileSync(blockFile('mainnet_0_8000000000000000_40484416'));
  const { workchain, shard, seqno } = decodeBlock(openBoc(bytes)).header;
  const id = { workchain, shard, seqno, rootHash: Buffer.alloc(32), fileHash: Buffer.alloc(32) };
  expect(readSigned(id, heavyBlock(bytes, ballast(10))).transactions.length).toBeGreaterThan(400);
  const heavy = heavyBlock(bytes, ballast(900));
  expect(heavy.length).toBeLessThan(1024 * 1024);
  expect(() => readSigned(id, heavy)).toThrow(/take more than 64 MiB/);
  const long = Buffer.concat([bytes, Buffer.alloc(4 * 1024 * 1024)]);
  expect(() => readSigned(id, long)).toThrow(/limit 4194304/);
});

describe('blocks that liteservers name', () => {
  interface Named {
    id: BlockIdExt;
    bytes: Buffer;
  }

  const named = (bytes: Buffer): Named => {
    const boc = openBoc(bytes);
    const { workchain, shard, seqno } = decodeBlock(boc).header;
    const fileHash = createHash('sha256').update(bytes).digest();
    return { id: { workchain, shard, seqno, rootHash: cellHash(boc, boc.roots[0]), fileHash }, bytes };
  };

  /** A shard block and the one behind it. */
  async function pair(): Promise<[Named, Named]> {
    const known = new Map<string, Named>();
    for await (const { bytes } of recordedBlocks()) {
      const { workchain, prev } = decodeBlock(openBoc(bytes)).header;
      if (workchain !== 0) continue;
      const one = named(bytes);
      const before = prev.length === 1 ? known.get(prev[0].rootHash.toString('hex')) : undefined;
      if (before !== undefined) return [before, one];
      known.set(one.id.rootHash.toString('hex'), one);
    }
    throw new Error('no block was recorded with the one before it');
  }

  /** What is taken when servers name `rounds` one after another, the last ever again. */
  async function taken(rounds: readonly (readonly BlockIdExt[])[], answer: (id: BlockIdExt, asked: number) => Buffer) {
    const ended = new AbortController();
    const found: number[] = [];
    const asked = new Map<number, number>();
    const failures: unknown[] = [];
    let round = 0;
    const query = async (question: { method: string; id?: Parameters<typeof blockIdExtFromTl>[0] }) => {
      if (question.id === undefined) {
        if (round === rounds.length + 5) ended.abort();
        const now = rounds[Math.min(round++, rounds.length - 1)];
        return { signedBlocks: now.map(blockIdExtToTl), candidates: [] };
      }
      const id = blockIdExtFromTl(question.id);
      const times = (asked.get(id.seqno) ?? 0) + 1;
      asked.set(id.seqno, times);
      return { id: question.id, data: answer(id, times) };
    };
    await watchSignedBlocks(
      {
        liteservers: { query } as unknown as Liteservers,
        timeoutMs: 1_000,
        take: async ({ id }) => void found.push(id.seqno),
        onShown: () => undefined,
        isWanted: () => true,
        report: (error) => {
          failures.push(error);
          ended.abort();
        },
      },
      ended.signal,
    );
    return { found, asked, failures };
  }

  const missing = (): never => {
    throw new NodeError('not_found', 'no such block');
  };

  it('are taken with those before them, which may be found a moment later', async () => {
    const [before, newest] = await pair();
    const { found } = await taken([[], [newest.id]], ({ seqno }, asked) => {
      if (seqno === newest.id.seqno) return newest.bytes;
      return seqno === before.id.seqno && asked > 1 ? before.bytes : missing();
    });
    expect(found).toEqual([before.id.seqno, newest.id.seqno]);
  });

  it('are taken alone when those before them are gone', async () => {
    const [before, newest] = await pair();
    const { found, asked } = await taken([[], [newest.id]], ({ seqno }) =>
      seqno === newest.id.seqno ? newest.bytes : missing(),
    );
    expect([found, asked.get(before.id.seqno)]).toEqual([[newest.id.seqno], 3]);
  });

  it('are taken whatever others are named that nobody has', async () => {
    const [one] = await pair();
    const unknown = { ...one.id, seqno: one.id.seqno + 7, rootHash: Buffer.alloc(32, 1) };
    const { found } = await taken([[unknown, one.id]], ({ seqno }) => (seqno === one.id.seqno ? one.bytes : missing()));
    expect(found).toEqual([one.id.seqno]);
  });

  it.each([
    ['seqno', (id: BlockIdExt) => ({ ...id, seqno: id.seqno + 1 })],
    ['root hash', (id: BlockIdExt) => ({ ...id, rootHash: Buffer.alloc(32, 1) })],
    ['workchain', (id: BlockIdExt) => ({ ...id, workchain: 1 })],
  ])('are refused when the id names another %s', async (_, lie) => {
    const [one] = await pair();
    const { found, failures } = await taken([[lie(one.id)]], () => one.bytes);
    expect([found, failures.length]).toEqual([[], 1]);
    expect(String(failures[0])).toContain('under the id of another');
  });
});
