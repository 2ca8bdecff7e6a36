import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type RecordedBlock, recordedBlocks } from '../../test/recorded-blocks.ts';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { decodeBlock } from './block.ts';
import { cellType, levelMask, MERKLE_PROOF, openBoc, PRUNED } from './boc.ts';
import { cellHash, hashAt, sha256Of, verifyMerkle } from './hash.ts';
import { decodeHeader } from './header.ts';
import { serialize } from './serialize.ts';
import { shardParent } from './shard-ident.ts';

describe.skipIf(shelf === null)('proofs and roots', () => {
  const blocks: RecordedBlock[] = [];
  beforeAll(async () => {
    for await (const block of recordedBlocks()) blocks.push(block);
  });

  test('a Merkle proof of each block has the block as its virtual root, and the same header in it', () => {
    const masks = new Set<number>();
    let proofs = 0;
    for (const { proof, facts, bytes, name } of blocks) {
      if (proof === null) continue;
      const boc = openBoc(proof);
      for (let cell = 0; cell < boc.count; cell++) if (cellType(boc, cell) === PRUNED) masks.add(levelMask(boc, cell));
      // block_proof#c3 ... root:^Cell, a Merkle proof of the block
      const merkle = boc.refs[boc.refStart[boc.roots[0]]];
      expect(cellType(boc, merkle)).toBe(MERKLE_PROOF);
      verifyMerkle(boc, merkle);
      expect(hashAt(boc, boc.refs[boc.refStart[merkle]], 0).toString('hex')).toBe(facts.block.root_hash);
      const { fileHash: _, ...proved } = decodeHeader(boc, merkle);
      const { fileHash, ...header } = decodeHeader(openBoc(bytes));
      expect(proved, name).toEqual(header);
      expect(fileHash.toString('hex')).toBe(facts.block.file_hash);
      proofs++;
    }
    expect(proofs).toBeGreaterThan(1000);
    // 2 is the sparse mask: pruned inside the Merkle update, under the proof, but not by the proof.
    expect([...masks].sort()).toEqual([1, 2, 3]);
  });

  test('the shard of a previous block is the shard that block is in, also before a split or a merge', () => {
    const shards = new Map(blocks.map(({ facts }) => [facts.block.root_hash, facts.block.shard]));
    const seen = { plain: 0, split: 0 };
    for (const { bytes, name } of blocks) {
      const header = decodeHeader(openBoc(bytes));
      for (const prev of header.prev) {
        const shard = shards.get(prev.rootHash.toString('hex'));
        if (shard === undefined) continue;
        expect(prev.shard, name).toBe(shard);
        seen[header.afterSplit ? 'split' : 'plain']++;
      }
      if (header.afterMerge)
        expect(header.prev.map((prev) => shardParent(prev.shard))).toEqual(Array(2).fill(header.shard));
    }
    expect(seen.plain).toBeGreaterThan(900);
    expect(seen.split).toBeGreaterThan(3);
  });

  test('a block written again is read the same', () => {
    for (const { bytes, facts, name } of blocks) {
      const boc = openBoc(bytes);
      const again = decodeBlock(openBoc(serialize(boc, boc.roots[0], { index: true })));
      expect(again.header.rootHash.toString('hex'), name).toBe(facts.block.root_hash);
    }
  });

  test.each([
    ['zerostate.mainnet.masterchain', '17a3a92992aabea785a7a090985a265cd31f323d849da51239737e321fb05569', '5e994fcf'],
    ['zerostate.mainnet.basechain', '55b13f6d0e1d0c34c9c2160f6f918e92d82bf9ddcf8de2e4c94a3fdf39d15446', 'ee0bedfe'],
  ])('%s has the hashes of the network configuration', (name, rootHash, fileHash) => {
    const bytes = readFileSync(join(requireShelf(), 'data', 'config', `${name}.boc`));
    const boc = openBoc(bytes);
    expect(cellHash(boc, boc.roots[0]).toString('hex')).toBe(rootHash);
    expect(sha256Of(bytes).toString('hex', 0, 4)).toBe(fileHash);
  });

  test('the configuration of a key block is a dictionary whose root a liteserver proof would name', () => {
    const key = blocks.find((block) => block.facts.block.key_block === true);
    if (key === undefined) throw new Error('no key block among the recorded ones');
    const { master } = decodeBlock(openBoc(key.bytes));
    expect(master?.configAddress?.toString('hex')).toBe('5'.repeat(64));
    expect(master?.config).not.toBeNull();
  });
});
