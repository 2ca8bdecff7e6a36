import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { random, rounds } from '../../../test/chance.ts';
import {
  deployedContracts,
  libraryFinder,
  type RecordedContract,
  recordedCodes,
  replayedContracts,
} from '../../../test/recorded-contracts.ts';
import { BUSY_BLOCK, readReplaySet } from '../../../test/replay-set.ts';
import { shelf } from '../../../test/shelf.ts';
import { methodId } from '../../tvm/contract.ts';
import { cellText, createExecutor, type Executor, textCell } from '../../tvm/executor.ts';
import { libraryDictionary } from '../../tvm/libraries.ts';
import { readStack, type StackValue, writeStack } from '../../tvm/stack.ts';
import { Builder, Cell } from '../builder.ts';
import { DecodeError } from '../errors.ts';
import { addressOrNone } from '../layouts/addresses.ts';
import { CellView } from '../layouts/cell-view.ts';
import type { Chance } from '../layouts/codec.ts';
import type { Address } from '../model.ts';
import { readContent } from './content.ts';
import { LAYOUTS, readerOf } from './known-codes.ts';
import type { ContractState } from './reader.ts';
import { readWallet } from './wallets.ts';

const METHODS = {
  jetton_wallet: 'get_wallet_data',
  jetton_master: 'get_jetton_data',
  nft_item: 'get_nft_data',
  nft_collection: 'get_collection_data',
} as const;

const chance: Chance = {
  below: random,
  bytes: (length) => Buffer.from(Array.from({ length }, () => random(256))),
};

/** What a get-method told, in one form for all: null for a value of another type than the standard says. */
type Told = Record<string, unknown> | null;

const int = (value: StackValue | undefined) => (value?.type === 'int' ? value.value.toString() : undefined);
const hash = (value: StackValue | undefined) =>
  value?.type === 'cell' ? value.cell.hash().toString('hex') : undefined;
const hex = (address: Address | null) => address?.toString('hex') ?? null;

function addressIn(value: StackValue | undefined): string | null | undefined {
  if (value?.type !== 'slice') return undefined;
  try {
    return hex(addressOrNone.read(CellView.from(value.cell).cursor()));
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

const content = (value: StackValue | undefined) =>
  value?.type === 'cell' ? readContent(CellView.from(value.cell)) : undefined;

function told(kind: ContractState['kind'], [a, b, c, d, e]: StackValue[]): Told {
  switch (kind) {
    case 'jetton_wallet':
      return { kind, balance: int(a), owner: addressIn(b), master: addressIn(c), code: hash(d) !== undefined };
    case 'jetton_master': {
      const mintable = int(b) === undefined ? undefined : int(b) !== '0';
      return { kind, supply: int(a), mintable, admin: addressIn(c), content: content(d), walletCode: hash(e) };
    }
    case 'nft_item':
      return { kind, init: int(a), index: int(b), collection: addressIn(c), owner: addressIn(d), content: hash(e) };
    case 'nft_collection':
      return { kind, next: int(a), content: content(b), owner: addressIn(c) };
  }
}

function read(state: ContractState): Told {
  switch (state.kind) {
    case 'jetton_wallet':
      return {
        kind: state.kind,
        balance: state.balance,
        owner: hex(state.owner),
        master: hex(state.master),
        code: true,
      };
    case 'jetton_master':
      return {
        kind: state.kind,
        supply: state.totalSupply,
        mintable: state.mintable,
        admin: hex(state.admin),
        content: state.content,
        walletCode: state.walletCodeHash.toString('hex'),
      };
    case 'nft_item':
      return {
        kind: state.kind,
        init: '-1',
        index: state.index,
        collection: hex(state.collection),
        owner: hex(state.owner),
        content: state.content.hash().toString('hex'),
      };
    case 'nft_collection':
      return { kind: state.kind, next: state.nextItemIndex, content: state.content, owner: hex(state.owner) };
  }
}

/** Flipped bits, a lost reference, a tail. */
function mutated(cell: Cell): Cell {
  const data = Buffer.from(cell.data);
  for (let flips = random(4); flips > 0; flips--) {
    const bit = random(cell.bits);
    data[bit >> 3] ^= 0x80 >> (bit & 7);
  }
  const refs = random(6) === 0 ? cell.refs.slice(1) : cell.refs;
  const changed = new Cell(data, cell.bits, refs);
  if (random(6) > 0 || cell.bits > 1000) return changed;
  return new Builder()
    .append(changed)
    .u(1, 1 + random(9))
    .cell();
}

describe.skipIf(shelf === null)('what is read from data cells is what the get-methods tell', () => {
  const codes = shelf === null ? new Map<string, Cell>() : recordedCodes();
  const libraries = libraryFinder(codes);
  let executor: Executor;

  beforeAll(async () => {
    executor = await createExecutor(cellText(readReplaySet(BUSY_BLOCK).config));
  });
  afterAll(() => executor.close());

  /** Null when the method fails. */
  function stackOf(method: string, { address, code, data }: RecordedContract): StackValue[] | null {
    const dictionary = libraryDictionary(libraries(code));
    const result = executor.runGetMethod({
      code: cellText(code),
      data: cellText(data),
      address,
      methodId: methodId(method),
      stack: cellText(writeStack([])),
      now: 1_780_000_000,
      balance: '1000000000',
      randSeed: Buffer.alloc(32),
      libraries: dictionary === null ? null : cellText(dictionary),
    });
    if (!result.success || result.exitCode > 1) return null;
    return readStack(textCell(result.stack));
  }

  function ask(kind: ContractState['kind'], contract: RecordedContract): Told {
    const stack = stackOf(METHODS[kind], contract);
    return stack === null ? null : told(kind, stack);
  }

  it('of the wallets of mainnet', () => {
    const types: Record<string, number> = {};
    for (const contract of [...replayedContracts(), ...deployedContracts()]) {
      const wallet = readWallet(contract.code.hash(), CellView.from(contract.data));
      if (wallet === null) continue;
      types[wallet.type] = (types[wallet.type] ?? 0) + 1;
      if (types[wallet.type] > rounds(5, 1000)) continue;
      const seqno = stackOf('seqno', contract);
      if (seqno !== null) expect(String(wallet.seqno), contract.address).toBe(int(seqno[0]));
      const id = stackOf('get_subwallet_id', contract);
      if (id !== null) expect(String(wallet.walletId), contract.address).toBe(int(id[0]));
      expect(wallet.isSignatureAllowed !== null).toBe(wallet.type.startsWith('wallet v5'));
    }
    expect(types).toEqual({ 'wallet v3 r1': 3, 'wallet v3 r2': 19, 'wallet v4 r2': 93, 'wallet v5 r1': 123 });
  });

  it('of the contracts of mainnet', () => {
    const counts: Record<string, number> = {};
    const count = (name: string): void => {
      counts[name] = (counts[name] ?? 0) + 1;
    };
    for (const contract of [...replayedContracts(), ...deployedContracts()]) {
      const reader = readerOf(contract.code.hash());
      const state = reader?.(CellView.from(contract.data)) ?? null;
      if (state !== null) {
        expect(read(state), contract.address).toEqual(ask(state.kind, contract));
        count(state.kind);
      } else if (reader !== null) count('unread');
    }
    expect(counts).toEqual({ jetton_wallet: 78 });
  });

  const known = [...LAYOUTS].map(([codeHash, layout]) => ({ codeHash, layout }));

  it.each(known)('of any data under $codeHash', ({ codeHash, layout }) => {
    const code = codes.get(codeHash);
    if (code === undefined) throw new Error('no code with this hash on the shelf');
    let states = 0;
    for (let round = 0; round < rounds(6, 300); round++) {
      const builder = new Builder();
      layout.data.write(builder, layout.data.sample(chance));
      for (const data of [builder.cell(), mutated(builder.cell())]) {
        const state = layout.read(CellView.from(data));
        if (state === null) continue;
        states++;
        const contract = { address: `0:${'11'.repeat(32)}`, code, data };
        expect(read(state)).toEqual(ask(state.kind, contract));
      }
    }
    expect(states).toBeGreaterThan(0);
  });
});
