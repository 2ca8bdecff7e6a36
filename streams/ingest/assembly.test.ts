import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { BlockIdExt } from '../../src/chain/model.ts';
import { blockKey } from '../envelope.ts';
import {
  assembleStep,
  canonicalOrder,
  ForkError,
  intersects,
  type LinkedBlock,
  MissingBlockError,
  type ShardTop,
} from './assembly.ts';

const WHOLE = '8000000000000000';
const LEFT = '4000000000000000';
const RIGHT = 'c000000000000000';

function id(shard: string, seqno: number, workchain = 0): BlockIdExt {
  const hash = createHash('sha256').update(`${workchain}:${shard}:${seqno}`).digest();
  return { workchain, shard, seqno, rootHash: hash, fileHash: hash };
}

function block(self: BlockIdExt, ...prev: BlockIdExt[]): LinkedBlock {
  return { id: self, prev };
}

function top(of: BlockIdExt, regMcSeqno: number): ShardTop {
  return { ...of, regMcSeqno };
}

function finder(blocks: LinkedBlock[]) {
  const known = new Map(blocks.map((one) => [blockKey(one.id), one]));
  return (wanted: BlockIdExt) => known.get(blockKey(wanted)) ?? null;
}

const keys = (blocks: LinkedBlock[]): string[] => blocks.map((one) => blockKey(one.id));

/** A shard that splits behind block 3 and merges again into block 7. */
const chain = [
  block(id(WHOLE, 1), id(WHOLE, 0)),
  block(id(WHOLE, 2), id(WHOLE, 1)),
  block(id(WHOLE, 3), id(WHOLE, 2)),
  block(id(LEFT, 4), id(WHOLE, 3)),
  block(id(RIGHT, 4), id(WHOLE, 3)),
  block(id(RIGHT, 5), id(RIGHT, 4)),
  block(id(RIGHT, 6), id(RIGHT, 5)),
  block(id(WHOLE, 7), id(LEFT, 4), id(RIGHT, 6)),
];

describe('assembleStep', () => {
  it('goes down to seqno 1 from masterchain block 1', async () => {
    const step = { mcSeqno: 1, tops: [top(id(WHOLE, 2), 1)], committed: [] };
    expect(keys(await assembleStep(step, finder(chain)))).toEqual([`0:${WHOLE}:1`, `0:${WHOLE}:2`]);
  });

  it('takes nothing from a shard that still has the zero state or did not move', async () => {
    const tops = [top(id(WHOLE, 0), 0), top(id(WHOLE, 5, 1), 3)];
    expect(await assembleStep({ mcSeqno: 4, tops, committed: [id(WHOLE, 5, 1)] }, finder([]))).toEqual([]);
  });

  it('follows a split and stops at the committed block before it', async () => {
    const tops = [top(id(LEFT, 4), 9), top(id(RIGHT, 6), 9)];
    const step = await assembleStep({ mcSeqno: 9, tops, committed: [id(WHOLE, 2)] }, finder(chain));
    expect(keys(step)).toEqual([`0:${WHOLE}:3`, `0:${LEFT}:4`, `0:${RIGHT}:4`, `0:${RIGHT}:5`, `0:${RIGHT}:6`]);
  });

  it('follows a merge where one half was committed further than the other', async () => {
    const committed = [id(LEFT, 4), id(RIGHT, 5)];
    const step = await assembleStep({ mcSeqno: 9, tops: [top(id(WHOLE, 7), 9)], committed }, finder(chain));
    expect(keys(step)).toEqual([`0:${RIGHT}:6`, `0:${WHOLE}:7`]);
  });

  it('follows a split and a merge in one step', async () => {
    const step = { mcSeqno: 9, tops: [top(id(WHOLE, 7), 9)], committed: [id(WHOLE, 1)] };
    const order = keys(await assembleStep(step, finder([...chain].reverse())));
    expect(order).toEqual(keys(chain.slice(1)));
  });

  it('names a missing block and the block that refers to it', async () => {
    const holed = chain.filter((one) => blockKey(one.id) !== `0:${RIGHT}:5`);
    const step = { mcSeqno: 9, tops: [top(id(WHOLE, 7), 9)], committed: [id(WHOLE, 3)] };
    await expect(assembleStep(step, finder(holed))).rejects.toThrow(
      new MissingBlockError(id(RIGHT, 5), id(RIGHT, 6)).message,
    );
    const loose = await assembleStep({ ...step, loose: true }, finder(holed));
    expect(keys(loose)).toEqual([`0:${LEFT}:4`, `0:${RIGHT}:6`, `0:${WHOLE}:7`]);
  });

  it('names a missing top', async () => {
    const step = { mcSeqno: 9, tops: [top(id(WHOLE, 8), 9)], committed: [id(WHOLE, 7)] };
    await expect(assembleStep(step, finder([]))).rejects.toThrow(`-1:${WHOLE}:9 refers`);
  });

  it('without the step before needs the tops of its own and takes the ancestors that are there', async () => {
    const tops = [top(id(LEFT, 4), 8), top(id(RIGHT, 6), 9)];
    const find = finder(chain.filter((one) => one.id.shard === RIGHT && one.id.seqno > 4));
    const step = await assembleStep({ mcSeqno: 9, tops, committed: null }, find);
    expect(keys(step)).toEqual([`0:${RIGHT}:5`, `0:${RIGHT}:6`]);
    await expect(assembleStep({ mcSeqno: 8, tops, committed: null }, find)).rejects.toThrow(MissingBlockError);
  });

  it('refuses a block whose hashes are not those of the reference', async () => {
    const other = { ...id(WHOLE, 2), rootHash: Buffer.alloc(32) };
    const step = { mcSeqno: 2, tops: [top(id(WHOLE, 3), 2)], committed: [] };
    const forked = [chain[0], block(other, id(WHOLE, 1)), chain[2]];
    await expect(assembleStep(step, finder(forked))).rejects.toThrow(ForkError);
    await expect(assembleStep({ ...step, committed: [other] }, finder(chain))).rejects.toThrow(ForkError);
  });
});

describe('canonicalOrder', () => {
  it('sorts by workchain, unsigned prefix and seqno where nothing is related', () => {
    const blocks = [id(RIGHT, 1), id(LEFT, 2), id(WHOLE, 9, 1), id(LEFT, 1), id(WHOLE, 3, -2)].map((one) => block(one));
    const expected = [`-2:${WHOLE}:3`, `0:${LEFT}:1`, `0:${LEFT}:2`, `0:${RIGHT}:1`, `1:${WHOLE}:9`];
    expect(keys(canonicalOrder(blocks))).toEqual(expected);
  });
});

describe('intersects', () => {
  it('holds for a shard, its ancestors and its descendants', () => {
    expect(intersects(WHOLE, LEFT)).toBe(true);
    expect(intersects('6000000000000000', LEFT)).toBe(true);
    expect(intersects(LEFT, RIGHT)).toBe(false);
    expect(intersects('6000000000000000', '2000000000000000')).toBe(false);
  });
});
