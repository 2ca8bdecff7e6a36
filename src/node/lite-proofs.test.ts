import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { headerProof, recordedMasterchain } from '../../test/lite-network.ts';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { Builder, type Cell, parseBoc, toBoc } from '../chain/builder.ts';
import { Cursor } from '../chain/cursor.ts';
import { lookupHashmap } from '../chain/hashmap.ts';
import type { BlockId, BlockIdExt } from '../chain/model.ts';
import { merkleProof } from '../chain/proof.ts';
import { blockIdExtToTl, blockIdToTl, encodeAnswer, type LiteAnswer } from './lite-api.ts';
import { checkAnswer } from './lite-checks.ts';
import { LieError } from './lite-faults.ts';
import { checkAccount, checkBlock, checkHeader, checkLibraries } from './lite-proofs.ts';

/** The elector of mainnet: it has transactions in every masterchain block. */
const ELECTOR = Buffer.alloc(32, 0x33);

/** The cells from the root down to the first cell with the hash. */
function pathTo(root: Cell, hash: Buffer): Cell[] {
  const seen = new Set<string>();
  const walk = (cell: Cell): Cell[] | null => {
    if (cell.hash(0).equals(hash)) return [cell];
    if (seen.has(cell.key())) return null;
    seen.add(cell.key());
    for (const ref of cell.refs) {
      const below = walk(ref);
      if (below !== null) return [cell, ...below];
    }
    return null;
  };
  const path = walk(root);
  if (path === null) throw new Error('no such cell');
  return path;
}

function subtree(root: Cell): Cell[] {
  return [root, ...root.refs.flatMap(subtree)];
}

describe.skipIf(shelf === null)('checks of answers', () => {
  const block = shelf === null ? null : (recordedMasterchain().at(-1) ?? null);
  const file = (name: string) => gunzipSync(readFileSync(join(requireShelf(), 'data', 'blocks', 'states', name)));

  /** Recorded masterchain block 2690 with the full state after it, and what a liteserver would show of both. */
  function setting() {
    if (block === null) throw new Error('no recorded block');
    const stateBytes = file('mainnet_-1_8000000000000000_2690.state.boc.gz');
    const state = parseBoc(stateBytes);
    const boc = openBoc(stateBytes);
    const accounts = new Cursor(boc, boc.refs[boc.refStart[boc.roots[0]] + 1]).maybeRef();
    const leaf = lookupHashmap(boc, accounts, 256, ELECTOR);
    if (leaf === null) throw new Error('the state has no elector');
    leaf.skip(5);
    leaf.skip(leaf.u(4) * 8);
    leaf.maybeRef();
    const account = pathTo(state, parseBoc(reserialized(stateBytes, leaf.nextRef())).hash());
    const shown = new Set([...account.slice(0, -1), ...state.refs.slice(2)]);
    const stateProof = merkleProof(state, (cell) => shown.has(cell));
    const proof = toBoc([parseBoc(headerProof(block.bytes)), stateProof]);
    const id = blockIdExtToTl(block.id);
    const answer: LiteAnswer<'getAccountState'> = {
      id,
      shardblk: id,
      shardProof: Buffer.alloc(0),
      proof,
      state: toBoc(account[account.length - 1]),
    };
    return { id: block.id, answer, state };
  }

  function reserialized(bytes: Buffer, cell: number): Buffer {
    const boc = openBoc(bytes);
    const cells = new Map<number, Cell>();
    const build = (at: number): Cell => {
      const known = cells.get(at);
      if (known !== undefined) return known;
      const builder = new Builder();
      const cursor = new Cursor(boc, at);
      while (cursor.bitsLeft > 0) builder.u(cursor.u(1), 1);
      for (let i = boc.refStart[at]; i < boc.refStart[at] + (boc.d1[at] & 7); i++) builder.ref(build(boc.refs[i]));
      const made = builder.cell();
      cells.set(at, made);
      return made;
    };
    return toBoc(build(cell));
  }

  test('an account of a masterchain block is proven down to its cell', () => {
    const { id, answer } = setting();
    const boc = checkAccount(answer, id, -1, ELECTOR);
    expect(boc).toEqual(answer.state);
    expect(answer.proof.length).toBeLessThan(20_000);
  });

  test('an account that is not there', () => {
    const { id, answer, state } = setting();
    const absent = Buffer.alloc(32, 0x11);
    const proof = toBoc([parseBoc(headerProof(block?.bytes ?? Buffer.alloc(0))), merkleProof(state, () => true)]);
    const nothing = { ...answer, proof, state: Buffer.alloc(0) };
    expect(checkAccount(nothing, id, -1, absent)).toBeNull();
    expect(() => checkAccount(nothing, id, -1, ELECTOR)).toThrow('contradict each other');
    expect(() => checkAccount({ ...answer, proof }, id, -1, absent)).toThrow('contradict each other');
  });

  test('another state, block, account or shard is a lie', () => {
    const { id, answer } = setting();
    const other = toBoc(new Builder().u(1, 8).cell());
    expect(() => checkAccount({ ...answer, state: other }, id, -1, ELECTOR)).toThrow('does not have');
    const earlier: BlockIdExt = { ...id, seqno: id.seqno - 1 };
    expect(() => checkAccount(answer, earlier, -1, ELECTOR)).toThrow('as of another block');
    expect(() => checkAccount(answer, id, 0, ELECTOR)).toThrow('a shard it is not in');
    const forged: BlockIdExt = { ...id, rootHash: Buffer.alloc(32, 1) };
    const claimed = { ...answer, id: blockIdExtToTl(forged), shardblk: blockIdExtToTl(forged) };
    expect(() => checkAccount(claimed, forged, -1, ELECTOR)).toThrow('block proof is of something else');
    expect(() => checkAccount(answer, id, -1, Buffer.alloc(32, 0x34))).toThrow('pruned on the way to the key');
  });

  test('a flipped bit anywhere in the proof is noticed', () => {
    const { id, answer } = setting();
    for (let i = 0; i < 60; i++) {
      const proof = Buffer.from(answer.proof);
      proof[Math.floor((proof.length * i) / 60)] ^= 0x10;
      expect(() => checkAccount({ ...answer, proof }, id, -1, ELECTOR)).toThrow();
    }
  });

  test('a shard block has to be the one the masterchain state registers', () => {
    const { id, answer, state } = setting();
    const shown = new Set([state.refs[3], ...subtree(state.refs[3].refs[0])]);
    const header = parseBoc(headerProof(block?.bytes ?? Buffer.alloc(0)));
    const shardProof = toBoc([header, merkleProof(state, (cell) => shown.has(cell))]);
    const [top] = decodeBlock(openBoc(block?.bytes ?? Buffer.alloc(0))).shardHashes();
    const account = Buffer.from(top.shard, 'hex');
    const inShard = Buffer.concat([account, Buffer.alloc(24)]);
    const committed = { ...answer, shardProof, shardblk: blockIdExtToTl(top) };
    // Past the shard table the account's own proof, of the masterchain here, is looked at and does not fit.
    expect(() => checkAccount(committed, id, top.workchain, inShard)).toThrow('block proof is of something else');
    for (const wrong of [{ seqno: top.seqno + 1 }, { rootHash: Buffer.alloc(32) }, { fileHash: Buffer.alloc(32) }]) {
      const shardblk = blockIdExtToTl({ ...top, ...wrong });
      expect(() => checkAccount({ ...committed, shardblk }, id, top.workchain, inShard)).toThrow('does not commit');
    }
  });

  test('a block that was looked up by its seqno has that seqno, and is of the workchain', () => {
    if (block === null) throw new Error('no recorded block');
    const { id, bytes } = block;
    const shown = { id: blockIdExtToTl(id), mode: 0, headerProof: headerProof(bytes) };
    const answer = encodeAnswer('lookupBlock', shown);
    const check = (changed: Partial<BlockId>, mode = 1) =>
      checkAnswer({ method: 'lookupBlock', mode, id: blockIdToTl({ ...id, ...changed }) }, answer, id);
    check({});
    check({ seqno: 0 }, 2);
    for (const changed of [{ seqno: id.seqno + 1 }, { workchain: 0 }]) expect(() => check(changed)).toThrow(LieError);
    expect(() => check({ seqno: 0, workchain: 0 }, 2)).toThrow(LieError);
  });

  test('headers and blocks belong to their ids', () => {
    if (block === null) throw new Error('no recorded block');
    const { id, bytes } = block;
    expect(checkHeader(headerProof(bytes), id)).toEqual({ genUtime: expect.any(Number) });
    expect(() => checkHeader(headerProof(bytes), { ...id, rootHash: id.fileHash })).toThrow('of something else');
    expect(() => checkHeader(headerProof(bytes), { ...id, seqno: 1 })).toThrow('header of another block');
    expect(() => checkHeader(bytes, id)).toThrow('no Merkle proof');
    const answer = { id: blockIdExtToTl(id), data: bytes };
    expect(checkBlock(answer, id)).toBe(bytes);
    expect(() => checkBlock(answer, { ...id, seqno: 1 })).toThrow('another block');
    expect(() => checkBlock({ ...answer, data: Buffer.concat([bytes, Buffer.alloc(1)]) }, id)).toThrow('SHA-256');
  });
});

test('no more cells are hashed than any account, library or configuration has', () => {
  const count = (1 << 19) + 1;
  const bag = Buffer.alloc(6 + 9 + 3 + 3 + 2 * count);
  bag.set(Buffer.from('b5ee9c720303', 'hex'));
  bag.writeUIntBE(count, 6, 3);
  bag.writeUIntBE(1, 9, 3);
  bag.writeUIntBE(2 * count, 15, 3);
  const hash = new Builder().cell().hash();
  expect(() => checkLibraries({ result: [{ hash, data: bag }] }, [hash])).toThrow('524289 cells, limit 524288');
  const library = { hash, data: toBoc(new Builder().cell()) };
  expect(() => checkLibraries({ result: [library, library] }, [hash])).toThrow('more libraries than were asked for');
});

test('libraries have the hash they stand under', () => {
  const cell = new Builder().u(0xabcd, 16).cell();
  const other = new Builder().u(0xabce, 16).cell();
  const found = checkLibraries({ result: [{ hash: cell.hash(), data: toBoc(cell) }] }, [cell.hash(), other.hash()]);
  expect([...found.keys()]).toEqual([cell.hash().toString('hex')]);
  const swapped = { result: [{ hash: cell.hash(), data: toBoc(other) }] };
  expect(() => checkLibraries(swapped, [cell.hash()])).toThrow('has another hash');
  expect(() => checkLibraries({ result: [{ hash: other.hash(), data: toBoc(other) }] }, [cell.hash()])).toThrow(
    'was not asked for',
  );
});
