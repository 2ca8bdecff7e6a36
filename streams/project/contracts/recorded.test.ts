/** Contracts of mainnet as they were recorded, told as the reference told them (spec v3 semantics 6.8). */
import { setMaxListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { encodeState } from '../../../clickhouse/states.ts';
import { parseAddress, rawAddress } from '../../../src/chain/address.ts';
import { Builder, type Cell, toBoc } from '../../../src/chain/builder.ts';
import { hashKey } from '../../../src/chain/hash.ts';
import type { Address } from '../../../src/chain/model.ts';
import { tvmConfig } from '../../../src/tvm/pool.ts';
import { versionConfig } from '../../../src/tvm/test-contracts.ts';
import {
  deployedContracts,
  libraryFinder,
  type RecordedContract,
  recordedCodes,
  replayedContracts,
} from '../../../test/recorded-contracts.ts';
import { shelf } from '../../../test/shelf.ts';
import { traceFixtures } from '../../../test/trace-fixtures.ts';
import type { BatchAccounts } from '../accounts.ts';
import { newCounters } from '../counters.ts';
import { type CodeStore, createCodeStore } from './codes.ts';
import { type Detection, type DetectionOptions, detectAll } from './detection.ts';
import type { KnownRow } from './kinds.ts';
import { createMethods, type Methods } from './methods.ts';

const { signal } = new AbortController();
// A listener for each call under way.
setMaxListeners(2_000, signal);
const counters = newCounters();
const context = z.object({
  context: z.object({
    jetton_wallets: z.record(z.string(), z.object({ owner: z.string(), jetton: z.string() })).default({}),
  }),
});

let methods: Methods;
let codes: CodeStore;

beforeAll(() => {
  if (shelf === null) return;
  methods = createMethods(counters);
  codes = createCodeStore({ query: async () => Buffer.alloc(0) });
  const recorded = recordedCodes();
  const librariesOf = libraryFinder(recorded);
  for (const code of recorded.values()) {
    for (const one of [code, ...librariesOf(code)]) codes.put(one.hash(), toBoc(one), 1);
  }
});
afterAll(() => methods?.close());

const addressOf = (text: string): Address => {
  const address = parseAddress(text);
  if (address === null) throw new Error(`${text} is no address`);
  return address;
};

/** Accounts that have these contracts. */
function accountsOf(contracts: readonly RecordedContract[]): BatchAccounts {
  const found = new Map(contracts.map((one) => [hashKey(addressOf(one.address)), one]));
  return {
    get(account) {
      const contract = found.get(hashKey(account));
      if (!contract) return null;
      const [codeHash, dataHash] = [contract.code.hash(), contract.data.hash()];
      const state = { status: 'active', balance: '1000000000', frozenHash: null, codeHash, dataHash } as const;
      const packed = encodeState({ ...state, extraCurrencies: {} });
      return { lt: '1', hash: Buffer.alloc(32), state: packed, storedData: { hash: dataHash, lt: '1' } };
    },
    dataOf: async (account) => {
      const contract = found.get(hashKey(account));
      return contract ? toBoc(contract.data) : null;
    },
    put: () => undefined,
    putData: () => undefined,
  };
}

function optionsOf(contracts: readonly RecordedContract[], ties = new Map<string, KnownRow>()): DetectionOptions {
  const accounts = accountsOf(contracts);
  return {
    accounts,
    reach: async () => accounts,
    codes,
    known: { get: (_, account) => ties.get(hashKey(account)) ?? null },
    hasConfirmed: async () => false,
    methods,
    isDnsCollection: () => false,
    step: { now: 1_750_000_000, config: tvmConfig(versionConfig(13, 0x3ffn)), globalId: -239 },
    counters,
    signal,
  };
}

/** In the order of the contracts. */
async function tellAll(contracts: readonly RecordedContract[], options: DetectionOptions): Promise<Detection[]> {
  const accounts = contracts.map(({ address }) => addressOf(address));
  const found = new Map<string, Detection>();
  for await (const { account, ...detection } of detectAll(accounts, options)) found.set(hashKey(account), detection);
  return accounts.map((account) => found.get(hashKey(account)) ?? { detected: null, missing: [] });
}

describe.skipIf(shelf === null)('recorded contracts', () => {
  it('are the jetton wallets that the reference found in traces', async () => {
    const wanted = new Map<string, { owner: string; jetton: string }>();
    for (const { json } of traceFixtures()) {
      for (const [address, wallet] of Object.entries(context.parse(json).context.jetton_wallets)) {
        wanted.set(address.toUpperCase(), wallet);
      }
    }
    const contracts = deployedContracts().filter(({ address }) => wanted.has(address.toUpperCase()));
    // 79 times deployed in the traces.
    expect(contracts).toHaveLength(74);
    // Their masters were not recorded: that the wallets are theirs is taken from the reference.
    const ties = new Map(
      contracts.map(({ address }) => {
        const { owner, jetton } = wanted.get(address.toUpperCase()) ?? { owner: '', jetton: '' };
        const tie = { owner: addressOf(owner), of: addressOf(jetton), balance: '0' };
        return [hashKey(addressOf(address)), { id: '1', lt: '0', tie }];
      }),
    );
    const detections = await tellAll(contracts, optionsOf(contracts, ties));
    const told = detections.map(({ detected }) =>
      detected?.found.map(({ kind, row }) => ({ kind: kind.name, ...row })),
    );
    for (const [i, found] of told.entries()) {
      const { owner, jetton } = wanted.get(contracts[i].address.toUpperCase()) ?? { owner: '', jetton: '' };
      expect(found).toContainEqual(
        expect.objectContaining({ kind: 'jetton_wallet', owner: addressOf(owner), jetton: addressOf(jetton) }),
      );
    }
    // Without their masters they wait for these, and are not listed.
    for (const [i, { detected, missing }] of (await tellAll(contracts, optionsOf(contracts))).entries()) {
      expect(detected?.found.some(({ kind }) => kind.name === 'jetton_wallet') ?? false).toBe(false);
      const { jetton } = wanted.get(contracts[i].address.toUpperCase()) ?? { jetton: '' };
      expect(missing.map((one) => rawAddress(one.missing))).toContain(jetton.toUpperCase());
    }
  });

  it('are wallets of a master that has confirmed the code before, without being asked for, where they were deployed as such', async () => {
    const contracts = deployedContracts();
    const isWallet = ({ detected }: Detection): boolean =>
      detected?.found.some(({ kind }) => kind.name === 'jetton_wallet') ?? false;
    // No master is there to ask.
    const found = await tellAll(contracts, { ...optionsOf(contracts), hasConfirmed: async () => true });
    const sure = contracts.filter((_, i) => isWallet(found[i]));
    expect(sure.length).toBeGreaterThan(60);
    // The same code and data at other addresses, and with the masters of others: those would have to be asked.
    const moved = sure.map((one, i) => ({ ...one, address: sure[(i + 1) % sure.length].address }));
    const lying = await tellAll(moved, { ...optionsOf(moved), hasConfirmed: async () => true });
    expect(lying.filter(isWallet)).toEqual([]);
  });

  it('are told among the accounts of recorded blocks, those confirmed whose master or collection is there', async () => {
    const contracts = replayedContracts();
    const detections = await tellAll(contracts, optionsOf(contracts));
    const counts: Record<string, number> = {};
    for (const { detected } of detections) {
      for (const { kind } of detected?.found ?? []) counts[kind.name] = (counts[kind.name] ?? 0) + 1;
    }
    const waiting = detections.filter(({ missing }) => missing.length > 0).length;
    // All of those whose methods answer: 14 wallets, 2 items and 2 pools wait for a master, a collection or the factory.
    expect({ ...counts, waiting }).toEqual({
      jetton_master: 5,
      jetton_wallet: 2,
      nft_collection: 1,
      telemint_item: 1,
      waiting: 18,
    });
  });

  it('are not listed when who should confirm them does not', async () => {
    const contracts = replayedContracts();
    const detections = await tellAll(contracts, optionsOf(contracts));
    const confirmed = detections.flatMap(({ detected }) =>
      detected?.found.some(({ kind }) => kind.name === 'jetton_wallet' || kind.name === 'nft_item')
        ? [detected.subject.account]
        : [],
    );
    expect(confirmed.length).toBeGreaterThan(0);
    // The same code and data elsewhere: the master or the collection answers with another address.
    const moved = (address: Address): string =>
      `0:${Buffer.from(address.subarray(4)).reverse().toString('hex').toUpperCase()}`;
    const liars = contracts.flatMap((one) => {
      const address = addressOf(one.address);
      return confirmed.some((other) => other.equals(address)) ? [{ ...one, address: moved(address) }] : [];
    });
    const options = { ...optionsOf([...contracts, ...liars]), hasConfirmed: async () => true };
    for (const { detected } of await tellAll(liars, options)) {
      const names = detected?.found.map(({ kind }) => kind.name) ?? [];
      expect(names.filter((name) => name === 'jetton_wallet' || name === 'nft_item')).toEqual([]);
    }
  });
});

describe('hostile contracts', () => {
  const selector = (hex: string, ...refs: Cell[]): Cell =>
    refs.reduce((builder, ref) => builder.ref(ref), new Builder().bytes(Buffer.from(`ff00${hex}`, 'hex'))).cell();
  const endless: readonly (readonly [string, Cell])[] = [
    ['loops', selector('3090ea')],
    ['throws', selector('f22a')],
    ['leaves huge tuples', selector('306d81100093206f02e4')],
    ['leaves continuations', selector('30ed44c89083ff6f00')],
    ['leaves its arguments', selector('30')],
  ];

  it.each(endless)('one that %s costs its limits and is nothing', async (_, code) => {
    const own = createMethods(counters);
    const store = createCodeStore({ query: async () => Buffer.alloc(0) });
    store.put(code.hash(), toBoc(code), 1);
    const address = `0:${'5A'.repeat(32)}`;
    const contracts = [{ address, code, data: new Builder().cell() }];
    try {
      const [{ detected, missing }] = await tellAll(contracts, {
        ...optionsOf(contracts),
        codes: store,
        methods: own,
      });
      expect(detected).toBeNull();
      expect(missing).toEqual([]);
    } finally {
      await own.close();
    }
  });

  it('one whose methods use much each, and end well, is asked no more than it is worth', async () => {
    const before = counters.methodRuns;
    // `DROP, PUSHINT 30000, PUSHCONT { NOP }, REPEAT, PUSHINT 1`: 0.7 million of gas.
    const code = selector('308175309100e471');
    codes.put(code.hash(), toBoc(code), 1);
    const contracts = [{ address: `0:${'5B'.repeat(32)}`, code, data: new Builder().cell() }];
    for (let i = 0; i < 2; i++) {
      expect(await tellAll(contracts, optionsOf(contracts))).toEqual([{ detected: null, missing: [] }]);
    }
    // One with what is usual, three with what one contract may use. What is remembered counts as well.
    expect(counters.methodRuns - before).toBe(4);
  });

  it('many of these in a step cost it as much as two, and others are told as always', async () => {
    const before = { ...counters };
    const code = selector('308175309100e471');
    codes.put(code.hash(), toBoc(code), 1);
    const dear = Array.from({ length: 20 }, (_, i) => ({
      address: `0:${'00'.repeat(31)}${(0x10 + i).toString(16)}`,
      code,
      data: new Builder().u(i, 32).cell(),
    }));
    const contracts = [...dear, ...replayedContracts()];
    const found = await tellAll(contracts, optionsOf(contracts));
    expect(found.slice(0, dear.length)).toEqual(dear.map(() => ({ detected: null, missing: [] })));
    expect(found.slice(dear.length).filter(({ detected }) => detected !== null).length).toBeGreaterThan(5);
    expect(counters.unaskedContracts - before.unaskedContracts).toBe(dear.length - 2);
  });
});
