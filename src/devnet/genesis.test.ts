import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cell as CoreCell, Dictionary, loadShardAccount } from '@ton/core';
import { parseFullConfig, WalletContractV4 } from '@ton/ton';
import { expect, test } from 'vitest';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { parseBoc, Slice, toBoc } from '../chain/builder.ts';
import { findLeaf } from '../chain/dictionary.ts';
import { CONFIG_ADDRESS, ELECTOR_ADDRESS } from './configuration.ts';
import { createGenesis } from './genesis.ts';
import { findShardAccount } from './ledger.ts';
import { readMcExtra } from './masterchain.ts';

const START = 1_700_000_000;

function param(config: ReturnType<typeof parseBoc>, id: number): string | undefined {
  const key = Buffer.alloc(4);
  key.writeInt32BE(id);
  return findLeaf(config, 32, key)?.ref().hash().toString('hex');
}

test.skipIf(shelf === null)('prices and limits are those of mainnet', () => {
  const { config } = createGenesis('genesis', [], START);
  const mainnet = parseBoc(readFileSync(join(requireShelf(), 'data', 'config', 'mainnet_2026-05-13.boc')));
  // Votes and complaints; gas, block limits, forwarding in both workchains; catchain, consensus
  for (const id of [0, 1, 2, 4, 11, 13, 20, 21, 22, 23, 24, 25, 28, 29])
    expect([id, param(config, id)]).toEqual([id, param(mainnet, id)]);
});

test('the published reader reads the whole configuration', () => {
  const { config } = createGenesis('genesis', [], START);
  const params = CoreCell.fromBoc(toBoc(config))[0]
    .beginParse()
    .loadDictDirect(Dictionary.Keys.Int(32), Dictionary.Values.Cell());
  const read = parseFullConfig(new Map([...params].map(([id, value]) => [id, value.beginParse()])));
  expect(read.burningConfig).toEqual({ blackholeAddr: null, feeBurnNominator: 0, feeBurnDenominator: 1 });
  expect(read.voting.criticalParams.minWins).toBe(3);
});

test('the published reader reads an account of the zero state', () => {
  const wallet = WalletContractV4.create({ workchain: 0, publicKey: Buffer.alloc(32, 5) });
  const { address, init } = wallet;
  const [code, data] = [init.code, init.data].map((cell) => parseBoc(cell.toBoc()));
  const account = { workchain: 0, hash: address.hash, balance: 5_000_000_000n, code, data };
  const { shard, mc, config } = createGenesis('genesis', [account], START);
  const found = findShardAccount(shard.state.accounts.root, address.hash);
  if (found === null) throw new Error('no account');
  const read = loadShardAccount(CoreCell.fromBoc(toBoc(found))[0].beginParse());
  expect(read.account?.addr.equals(address)).toBe(true);
  expect(read.account?.storage.balance.coins).toBe(5_000_000_000n);
  expect(read.account?.storage.state).toMatchObject({ type: 'active' });
  expect(read.account?.storageStats.lastPaid).toBe(START);
  // Both system accounts run at every masterchain block.
  for (const hash of [CONFIG_ADDRESS, ELECTOR_ADDRESS]) {
    expect(findShardAccount(mc.state.accounts.root, hash)).not.toBeNull();
  }
  if (mc.state.custom === null) throw new Error('no masterchain extra');
  const extra = readMcExtra(mc.state.custom);
  expect(extra.config.hash()).toEqual(config.hash());
  expect(extra.globalBalance).toBe(2_005_000_000_000n);
  // workchain#a6 names the zero state of the basechain.
  const key = Buffer.alloc(4);
  key.writeInt32BE(12);
  const root = findLeaf(config, 32, key)?.open().maybeRef() ?? null;
  const descr = findLeaf(root, 32, Buffer.alloc(4));
  if (descr === null) throw new Error('no basechain');
  descr.skip(8 + 32 + 24 + 16);
  expect(descr.bytes(32)).toEqual(shard.rootHash);
  expect(descr.bytes(32)).toEqual(shard.fileHash);
  expect(new Slice(shard.root).u(32)).toBe(0x9023afe2);
});

test('accounts given twice or elsewhere are refused', () => {
  const cell = parseBoc(toBoc(createGenesis('genesis', [], START).config));
  const account = { workchain: 0, hash: Buffer.alloc(32, 1), balance: 1n, code: cell, data: cell };
  expect(() => createGenesis('genesis', [account, account], START)).toThrow(RangeError);
  expect(() => createGenesis('genesis', [{ ...account, workchain: 5 }], START)).toThrow('no workchain 5');
});
