import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Address, type Builder, beginCell, Cell, loadAccount } from '@ton/core';
import { beforeAll, describe, expect, test } from 'vitest';
import { type RecordedBlock, recordedBlocks } from '../../test/recorded-blocks.ts';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { accountBlocks, accountStatesAfter, openAccounts, readAccount } from './accounts.ts';
import { type Block, decodeBlock } from './block.ts';
import { levelMask, openBoc } from './boc.ts';
import { readShownCurrencies } from './currency.ts';
import { cellHash, hashAt, verifyMerkle } from './hash.ts';
import { completeCells, mergePruned } from './merge.ts';
import type { AccountState } from './model.ts';
import { serialize } from './serialize.ts';

function newState(block: Block): number {
  return block.boc.refs[block.boc.refStart[block.stateUpdate] + 1];
}

function fullState(name: string): ReturnType<typeof openBoc> {
  return openBoc(gunzipSync(readFileSync(join(requireShelf(), 'data', 'blocks', 'states', name))));
}

/** An uninitialised account whose StorageInfo goes on after bits and cells with what `extra` writes. */
function accountCell(extra: (builder: Builder) => Builder): ReturnType<typeof readAccount> {
  const used = beginCell()
    .storeBit(true)
    .storeAddress(new Address(0, Buffer.alloc(32, 7)))
    .storeVarUint(300, 3);
  const cell = extra(used.storeVarUint(70_000, 3))
    .storeUint(1_700_000_000, 32)
    .storeBit(true)
    .storeCoins(5)
    .storeUint(77n, 64)
    .storeCoins(123_456_789n)
    .storeBit(false)
    .storeUint(0, 2)
    .endCell();
  const boc = openBoc(cell.toBoc());
  return readAccount(boc, boc.roots[0]);
}

test.each<[string, (builder: Builder) => Builder]>([
  ['storage_extra_none', (builder) => builder.storeUint(0, 3)],
  ['storage_extra_info', (builder) => builder.storeUint(1, 3).storeUint(2n ** 255n + 12345n, 256)],
  ['public cells of one byte', (builder) => builder.storeVarUint(200, 3)],
  ['public cells of three bytes', (builder) => builder.storeVarUint(200_000, 3)],
])('both layouts of StorageInfo: %s', (_, extra) => {
  expect(accountCell(extra)).toMatchObject({
    status: 'uninit',
    lastTransLt: '77',
    balance: { grams: '123456789', extra: {} },
  });
});

describe.skipIf(shelf === null)('account states of recorded blocks', () => {
  const blocks: RecordedBlock[] = [];
  beforeAll(async () => {
    for await (const block of recordedBlocks()) if (block.facts.transactions.length > 0) blocks.push(block);
  });

  /** The cell of every account hashed for real, and the balance the dictionary itself sums up. */
  function check(block: Block, state: AccountState, find: ReturnType<typeof openAccounts>): void {
    if (state.status === 'nonexist') {
      expect(state).toMatchObject({ balance: '0', extraCurrencies: {}, codeHash: null, dataHash: null });
      return;
    }
    const leaf = find(state.account);
    if (leaf === null) throw new Error(`no account ${state.account.toString('hex')}`);
    leaf.skip(5);
    const balance = readShownCurrencies(leaf);
    expect({ grams: state.balance, extra: state.extraCurrencies, pruned: state.extraPruned }).toEqual(balance);
    expect(hashAt(block.boc, leaf.nextRef(), 0).toString('hex')).toBe(state.hash.toString('hex'));
  }

  test('state hash, balance, status and last transaction of every touched account', () => {
    const statuses = { nonexist: 0, uninit: 0, active: 0, frozen: 0 };
    for (const recorded of blocks) {
      const block = decodeBlock(openBoc(recorded.bytes));
      verifyMerkle(block.boc, block.stateUpdate);
      const states = accountStatesAfter(block);
      const find = openAccounts(block.boc, newState(block));
      const last = new Map(recorded.facts.transactions.map((fact) => [fact.account, fact]));
      expect(states.map((state) => state.account.toString('hex', 4))).toEqual([...last.keys()]);
      for (const state of states) {
        check(block, state, find);
        const fact = last.get(state.account.toString('hex', 4));
        expect(fact).toMatchObject({
          hash: state.lastTransactionHash.toString('hex'),
          lt: state.lastTransactionLt,
          new_hash: state.hash.toString('hex'),
          end_status: state.status === 'nonexist' ? 'non_exist' : state.status,
        });
        statuses[state.status]++;
      }
    }
    expect(statuses.active).toBeGreaterThan(2000);
    expect(statuses.uninit).toBeGreaterThan(100);
    expect(statuses.nonexist).toBeGreaterThan(0);
  });

  test('the update over the block begins and ends with those of its transactions', () => {
    for (const recorded of blocks) {
      const facts = recorded.facts.transactions;
      for (const account of accountBlocks(decodeBlock(openBoc(recorded.bytes)))) {
        const own = facts.filter((fact) => fact.account === account.account.toString('hex', 4));
        expect(account.transactionCells.length).toBe(own.length);
        expect(account.stateBefore.toString('hex')).toBe(own[0].old_hash);
        expect(account.stateAfter.toString('hex')).toBe(own[own.length - 1].new_hash);
      }
    }
  });

  test('what is complete is parsed by @ton/core to the hash that was read', () => {
    let complete = 0;
    for (const recorded of blocks.filter((block) => /71398501|30816553|56703839/.test(block.name))) {
      const { boc, states } = statesOf(recorded);
      for (const state of states) {
        for (const [cell, hash, whole] of [
          [state.codeCell, state.codeHash, state.codeComplete],
          [state.dataCell, state.dataHash, state.dataComplete],
        ] as const) {
          if (cell === null || hash === null) continue;
          const bytes = completeCells(boc, cell);
          expect(bytes !== null).toBe(whole);
          if (bytes === null) continue;
          expect(Cell.fromBoc(bytes)[0].hash().equals(hash)).toBe(true);
          complete++;
        }
      }
    }
    expect(complete).toBeGreaterThan(500);
  });

  function statesOf(recorded: RecordedBlock): { boc: ReturnType<typeof openBoc>; states: AccountState[] } {
    const boc = openBoc(recorded.bytes);
    return { boc, states: accountStatesAfter(decodeBlock(boc)) };
  }

  test('pruned data is filled in from the state before, block after block, to the state recorded at the end', () => {
    const run = blocks.filter((block) => block.name.startsWith('seq_mainnet-mc-2660'));
    const before = fullState('mainnet_-1_8000000000000000_2659.state.boc.gz');
    const known = new Map<string, Buffer>();
    let filled = 0;
    for (const recorded of run) {
      const { boc, states } = statesOf(recorded);
      for (const state of states) {
        if (state.dataCell === null || state.dataHash === null) continue;
        const key = state.account.toString('hex');
        const stored = known.get(key);
        const data = mergePruned(boc, state.dataCell, stored === undefined ? before : openBoc(stored));
        if (data === null) throw new Error(`data of ${key} stays incomplete at ${recorded.name}`);
        if (levelMask(boc, state.dataCell) !== 0) filled++;
        const tree = openBoc(data);
        expect(cellHash(tree, tree.roots[0]).equals(state.dataHash)).toBe(true);
        known.set(key, data);
      }
    }
    expect(run.length).toBe(31);
    expect(filled).toBeGreaterThan(30);
    compareWithFullState(known, 'mainnet_-1_8000000000000000_2690.state.boc.gz');
  });

  /** Reads the account cells of a recorded full state with @ton/core. */
  function compareWithFullState(known: Map<string, Buffer>, file: string): void {
    const after = fullState(file);
    const find = openAccounts(after, after.roots[0]);
    for (const [key, data] of known) {
      const leaf = find(Buffer.from(key, 'hex'));
      if (leaf === null) throw new Error(`${key} is not in the state`);
      leaf.skip(5);
      readShownCurrencies(leaf);
      const slice = Cell.fromBoc(serialize(after, leaf.nextRef()))[0].beginParse();
      expect(slice.loadBit()).toBe(true);
      const account = loadAccount(slice);
      expect(account.addr.equals(new Address(-1, Buffer.from(key.slice(8), 'hex')))).toBe(true);
      const state = account.storage.state;
      const stored = state.type === 'active' ? state.state.data : null;
      expect(stored?.hash().equals(Cell.fromBoc(data)[0].hash())).toBe(true);
    }
    expect(known.size).toBeGreaterThan(3);
  }

  test('nothing is invented when a branch is in neither tree', () => {
    const recorded = blocks.find((block) => block.name.includes('71398501'));
    if (recorded === undefined) throw new Error('block 71398501 is not there');
    const { boc, states } = statesOf(recorded);
    const partial = states.find((state) => state.dataCell !== null && !state.dataComplete);
    const cell = partial?.dataCell;
    if (cell === undefined || cell === null) throw new Error('no pruned data in the block');
    expect(
      mergePruned(
        boc,
        cell,
        openBoc(serialize(boc, (boc.decoded.transactions ?? new Map<number, unknown>()).keys().next().value ?? 0)),
      ),
    ).toBeNull();
    expect(completeCells(boc, cell)).toBeNull();
  });
});
