import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cell as CoreCell, Dictionary } from '@ton/core';
import { describe, expect, test } from 'vitest';
import { BUSY_BLOCK, readReplaySet } from '../../test/replay-set.ts';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { addressOf, rawAddress } from '../chain/address.ts';
import { Builder, type Cell, parseBoc, toBoc } from '../chain/builder.ts';
import { createGenesis } from '../devnet/genesis.ts';
import { EMPTY, readAccount } from './account.ts';
import { beyondExecutor, configParam, cutConfig, globalVersion, isSuspended } from './config.ts';
import { methodId } from './contract.ts';
import { cellText, createExecutor, type Executor, type GetMethodCall, textCell } from './executor.ts';
import { writeStack, writeStackValue } from './stack.ts';
import { codes, versionConfig } from './test-contracts.ts';

const configs = (): string => join(requireShelf(), 'data/config');
const mainnet = (): Cell => parseBoc(readFileSync(join(configs(), 'mainnet_2026-05-13.boc')));

const NOW = 1_778_681_725;
const METHODS = ['seqno', 'get_public_key', 'get_wallet_data', 'get_jetton_data', 'get_nft_data', 'get_pool_data'];

function callOf(code: Cell, method: number, stack: Cell): GetMethodCall {
  return {
    code: cellText(code),
    data: cellText(EMPTY),
    address: `0:${'00'.repeat(32)}`,
    methodId: method,
    stack: cellText(stack),
    now: NOW,
    balance: '1000000000',
    randSeed: Buffer.alloc(32),
  };
}

/** Calls of get-methods on recorded accounts of a block of mainnet. */
function recordedCalls(accounts: number): GetMethodCall[] {
  return readReplaySet(BUSY_BLOCK)
    .accounts.slice(0, accounts)
    .flatMap(({ shard_account_boc: bag }) => {
      const account = readAccount(textCell(bag).refs[0]);
      if (account?.status.type !== 'active') return [];
      const { code, data } = account.status;
      return METHODS.map((name) => ({
        ...callOf(code ?? EMPTY, methodId(name), writeStack([])),
        data: cellText(data ?? EMPTY),
        address: rawAddress(account.address),
        balance: account.balance,
        extraCurrencies: account.extraCurrencies,
      }));
    });
}

describe.skipIf(shelf === null)('a configuration cut down to what the executor reads', () => {
  test('gives the results of the whole', async () => {
    const config = mainnet();
    const [cut, whole] = await Promise.all([
      createExecutor(cellText(config)),
      createExecutor(cellText(config), undefined, true),
    ]);
    const empty = writeStack([]);
    const index = (value: number): Cell => writeStack([{ type: 'int', value: BigInt(value) }]);
    // Everything in the environment and every way to the configuration, then contracts as they are used.
    const probes = [
      callOf(codes.configRoot, 1, empty),
      callOf(codes.unpackedConfig, 1, empty),
      callOf(codes.registers, 1, empty),
      ...[0, 8, 17, 20, 34, 71, 999].map((param) => callOf(codes.configParam, 1, index(param))),
      ...[8, 9, 10, 14, 15, 16, 17].map((place) => callOf(codes.environment, 1, index(place))),
    ];
    const calls = [...probes, ...recordedCalls(30)];
    expect(calls.length).toBeGreaterThan(150);
    let succeeded = 0;
    for (const call of calls) {
      const result = cut.runGetMethod(call);
      expect(result).toEqual(whole.runGetMethod(call));
      expect(cut.runGetMethod(call)).toEqual(result);
      if (result.success && result.exitCode === 0) succeeded++;
    }
    expect(succeeded).toBeGreaterThan(40);
    close(cut, whole);
  });

  test('has the same cells under the keys it keeps', () => {
    const config = mainnet();
    for (const [part, kept] of [
      ['limits', [8, 43]],
      ['prices', [8, 18, 20, 21, 24, 25, 43, 45]],
    ] as const) {
      const cut = cutConfig(config, part);
      for (const index of kept) expect(configParam(cut, index)?.key()).toBe(configParam(config, index)?.key());
      expect(configParam(cut, 34)).toBeNull();
      expect(toBoc(cut).length * 20).toBeLessThan(toBoc(config).length);
    }
  });

  test('gives the results of the whole to every instruction that reads the environment or counts fees', async () => {
    const config = cellText(createGenesis('config', [], NOW).config);
    const [cut, whole] = await Promise.all([createExecutor(config), createExecutor(config, undefined, true)]);
    const stack = writeStack([1n, 5n, 0n, 3n, 0n].map((value) => ({ type: 'int', value })));
    const ended: number[] = [];
    for (let opcode = 0xf800; opcode <= 0xf8ff; opcode++) {
      const code = new Builder().bytes(Buffer.from(`ff0030${opcode.toString(16)}`, 'hex')).cell();
      const call = { ...callOf(code, 1, stack), prevBlocks: cellText(writeStackValue({ type: 'tuple', items: [] })) };
      const result = whole.runGetMethod(call);
      expect([opcode, cut.runGetMethod(call)]).toEqual([opcode, result]);
      if (result.success && result.exitCode === 0) ended.push(opcode);
    }
    // GETPARAM 14, NOW, and all that count fees.
    expect(ended).toEqual(expect.arrayContaining([0xf82e, 0xf823, 0xf836, 0xf837, 0xf838, 0xf83a, 0xf83b, 0xf83c]));
    close(cut, whole);
  });
});

function close(...executors: Executor[]): void {
  for (const executor of executors) executor.close();
}

describe('what the executor does not know', () => {
  test('is nothing of the devnet', () => {
    expect(beyondExecutor(createGenesis('config', [], NOW).config)).toBeNull();
  });

  test.skipIf(shelf === null)('is nothing of mainnet in 2019 and in 2026', () => {
    expect(beyondExecutor(mainnet())).toBeNull();
    expect(globalVersion(mainnet())).toEqual({ version: 13, capabilities: 494n });
    expect(beyondExecutor(parseBoc(readFileSync(join(configs(), 'mainnet_genesis_2019-11-15.boc'))))).toBeNull();
  });

  test('is told', () => {
    expect(beyondExecutor(versionConfig(14, 494n))).toContain('global version 14');
    expect(beyondExecutor(versionConfig(13, 0x8000n))).toContain('capabilities 0x8000');
  });
});

describe.skipIf(shelf === null)('the list of suspended accounts', () => {
  test('is that which @ton/core reads, until its time', () => {
    const config = mainnet();
    const param = configParam(config, 44);
    if (param === null) throw new Error('no parameter 44');
    const slice = CoreCell.fromBoc(toBoc(param))[0].beginParse().skip(8);
    const unit = { serialize: () => undefined, parse: () => true };
    const list = slice.loadDict(Dictionary.Keys.Buffer(36), unit).keys();
    const until = slice.loadUint(32);
    expect(list.length).toBeGreaterThan(100);
    for (const key of list) {
      const account = addressOf(key.readInt32BE(), key.subarray(4));
      expect([until - 1, until].map((utime) => isSuspended(config, account, utime))).toEqual([true, false]);
      const other = Buffer.from(account);
      other[35] ^= 1;
      expect(isSuspended(config, other, until - 1)).toBe(false);
    }
    expect(isSuspended(versionConfig(9, 0n), addressOf(0, Buffer.alloc(32)), 0)).toBe(false);
  });
});
