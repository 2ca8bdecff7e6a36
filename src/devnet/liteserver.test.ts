import { Address, Cell, loadMessage, loadTransaction } from '@ton/core';
import { WalletContractV4 } from '@ton/ton';
import { pino } from 'pino';
import { LiteClient, LiteSingleEngine } from 'ton-lite-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COIN, type ServedDevnet, serveDevnet } from '../../test/devnet-served.ts';
import { createTestWallet } from '../../test/devnet-wallets.ts';
import { blockTransactions } from '../chain/accounts.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { toBoc } from '../chain/builder.ts';
import { sha256Of } from '../chain/hash.ts';
import { FULL_SHARD } from '../chain/shard-ident.ts';
import { parseGlobalConfig } from '../node/global-config.ts';
import { createLitePool, type LitePool } from '../node/lite-pool.ts';

const never = new AbortController().signal;
const NOW = 1_700_000_123;
let devnet: ServedDevnet;

beforeAll(async () => {
  devnet = await serveDevnet({ clock: () => NOW * 1000 + 999 });
});
afterAll(() => devnet.close());

const nobody = new Address(0, Buffer.alloc(32, 0x77));

describe('the published client', () => {
  let engine: LiteSingleEngine;
  let lite: LiteClient;

  beforeAll(async () => {
    const { port, publicKey } = devnet.server;
    engine = new LiteSingleEngine({ host: `tcp://127.0.0.1:${port}`, publicKey });
    await new Promise((resolve) => engine.once('ready', () => resolve(null)));
    lite = new LiteClient({ engine });
  });
  afterAll(() => engine.close());

  test('masterchain info, time, version', async () => {
    const { chain } = devnet;
    const info = await lite.getMasterchainInfo();
    const { seqno, rootHash, fileHash } = chain.head().mc;
    expect(info.last).toMatchObject({ workchain: -1, shard: '-9223372036854775808', seqno, rootHash, fileHash });
    expect(info.stateRootHash).toEqual(chain.state(chain.head().mc)?.hash());
    expect(info.init).toMatchObject({ rootHash: chain.zeroState.mc.rootHash, fileHash: chain.zeroState.mc.fileHash });
    const ext = await lite.getMasterchainInfoExt();
    expect(ext).toMatchObject({ lastUtime: chain.head().mc.genUtime, version: 0x101 });
    expect(await lite.getCurrentTime()).toBe(NOW);
    expect(await lite.getVersion()).toMatchObject({ capabilities: '7' });
  });

  test('every block with all its transactions, over a split and a merge', async () => {
    for (const { mc, shards } of devnet.steps.slice(2)) {
      const { shards: found } = await lite.getFullBlock(mc.seqno);
      const told = found.map(({ workchain, seqno, rootHash, transactions }) => ({
        ...{ workchain, seqno, root: rootHash.toString('hex') },
        hashes: transactions.map(({ hash }) => hash.toString('hex')),
      }));
      const made = [mc, ...shards].map(({ workchain, seqno, rootHash, bytes }) => ({
        ...{ workchain, seqno, root: rootHash.toString('hex') },
        hashes: [...blockTransactions(decodeBlock(openBoc(bytes)))].map(({ hash }) => hash.toString('hex')),
      }));
      expect(told).toHaveLength(made.length);
      expect(told).toEqual(expect.arrayContaining(made));
    }
  });

  test('account states as of every block, with last transactions out of their proofs', async () => {
    const { chain, wallets, steps } = devnet;
    for (const { mc } of steps.slice(1)) {
      const { id } = await lite.lookupBlockByID({ workchain: -1, shard: '-9223372036854775808', seqno: mc.seqno });
      for (const { address } of [wallets[0], wallets[3], wallets[7]]) {
        const known = chain.account(address.workChain, address.hash, mc.seqno);
        const { state, lastTx, raw, balance } = await lite.getAccountState(address, id);
        expect(state?.addr.equals(address)).toBe(true);
        expect(balance.coins).toBeGreaterThan(0n);
        expect(Cell.fromBoc(raw)[0].hash()).toEqual(known?.account.hash());
        expect(lastTx?.lt).toBe(known?.lastTransactionLt);
        const pruned = await lite.getAccountStatePrunned(address, id);
        expect(pruned.stateHash).toEqual(known?.account.hash());
      }
      expect(await lite.getAccountState(nobody, id)).toMatchObject({ state: null, lastTx: null });
    }
  });

  test('transactions of an account, back to its first', async () => {
    const { chain, wallets } = devnet;
    const { address } = wallets[4];
    const last = chain.account(0, address.hash);
    if (last === null) throw new Error('no account');
    const { lastTransactionLt: lt, lastTransactionHash: hash } = last;
    const list = await lite.getAccountTransactions(address, lt.toString(), hash, 16);
    const transactions = Cell.fromBoc(list.transactions).map((cell) => loadTransaction(cell.beginParse()));
    expect(transactions[0].hash()).toEqual(hash);
    transactions.forEach((transaction, i) => {
      expect(transaction.prevTransactionLt).toBe(transactions[i + 1]?.lt ?? 0n);
      const { workchain, seqno } = list.ids[i];
      const own = devnet.steps.flatMap(({ shards }) => shards).filter((block) => block.seqno === seqno);
      expect(workchain).toBe(0);
      expect(own.some(({ startLt, endLt }) => transaction.lt > startLt && transaction.lt < endLt)).toBe(true);
    });
    const one = await lite.getAccountTransaction(address, lt.toString(), list.ids[0]);
    expect(Cell.fromBoc(one.transaction)[0].hash()).toEqual(hash);
    await expect(lite.getAccountTransactions(address, '77', hash, 1)).rejects.toThrow('cannot locate transaction');
  });

  test('get-methods', async () => {
    const { last } = await lite.getMasterchainInfo();
    const wallet = devnet.wallets[1].address;
    const { exitCode, result } = await lite.runMethod(wallet, 'seqno', Buffer.alloc(0), last);
    expect(exitCode).toBe(0);
    expect(result).not.toBeNull();
    const missing = await lite.runMethod(wallet, 'no such method', Buffer.alloc(0), last);
    expect(missing.exitCode).toBeGreaterThan(1);
    expect((await lite.runMethod(nobody, 'seqno', Buffer.alloc(0), last)).exitCode).toBe(-256);
    await expect(lite.runMethod(wallet, 'seqno', Buffer.from('no boc'), last)).rejects.toThrow('parameter list');
  });

  test('a message that is sent is in the next block; one that is refused says why', async () => {
    const { wallets, chain } = devnet;
    const before = chain.account(0, wallets[7].address.hash);
    const message = wallets[7].pay({ to: nobody, value: COIN, comment: 'out of a client' });
    expect(await lite.sendMessage(message)).toEqual({ status: 1 });
    expect(await lite.sendMessage(message)).toEqual({ status: 1 });
    const waited = lite.getMasterchainInfo({ awaitSeqno: chain.head().mc.seqno + 1 });
    const { shards } = devnet.produce();
    expect((await waited).last.seqno).toBe(chain.head().mc.seqno);
    const inMessages = shards.flatMap(({ bytes }) =>
      [...blockTransactions(decodeBlock(openBoc(bytes)))].map(({ inMsg }) => inMsg?.hash.toString('hex')),
    );
    expect(inMessages).toContain(Cell.fromBoc(message)[0].hash().toString('hex'));
    expect(chain.account(0, wallets[7].address.hash)?.lastTransactionLt).not.toBe(before?.lastTransactionLt);
    // The wallet's seqno is another one now.
    await expect(lite.sendMessage(message)).rejects.toThrow(/External message was not accepted(.|\n)*exitcode=\d+/);
    await expect(lite.sendMessage(Buffer.from('no boc'))).rejects.toThrow('cannot apply external message');
  });

  test('contracts opened over it', async () => {
    const { wallets } = devnet;
    const { address } = wallets[4];
    const provider = lite.provider(address, null);
    const contract = WalletContractV4.create({ workchain: 0, publicKey: Buffer.alloc(32) });
    const { last } = await lite.getMasterchainInfo();
    expect(await contract.getBalance(provider)).toBe((await lite.getAccountState(address, last)).balance.coins);
    const sent = await contract.getSeqno(provider);
    expect(sent).toBeGreaterThan(0);
    const next = loadMessage(Cell.fromBoc(wallets[4].pay({ to: nobody, value: 1n }))[0].beginParse());
    // v4r2: signature, subwallet, valid until, seqno
    expect(
      next.body
        .beginParse()
        .skip(512 + 32 + 32)
        .loadUint(32),
    ).toBe(sent);
  });

  test('the configuration', async () => {
    const { last } = await lite.getMasterchainInfo();
    const { config } = await lite.getConfig(last);
    expect([...config.keys()]).toEqual(expect.arrayContaining([0, 1, 8, 12, 20, 25, 34]));
    expect(config.get(19)?.beginParse().loadInt(32)).toBe(devnet.chain.globalId);
  });
});

describe('our pool, which checks every proof', () => {
  let pool: LitePool;

  beforeAll(() => {
    const config = parseGlobalConfig(JSON.parse(devnet.server.globalConfig));
    pool = createLitePool(config, { logger: pino({ level: 'silent' }) });
  });
  afterAll(() => pool.close());

  test('blocks by id, seqno and time', async () => {
    expect((await pool.head(never)).seqno).toBe(devnet.chain.head().mc.seqno);
    for (const { mc, shards } of devnet.steps) {
      expect((await pool.lookupByUtime({ workchain: -1, shard: FULL_SHARD }, mc.genUtime, never)).seqno).toBe(mc.seqno);
      for (const { bytes, ...block } of [mc, ...shards]) {
        const id = await pool.lookupBlock(block, never);
        expect(id.rootHash).toEqual(block.rootHash);
        expect(sha256Of(await pool.block(id, never))).toEqual(sha256Of(bytes));
      }
    }
    const missing = { workchain: -1, shard: FULL_SHARD, seqno: 5000 };
    await expect(pool.lookupBlock(missing, never)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('accounts as of every masterchain block', async () => {
    const { chain, steps, wallets } = devnet;
    for (const { mc } of steps) {
      for (const { address } of wallets.slice(0, 6)) {
        const { boc } = await pool.account(mc, address.workChain, address.hash, never);
        const known = chain.account(address.workChain, address.hash, mc.seqno);
        expect(boc).toEqual(known === null ? null : toBoc(known.account));
      }
      expect(await pool.account(mc, 0, Buffer.alloc(32, 0x66), never)).toMatchObject({ boc: null });
    }
    const zero = { ...chain.zeroState.mc };
    const { boc } = await pool.account(zero, -1, wallets[0].address.hash, never);
    expect(boc).not.toBeNull();
  });

  test('messages', async () => {
    const wallet = devnet.wallets[10];
    await pool.sendMessage(wallet.pay({ to: nobody, value: 1n }), never);
    expect(devnet.chain.pending()).toBe(1);
    const stranger = createTestWallet(4000).pay({ to: nobody, value: 1n });
    await expect(pool.sendMessage(stranger, never)).rejects.toMatchObject({ code: 'refused' });
    devnet.produce();
    const waited = await pool.waitMasterchainBlock(devnet.chain.head().mc.seqno, 5000, never);
    expect(waited?.rootHash).toEqual(devnet.chain.head().mc.rootHash);
    expect(await pool.libraries([Buffer.alloc(32, 1)], never)).toEqual(new Map());
  });
});
