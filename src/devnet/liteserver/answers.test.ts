import { Cell as CoreCell } from '@ton/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COIN, type ServedDevnet, serveDevnet } from '../../../test/devnet-served.ts';
import { blockTransactions } from '../../chain/accounts.ts';
import { decodeBlock } from '../../chain/block.ts';
import { openBoc } from '../../chain/boc.ts';
import { Builder, parseBoc, toBoc } from '../../chain/builder.ts';
import { sha256Of } from '../../chain/hash.ts';
import { shardContains } from '../../chain/shard-ident.ts';
import { parseGlobalConfig } from '../../node/global-config.ts';
import { blockIdExtToTl, type LiteAnswer, type LiteMethod, type LiteRequest, shardToTl } from '../../node/lite-api.ts';
import { connectLite, type LiteConnection } from '../../node/lite-connection.ts';
import { checkHeader } from '../../node/lite-proofs.ts';
import type { BlockPlace, ProducedBlock } from '../model.ts';

const never = new AbortController().signal;
const FULL = -(1n << 63n);
let devnet: ServedDevnet;
let connection: LiteConnection;

beforeAll(async () => {
  devnet = await serveDevnet();
  const { port, publicKey } = devnet.server;
  connection = await connectLite({ host: '127.0.0.1', port, publicKey }, never);
});
afterAll(async () => {
  connection.close();
  await devnet.close();
});

function ask<M extends LiteMethod>(request: LiteRequest<M>): Promise<LiteAnswer<M>> {
  return connection.query(request, { signal: never, timeoutMs: 10_000 });
}

const allBlocks = (): ProducedBlock[] => devnet.steps.flatMap(({ mc, shards }) => [...shards, mc]);
const idOf = (place: BlockPlace) => blockIdExtToTl(place);
const hex = (bytes: Buffer): string => bytes.toString('hex');

/** The tree of a Merkle proof, whose hashes @ton/core has checked when it read it. */
function virtual(proof: Buffer | CoreCell, root: Buffer): CoreCell {
  const cell = Buffer.isBuffer(proof) ? CoreCell.fromBoc(proof)[0] : proof;
  expect(cell.isExotic).toBe(true);
  expect(hex(cell.refs[0].hash(0))).toBe(hex(root));
  return cell.refs[0];
}

/** A proof of two roots: that of the block, then the tree of its state. */
function virtualState(proof: Buffer, root: Buffer): CoreCell {
  const [header, state] = CoreCell.fromBoc(proof);
  return virtual(state, stateHash(virtual(header, root)));
}

/** Hash of the new state in a block's Merkle update. */
function stateHash(block: CoreCell): Buffer {
  return block.refs[2]
    .beginParse(true)
    .skip(8 + 256)
    .loadBuffer(32);
}

/** Whether a shown cell holds the bytes, at whatever bit. */
function shows(cell: CoreCell, bytes: Buffer): boolean {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const own = cell.isExotic
    ? ''
    : Array.from({ length: cell.bits.length }, (_, i) => (cell.bits.at(i) ? '1' : '0')).join('');
  return own.includes(bits) || cell.refs.some((ref) => shows(ref, bytes));
}

function size(cell: CoreCell): number {
  return 1 + cell.refs.reduce((sum, ref) => sum + size(ref), 0);
}

describe('blocks', () => {
  test('by seqno, lt and time, as a walk through all of them finds them', async () => {
    const blocks = allBlocks();
    for (const block of blocks) {
      const { workchain, seqno, startLt, endLt, genUtime } = block;
      const id = { workchain, shard: shardToTl(block.shard), seqno };
      const bySeqno = await ask({ method: 'lookupBlock', mode: 1, id });
      expect(bySeqno.id).toEqual(idOf(block));
      expect(checkHeader(bySeqno.headerProof, block)).toEqual({ genUtime });
      // Nodes take the first block whose end_lt is not below: at the end itself that is still this one.
      for (const lt of [startLt, startLt + 1n, endLt - 1n, endLt]) {
        const byLt = await ask({ method: 'lookupBlock', mode: 2, id: { ...id, seqno: 0 }, lt });
        expect(byLt.id).toEqual(idOf(block));
      }
      const byTime = await ask({ method: 'lookupBlock', mode: 4, id: { ...id, seqno: 0 }, utime: genUtime });
      const first = blocks.find(
        (each) =>
          each.workchain === workchain &&
          each.genUtime >= genUtime &&
          shardContains(each.shard, Buffer.from(block.shard, 'hex')),
      );
      expect(byTime.id.seqno).toBe(first?.seqno);
    }
  });

  test('by the prefix of an account where the shard was split', async () => {
    const split = devnet.steps[6].shards;
    expect(split).toHaveLength(2);
    for (const shard of split) {
      const prefix = shardToTl(`${shard.shard[0]}fffffffffffffff`);
      const id = { workchain: 0, shard: prefix, seqno: shard.seqno };
      expect((await ask({ method: 'lookupBlock', mode: 1, id })).id).toEqual(idOf(shard));
    }
  });

  test('that are not there, and questions that are wrong', async () => {
    const id = { workchain: -1, shard: FULL, seqno: 400 };
    const head = idOf(devnet.chain.head().mc);
    const forged = { ...head, rootHash: Buffer.alloc(32, 1) };
    await expect(ask({ method: 'lookupBlock', mode: 1, id })).rejects.toMatchObject({ code: 651 });
    await expect(ask({ method: 'lookupBlock', mode: 2, id, lt: 1n << 60n })).rejects.toMatchObject({ code: 651 });
    await expect(ask({ method: 'lookupBlock', mode: 4, id, utime: 2 ** 31 - 1 })).rejects.toMatchObject({ code: 651 });
    await expect(ask({ method: 'lookupBlock', mode: 0, id })).rejects.toMatchObject({ code: -400 });
    await expect(ask({ method: 'getBlock', id: forged })).rejects.toMatchObject({ code: 651 });
    await expect(ask({ method: 'getBlock', id: idOf({ ...devnet.steps[0].mc, seqno: 0 }) })).rejects.toMatchObject({
      code: 651,
    });
    const account = { workchain: 0, id: Buffer.alloc(32) };
    const [left, right] = devnet.steps[6].shards;
    const inLeft = { method: 'getAccountState', account, id: idOf(left) } as const;
    expect((await ask(inLeft)).shardProof).toHaveLength(0);
    await expect(ask({ ...inLeft, id: idOf(right) })).rejects.toMatchObject({ code: -400 });
  });

  test('headers show what their mode asks for', async () => {
    const { mc } = devnet.steps[3];
    const shown = async (mode: number): Promise<boolean[]> => {
      const { headerProof } = await ask({ method: 'getBlockHeader', mode, id: idOf(mc) });
      return virtual(headerProof, mc.rootHash).refs.map((ref) => !ref.isExotic || ref.type === 4);
    };
    expect(await shown(0)).toEqual([true, false, false, false]);
    expect(await shown(1)).toEqual([true, false, true, false]);
    expect(await shown(2)).toEqual([true, true, false, false]);
    expect(await shown(16 + 32 + 64)).toEqual([true, false, false, true]);
  });

  test('states', async () => {
    const { chain, steps } = devnet;
    for (const zero of [chain.zeroState.mc, chain.zeroState.shard]) {
      const { data, rootHash, fileHash } = await ask({ method: 'getState', id: blockIdExtToTl(zero) });
      expect([CoreCell.fromBoc(data)[0].hash(), sha256Of(data)]).toEqual([zero.rootHash, zero.fileHash]);
      expect([rootHash, fileHash]).toEqual([zero.rootHash, zero.fileHash]);
    }
    const { mc } = steps[4];
    const { data } = await ask({ method: 'getState', id: idOf(mc) });
    expect(CoreCell.fromBoc(data)[0].hash()).toEqual(stateHash(CoreCell.fromBoc(mc.bytes)[0]));
  });
});

describe('transactions of a block', () => {
  const decoded = (block: ProducedBlock): string[] =>
    [...blockTransactions(decodeBlock(openBoc(block.bytes)))].map(({ hash }) => hex(hash));

  async function pages(block: ProducedBlock, count: number, reverse: boolean): Promise<string[]> {
    const found: string[] = [];
    const base = 7 + 32 + (reverse ? 64 : 0);
    for (let after: { account: Buffer; lt: bigint } | undefined; ; ) {
      const mode = base + (after === undefined ? 0 : 128);
      const flags = { wantProof: true, ...(reverse ? { reverseOrder: true } : {}) };
      const from = after === undefined ? {} : { after };
      const request = { id: idOf(block), mode, count, ...flags, ...from };
      const { ids, incomplete, proof } = await ask({ method: 'listBlockTransactions', ...request });
      const ext = await ask({ method: 'listBlockTransactionsExt', ...request });
      const cells = ext.transactions.length === 0 ? [] : CoreCell.fromBoc(ext.transactions);
      // A node puts the mode of the call into each entry.
      expect(ids.every((entry) => entry.mode === mode)).toBe(true);
      const hashes = ids.map(({ hash }) => hex(hash ?? Buffer.alloc(0)));
      expect(cells.map((cell) => hex(cell.hash()))).toEqual(hashes);
      expect(ext.incomplete).toBe(incomplete);
      const root = virtual(proof, block.rootHash);
      for (const { lt } of ids) {
        const key = Buffer.alloc(8);
        key.writeBigUInt64BE(lt ?? 0n);
        // The last bits of an lt are the label of its leaf, whatever the way to it.
        expect(shows(root, key.subarray(7))).toBe(true);
      }
      found.push(...hashes);
      const last = ids.at(-1);
      if (!incomplete) return found;
      after = { account: last?.account ?? Buffer.alloc(0), lt: last?.lt ?? 0n };
    }
  }

  test('pages of any length, both ways, join to the whole list', async () => {
    const blocks = allBlocks().filter(({ transactions }) => transactions > 2);
    expect(blocks.length).toBeGreaterThan(8);
    for (const block of blocks.slice(0, 8)) {
      const all = decoded(block);
      expect(all).toHaveLength(block.transactions);
      for (const count of [1, 2, all.length, 1000]) {
        expect(await pages(block, count, false)).toEqual(all);
        expect(await pages(block, count, true)).toEqual([...all].reverse());
      }
    }
  });

  test('one of them, or the proof that it is not there', async () => {
    const block = devnet.steps[8].shards[0];
    const [transaction] = blockTransactions(decodeBlock(openBoc(block.bytes)));
    const account = { workchain: 0, id: transaction.account.subarray(4) };
    const request = { method: 'getOneTransaction', id: idOf(block), account } as const;
    const one = await ask({ ...request, lt: BigInt(transaction.lt) });
    expect(CoreCell.fromBoc(one.transaction)[0].hash()).toEqual(Buffer.from(transaction.hash));
    virtual(one.proof, block.rootHash);
    const none = await ask({ ...request, lt: BigInt(transaction.lt) + 1n });
    expect(none.transaction).toHaveLength(0);
    virtual(none.proof, block.rootHash);
  });
});

describe('links between chains', () => {
  test('shards of every masterchain block, one and all', async () => {
    for (const { mc, shards } of devnet.steps.slice(1)) {
      const id = idOf(mc);
      const all = await ask({ method: 'getAllShardsInfo', id });
      const dictionary = CoreCell.fromBoc(all.data)[0];
      for (const { rootHash } of shards) expect(shows(dictionary, rootHash)).toBe(true);
      const custom = virtual(all.proof, mc.rootHash).refs[3].refs[3];
      expect(custom.refs[0].hash(0)).toEqual(dictionary.refs[0].hash());
      for (const shard of shards) {
        const request = { method: 'getShardInfo', id, workchain: 0, shard: shardToTl(shard.shard) } as const;
        const info = await ask({ ...request, exact: true });
        expect(info.shardblk).toEqual(idOf(shard));
        expect(shows(virtualState(info.shardProof, mc.rootHash), shard.rootHash)).toBe(true);
        expect(shows(CoreCell.fromBoc(info.shardDescr)[0], shard.fileHash)).toBe(true);
        const link = await ask({ method: 'getShardBlockProof', id: idOf(shard) });
        expect(link.masterchainId).toEqual(id);
        expect(link.links.map((each) => each.id)).toEqual([idOf(shard)]);
        const shown = virtual(link.links[0].proof, mc.rootHash);
        expect(shows(shown, shard.rootHash)).toBe(true);
        expect(size(shown)).toBeLessThan(60);
      }
      if (shards.length === 2) {
        const exact = { method: 'getShardInfo', id, workchain: 0, shard: FULL, exact: true } as const;
        expect((await ask(exact)).shardblk.rootHash).toEqual(Buffer.alloc(32));
        expect(shards.map(idOf)).toContainEqual((await ask({ ...exact, exact: false })).shardblk);
      }
    }
  });

  test('an older masterchain block out of a newer state', async () => {
    const [older, newer] = [devnet.steps[2].mc, devnet.steps[11].mc];
    const back = { method: 'getBlockProof', mode: 1, knownBlock: idOf(newer), targetBlock: idOf(older) } as const;
    const { complete, steps } = await ask(back);
    expect(complete).toBe(true);
    const [link] = steps;
    if (link.kind !== 'liteServer.blockLinkBack') throw new Error(link.kind);
    const state = virtual(link.stateProof, stateHash(virtual(link.proof, newer.rootHash)));
    expect(shows(state, older.rootHash)).toBe(true);
    expect(shows(state, devnet.steps[5].mc.rootHash)).toBe(false);
    virtual(link.destProof, older.rootHash);
    expect(link.toKeyBlock).toBe(false);
    const toFirst = await ask({ ...back, targetBlock: idOf(devnet.steps[0].mc) });
    expect(toFirst.steps[0]).toMatchObject({ toKeyBlock: true });
    expect(await ask({ ...back, targetBlock: idOf(newer) })).toMatchObject({ complete: true, steps: [] });
  });

  test('a block by time with the proof that it is the one', async () => {
    const [
      {
        shards: [left],
        mc,
      },
      client,
    ] = [devnet.steps[7], devnet.steps[12].mc];
    const id = { workchain: 0, shard: shardToTl(left.shard), seqno: 0 };
    const request = { method: 'lookupBlockWithProof', mode: 4, id, mcBlockId: idOf(client) } as const;
    const found = await ask({ ...request, utime: left.genUtime });
    expect([found.id, found.mcBlockId]).toEqual([idOf(left), idOf(mc)]);
    const state = virtual(found.mcBlockProof, stateHash(virtual(found.clientMcStateProof, client.rootHash)));
    expect(shows(state, mc.rootHash)).toBe(true);
    expect(shows(virtual(found.shardLinks[0].proof, mc.rootHash), left.rootHash)).toBe(true);
    virtual(found.header, left.rootHash);
    const before = decodeBlock(openBoc(left.bytes)).header.prev[0];
    virtual(found.prevHeader, before.rootHash);
    const tooNew = { ...request, mcBlockId: idOf(devnet.steps[2].mc), utime: left.genUtime };
    await expect(ask(tooNew)).rejects.toMatchObject({ code: 651 });
  });
});

describe('accounts', () => {
  test('proofs show the third cell of the state, with balances and the master reference', async () => {
    const id = idOf(devnet.chain.head().mc);
    for (const { address } of devnet.wallets.slice(0, 4)) {
      const account = { workchain: address.workChain, id: address.hash };
      const { proof, shardblk } = await ask({ method: 'getAccountState', id, account });
      expect(virtualState(proof, shardblk.rootHash).refs[2].isExotic).toBe(false);
    }
  });

  test('get-methods with proofs', async () => {
    const { chain, wallets } = devnet;
    const { mc } = chain.head();
    const { address } = wallets[5];
    const account = { workchain: 0, id: address.hash };
    const request = { method: 'runSmcMethod', id: idOf(mc), account, params: Buffer.alloc(0) } as const;
    const answer = await ask({ ...request, mode: 0x1f, methodId: 85143n });
    expect(answer).toMatchObject({ mode: 0x17, exitCode: 0, libExtras: Buffer.alloc(0) });
    const stack = CoreCell.fromBoc(answer.result ?? Buffer.alloc(0))[0];
    // vm_stack: depth, then vm_stk_tinyint#01 value:int64
    const slice = stack.beginParse();
    expect([slice.loadUint(24), slice.loadUint(8), slice.loadInt(64)]).toEqual([1, 1, expect.any(Number)]);
    const known = chain.account(0, address.hash);
    expect(virtual(answer.stateProof ?? Buffer.alloc(0), known?.account.hash() ?? Buffer.alloc(0)).isExotic).toBe(
      false,
    );
    const shard = virtualState(answer.proof ?? Buffer.alloc(0), answer.shardblk.rootHash);
    expect(shows(shard, known?.lastTransactionHash ?? Buffer.alloc(0))).toBe(true);
    const bare = await ask({ ...request, mode: 0, methodId: 85143n });
    expect(bare.exitCode).toBe(0);
    expect([bare.result, bare.proof, bare.stateProof]).toEqual([undefined, undefined, undefined]);
    await expect(ask({ ...request, mode: 32, methodId: 85143n })).rejects.toMatchObject({ code: -400 });
    await expect(ask({ ...request, mode: 4, methodId: 1n << 40n })).rejects.toMatchObject({ code: -400 });
    // A depth of one and nothing else.
    const noStack = new Builder().u(1, 24).cell();
    const bad = { ...request, mode: 4, methodId: 85143n, params: toBoc(noStack) };
    await expect(ask(bad)).rejects.toMatchObject({ code: -400 });
    expect((await ask({ ...request, mode: 4, methodId: 85143n })).exitCode).toBe(0);
    const long = { ...request, params: Buffer.alloc(65_537), mode: 4, methodId: 1n };
    await expect(ask(long)).rejects.toMatchObject({ code: -400 });
  });

  test('the newest masterchain block goes by seqno 2^32 - 1', async () => {
    const account = { workchain: 0, id: devnet.wallets[5].address.hash };
    const id = { ...idOf(devnet.chain.head().mc), seqno: -1 };
    expect((await ask({ method: 'getAccountState', id, account })).id).toEqual(idOf(devnet.chain.head().mc));
  });
});

describe('configuration and queues', () => {
  test('all parameters or some, out of the state', async () => {
    const { mc } = devnet.chain.head();
    const id = idOf(mc);
    const all = await ask({ method: 'getConfigAll', mode: 0, id });
    const stateRoot = stateHash(virtual(all.stateProof, mc.rootHash));
    const config = virtual(all.configProof, stateRoot).refs[3].refs[1];
    expect(config.level()).toBe(0);
    const some = await ask({ method: 'getConfigParams', mode: 0, id, paramList: [20, 3000] });
    const part = virtual(some.configProof, stateRoot).refs[3].refs[1];
    expect(part.hash(0)).toEqual(config.hash());
    expect(size(part)).toBeLessThan(size(config) / 2);
    const wide = await ask({ method: 'getConfigAll', mode: 0xff, id });
    expect(shows(virtual(wide.configProof, stateRoot), devnet.steps[5].mc.rootHash)).toBe(true);
    await expect(ask({ method: 'getConfigAll', mode: 0x8000, id })).rejects.toMatchObject({ code: -400 });
  });

  test('libraries: none is published here', async () => {
    const { mc } = devnet.chain.head();
    const libraryList = [Buffer.alloc(32, 3)];
    expect(await ask({ method: 'getLibraries', libraryList })).toEqual({ result: [] });
    const proven = await ask({ method: 'getLibrariesWithProof', id: idOf(mc), mode: 0, libraryList });
    virtual(proven.dataProof, stateHash(virtual(proven.stateProof, mc.rootHash)));
    const many = Array.from({ length: 17 }, () => Buffer.alloc(32));
    await expect(ask({ method: 'getLibraries', libraryList: many })).rejects.toMatchObject({ code: -400 });
  });

  test('sizes of queues', async () => {
    const { chain, wallets } = devnet;
    // A payment into the masterchain waits in the queue of the basechain's block.
    const message = wallets[9].pay({ to: wallets[0].address, value: COIN });
    expect(chain.submit(message)).toMatchObject({ accepted: true });
    const { shards } = devnet.produce();
    const sizes = await ask({ method: 'getOutMsgQueueSizes', mode: 0 });
    expect(sizes.shards.map(({ id }) => id.workchain)).toEqual([-1, 0]);
    expect(sizes.shards.find(({ id }) => id.workchain === 0)?.size).toBe(1);
    const one = await ask({ method: 'getOutMsgQueueSizes', mode: 1, wc: 0, shard: FULL });
    expect(one.shards).toEqual([{ id: idOf(shards[0]), size: 1 }]);
    const request = { mode: 1, id: idOf(shards[0]), wantProof: true } as const;
    const own = await ask({ method: 'getBlockOutMsgQueueSize', ...request });
    expect(own.size).toBe(1n);
    expect(virtualState(own.proof ?? Buffer.alloc(0), shards[0].rootHash).refs[2].isExotic).toBe(false);
    const dispatch = await ask({ method: 'getDispatchQueueInfo', ...request, maxAccounts: 10 });
    expect(dispatch).toMatchObject({ complete: true, accountDispatchQueues: [] });
    virtualState(dispatch.proof ?? Buffer.alloc(0), shards[0].rootHash);
  });
});

test('the global config leads to the server and names the network', () => {
  const { globalConfig: text, port, publicKey } = devnet.server;
  // A shard rounded by JSON.stringify is refused by readers in other languages.
  expect(text).toContain('"shard": -9223372036854775808,');
  const config = parseGlobalConfig(JSON.parse(text));
  expect(config.liteservers).toEqual([{ host: '127.0.0.1', port, publicKey }]);
  expect(config.zeroState.rootHash).toEqual(devnet.chain.zeroState.mc.rootHash);
  expect(config.zeroState.fileHash).toEqual(sha256Of(devnet.chain.zeroState.bytes(-1)));
  expect(parseBoc(devnet.chain.zeroState.bytes(-1)).hash()).toEqual(config.zeroState.rootHash);
});
