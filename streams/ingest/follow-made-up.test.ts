/** What one server makes up, and nobody proves, costs others nothing: over the recorded chain of mainnet's genesis. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beginCell } from '@ton/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBoc } from '../../src/chain/boc.ts';
import { cellHash } from '../../src/chain/hash.ts';
import type { BlockIdExt } from '../../src/chain/model.ts';
import { type BlockProver, NodeError } from '../../src/node/chain-node.ts';
import { follow } from '../../test/followed.ts';
import { content, imported } from '../../test/imported.ts';
import { MASTER_SHARD, masterKey, recordedNode } from '../../test/recorded-node.ts';
import { changeBlock, changeTop, readSequence, type SequenceLine, sequenceFile } from '../../test/recorded-sequence.ts';
import { shelf } from '../../test/shelf.ts';
import { openEmbeddedLog } from '../embedded.ts';
import { blockKey } from '../envelope.ts';
import type { EventLog } from '../log.ts';
import { checkBlockAndTops, IngestError, sameHashes } from './check.ts';
import type { BlockFetcher } from './follow-fetch.ts';
import { createStepPipeline } from './follow-steps.ts';

const GENESIS = 'mainnet-genesis_a';
let folder: string;
let log: EventLog;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-follow-'));
  log = openEmbeddedLog({ folder: join(folder, 'log') });
});

afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

it('shard blocks without end are not followed before the masterchain block that commits them is proven, and no further than a step may be large', async () => {
  const hash = Buffer.alloc(32);
  const top = { workchain: 0, shard: MASTER_SHARD, seqno: 5_000, rootHash: hash, fileHash: hash };
  const block = (id: BlockIdExt) => ({
    ...{ id, prev: [{ ...id, seqno: id.seqno - 1 }], boc: Buffer.alloc(1), receivedAtMs: 0 },
    ...{ globalId: 1, globalVersion: null, genUtime: 0, masterRefSeqno: 1 },
  });
  const id = { ...top, workchain: -1, seqno: 2 };
  let [asked, proofs, isTrue] = [0, 0, false];
  const fetcher: BlockFetcher = {
    master: async () => ({ ...block(id), tops: [{ ...top, regMcSeqno: 2 }] }),
    oldMaster: async () => null,
    oldShard: async () => null,
    shard: async (of) => {
      asked++;
      return block(of);
    },
    confirm: async () => {
      proofs++;
      if (!isTrue) throw new IngestError('unproven', null, 'nobody can prove it');
    },
  };
  const { signal } = new AbortController();
  const limits = { steps: 1, bytes: 1, stepBytes: 1e9 };
  const options = { first: 2, before: { id: null, tops: [] }, fetcher, limits, signal };
  const head = { seqno: 2, seen: () => null, follow: () => new Promise<never>(() => undefined) };
  await expect(createStepPipeline({ ...options, head }).next()).rejects.toMatchObject({ code: 'unproven' });
  expect([asked < 1_000, proofs]).toEqual([true, 1]);
  isTrue = true;
  const step = await createStepPipeline({ ...options, head }).next();
  expect([step.blocks.length, proofs]).toEqual([5_001, 2]);
  // Each counts for more than its one byte.
  const small = { ...options, limits: { ...limits, stepBytes: 100_000 } };
  asked = 0;
  await expect(createStepPipeline({ ...small, head }).next()).rejects.toMatchObject({
    code: 'too_large',
    message: expect.stringMatching(/^step 2 has more than 100000 bytes .*--max-step-bytes/),
  });
  expect(asked).toBeLessThan(100);
  isTrue = false;
  await expect(createStepPipeline({ ...small, head }).next()).rejects.toMatchObject({ code: 'unproven' });
});

describe.skipIf(shelf === null)('a masterchain block that a server made up', () => {
  const key = masterKey(60);
  const lineOf = (seqno: number): SequenceLine => {
    const found = readSequence(sequenceFile(GENESIS)).find((one) => one.workchain === -1 && one.seqno === seqno);
    if (found === undefined) throw new Error(`masterchain block ${seqno} is not recorded`);
    return found;
  };
  const bytesOf = ({ boc }: SequenceLine): Buffer => Buffer.from(boc, 'base64');
  const idOf = (bytes: Buffer): BlockIdExt => {
    const boc = openBoc(bytes);
    const hashes = { rootHash: cellHash(boc, boc.roots[0]), fileHash: createHash('sha256').update(bytes).digest() };
    return { workchain: -1, shard: MASTER_SHARD, seqno: 60, ...hashes };
  };
  const made = (what: 'seed' | 'network'): Buffer => bytesOf(changeBlock(lineOf(60), what));
  /** Commits the seqno of a shard that the block before it commits, under other hashes. */
  function forked(): Buffer {
    const [[before], [top]] = [59, 60].map((seqno) => {
      const place = { file: GENESIS, line: null };
      return checkBlockAndTops(bytesOf(lineOf(seqno)), null, place).tops;
    });
    return bytesOf(changeTop(lineOf(60), top.rootHash, before.seqno));
  }

  it.each([
    ['of another network', () => made('network')],
    ['that nobody has', () => null],
    ['that is none', () => beginCell().storeUint(60, 32).endCell().toBoc()],
    ['that others do not follow', () => made('seed')],
    ['that contradicts the one before it', forked],
  ])('%s, is left out once nobody proves it', async (_, make) => {
    const boc = make();
    const id = idOf(boc ?? made('seed'));
    const node = recordedNode(GENESIS);
    let isBelieved = true;
    node.setFault(({ method, key: asked }) => {
      if (asked !== key || !isBelieved) return null;
      if (method === 'lookupBlock') return { id };
      return method === 'block' ? (boc === null ? 'not_found' : { bytes: boc }) : null;
    });
    const prover: BlockProver = {
      async prove(target) {
        if (sameHashes(target, node.id(blockKey(target)))) return { id: target, genUtime: null };
        // As a pool, which leaves alone who told of it.
        isBelieved = false;
        throw new NodeError('not_found', 'nobody proves it');
      },
      keyBlock: node.id(masterKey(1)),
      newest: null,
    };
    const run = follow(log, node, { from: 'genesis', proofIntervalMs: 0 }, prover);
    await run.until(132);
    await run.stop();
    expect(isBelieved).toBe(false);
    expect(run.unproven).toBe(1);
    expect(await content(log)).toEqual(await imported(GENESIS));
  });
});

describe.skipIf(shelf === null)('blocks that nobody has', () => {
  it('are proven one at a time, however many are fetched', async () => {
    const proofs = { running: 0, most: 0, done: 0 };
    const node = recordedNode(GENESIS, {
      fault: ({ method, key }) => (method === 'block' && key.startsWith('0:') && proofs.done < 20 ? 'not_found' : null),
    });
    const prover: BlockProver = {
      async prove(id) {
        proofs.most = Math.max(proofs.most, ++proofs.running);
        await sleep(1);
        proofs.running--;
        proofs.done++;
        return { id, genUtime: null };
      },
      keyBlock: node.id(masterKey(1)),
      newest: null,
    };
    const run = follow(log, node, { from: 'genesis', proofIntervalMs: 0 }, prover);
    await run.until(132);
    await run.stop();
    // One more may run: that of steps which are whole.
    expect(proofs.most).toBeLessThanOrEqual(2);
    expect(await content(log)).toEqual(await imported(GENESIS));
  });
});
