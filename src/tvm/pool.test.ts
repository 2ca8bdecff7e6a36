import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { Builder, type Cell, parseBoc } from '../chain/builder.ts';
import { createGenesis } from '../devnet/genesis.ts';
import { configParam } from './config.ts';
import { type ChainView, type GetMethodOptions, methodId, runGetMethod, TvmArgumentError } from './contract.ts';
import { cellText } from './executor.ts';
import { createTvmPool, TvmBusyError, type TvmMetrics, TvmTimeoutError, tvmConfig } from './pool.ts';
import { NULL, StackLimitError, type StackValue, writeStack, writeStackValue } from './stack.ts';
import { address, codes, stateOf } from './test-contracts.ts';

const NOW = 1_700_000_000;
/** For hours. */
const ENDLESS_GAS = '1000000000000';
const METHOD = methodId('seqno');

function countingMetrics() {
  const counts = { replaced: 0, rejected: 0, outcomes: [] as string[], deepest: 0 };
  const metrics: TvmMetrics = {
    depth: (_running, queued) => {
      counts.deepest = Math.max(counts.deepest, queued);
    },
    finished: (kind, outcome) => void counts.outcomes.push(`${kind} ${outcome}`),
    rejected: () => void counts.rejected++,
    replaced: () => void counts.replaced++,
  };
  return { counts, metrics };
}

const pool = createTvmPool({ workers: 1, maxQueued: 100, timeoutMs: 60_000 });
afterAll(() => pool.close());

const devnet: ChainView = {
  config: tvmConfig(createGenesis('pool', [], NOW).config),
  prevBlocks: null,
  library: async () => null,
};

function run(code: Cell, stack: StackValue[] = [], view = devnet, more: Partial<GetMethodOptions> = {}) {
  const options = { now: NOW, signal: AbortSignal.timeout(60_000), ...more };
  return runGetMethod(pool, view, stateOf(code), METHOD, stack, options);
}

const int = (value: bigint | number): StackValue => ({ type: 'int', value: BigInt(value) });
const tuple = (...items: StackValue[]): StackValue => ({ type: 'tuple', items });

test('get-methods take and give every type of value', async () => {
  const cell = new Builder().u(5, 7).ref(new Builder().cell()).cell();
  const stack: StackValue[] = [
    NULL,
    int(0),
    int(-1),
    int(2n ** 256n - 1n),
    int(-(2n ** 256n)),
    { type: 'nan' },
    { type: 'cell', cell },
    { type: 'slice', cell },
    { type: 'builder', cell },
    tuple(),
    tuple(int(1)),
    tuple(int(1), NULL),
    tuple(int(1), tuple(int(2), tuple({ type: 'cell', cell }, NULL)), { type: 'slice', cell }, int(7)),
  ];
  const result = await run(codes.echo, stack);
  expect(result).toMatchObject({ exitCode: 0, gasUsed: 49 });
  expect(writeStack(result.stack).equals(writeStack(stack))).toBe(true);
  const made = await run(codes.kinds);
  expect(made.stack.map(({ type }) => type)).toEqual(['cell', 'builder', 'continuation', 'nan', 'tuple']);
});

test('ids of methods are those that compilers write', () => {
  // Known from public contracts: seqno 85143, get_wallet_data 97026, recv_internal aside.
  expect(methodId('seqno')).toBe(85143);
  expect(methodId('get_wallet_data')).toBe(97026);
  expect(methodId('get_jetton_data')).toBe(106029);
  expect(methodId('get_nft_data')).toBe(102351);
});

test('the environment is the one tonlib gives', async () => {
  const prevBlocks = tuple(tuple(), int(5));
  const view = { ...devnet, prevBlocks: cellText(writeStackValue(prevBlocks)) };
  const state = stateOf(codes.registers, { balance: '12345', extra: { 7: '100', 9: '55', 11: '1' } });
  const options = { now: NOW, signal: AbortSignal.timeout(60_000) };
  const { stack } = await runGetMethod(pool, view, state, METHOD, [], options);
  const [c7] = stack;
  if (c7.type !== 'tuple' || c7.items[0].type !== 'tuple') throw new Error('c7 is a tuple of tuples');
  const [info] = c7.items;
  const myself = new Builder().u(4, 3).u(0, 8).bytes(address.subarray(4)).cell();
  const { config } = view;
  expect(info.items.slice(0, 7)).toEqual([0x076ef1ea, 0, 0, NOW, 0, 0, 0].map(int));
  expect(info.items[7]).toMatchObject({ type: 'tuple', items: [int(12345), { type: 'cell' }] });
  expect(info.items[8]).toEqual({ type: 'slice', cell: myself });
  expect(info.items[9]).toMatchObject({ type: 'cell' });
  expect(cellOf(info.items[9]).equals(config.root)).toBe(true);
  expect(cellOf(info.items[10]).equals(codes.registers)).toBe(true);
  expect(info.items.slice(11, 14)).toEqual([tuple(int(0), NULL), int(0), prevBlocks]);
  const [unpacked, due, precompiled, incoming] = info.items.slice(14);
  if (unpacked.type !== 'tuple') throw new Error('the unpacked configuration is a tuple');
  expect(unpacked.items.map(({ type }) => type)).toEqual(['slice', 'slice', ...Array(5).fill('slice')]);
  expect(cellOf(unpacked.items[2]).equals(configParam(config.root, 20) ?? codes.echo)).toBe(true);
  expect([due, precompiled]).toEqual([int(0), NULL]);
  expect(incoming).toMatchObject({ type: 'tuple' });
  expect(info.items).toHaveLength(18);
});

function cellOf(value: StackValue): Cell {
  if (!('cell' in value)) throw new Error(`${value.type} has no cell`);
  return value.cell;
}

describe.skipIf(shelf === null)('with the configuration of mainnet', () => {
  const root = () => parseBoc(readFileSync(join(requireShelf(), 'data/config/mainnet_2026-05-13.boc')));

  test('contracts that read it see all of it, first and every time', async () => {
    const view = { ...devnet, config: tvmConfig(root()) };
    for (let i = 0; i < 2; i++) {
      const [whole] = (await run(codes.configRoot, [], view)).stack;
      expect(cellOf(whole).equals(view.config.root)).toBe(true);
      const [validators, found] = (await run(codes.configParam, [int(34)], view)).stack;
      expect(found).toEqual(int(-1));
      expect(cellOf(validators).equals(configParam(view.config.root, 34) ?? codes.echo)).toBe(true);
      expect((await run(codes.configParam, [int(33)], view)).stack).toEqual(
        configParam(view.config.root, 33) === null ? [int(0)] : expect.anything(),
      );
    }
  });

  test('calls of several steps each see their own', async () => {
    const views = [devnet, { ...devnet, config: tvmConfig(root()) }];
    const results = await Promise.all([...views, ...views].map((view) => run(codes.configRoot, [], view)));
    expect(results.map(({ stack }) => cellOf(stack[0]).hash().toString('hex'))).toEqual(
      [...views, ...views].map((view) => view.config.key),
    );
  });
});

describe('libraries', () => {
  const inner = codes.echo;
  const named = new Builder().u(2, 8).bytes(inner.hash()).cell(true);

  test('a contract whose code is a library cell runs, and asks for that library only', async () => {
    const asked: string[] = [];
    const library = async (hash: Buffer): Promise<Cell | null> => {
      asked.push(hash.toString('hex'));
      return hash.equals(inner.hash()) ? inner : null;
    };
    expect(await run(named, [int(4)], { ...devnet, library })).toMatchObject({ exitCode: 0, stack: [int(4)] });
    expect(asked).toEqual([inner.hash().toString('hex')]);
  });

  test('one that only turns up while the code runs is fetched then', async () => {
    // PUSH c4, CTOS, LDREF, DROP, CTOS, PLDU 8: reads the first byte of what stands behind the reference.
    const held = new Builder().u(77, 8).cell();
    const reference = new Builder().u(2, 8).bytes(held.hash()).cell(true);
    const data = new Builder().ref(reference).cell();
    const code = new Builder().bytes(Buffer.from('ff0030ed44d0d430d0d70b07', 'hex')).cell();
    let asked = 0;
    const view = { ...devnet, library: async () => (asked++ > 3 ? null : held) };
    const state = stateOf(code, { data });
    const result = await runGetMethod(pool, view, state, METHOD, [], { now: NOW, signal: AbortSignal.timeout(60_000) });
    expect(result).toMatchObject({ exitCode: 0, stack: [int(77)] });
    expect(asked).toBe(1);
  });

  test('without it the contract fails as on the chain', async () => {
    expect((await run(named)).exitCode).not.toBe(0);
  });
});

describe('limits', () => {
  test('results as long as the elector’s list come through, longer ones are refused', async () => {
    const limits = { maxDepth: 1024, maxValues: 8000 };
    const { stack } = await run(codes.list(600), [], devnet, { limits });
    expect(stack).toHaveLength(1);
    await expect(run(codes.list(600), [], devnet, { limits: { maxDepth: 100, maxValues: 8000 } })).rejects.toThrow(
      'nested deeper than 100',
    );
    await expect(run(codes.list(4000), [], devnet, { limits })).rejects.toThrow('nested deeper than 1024');
    expect((await run(codes.echo, [int(1)])).stack).toEqual([int(1)]);
  });

  test('arguments that cannot be written do not reach a thread', async () => {
    let deep: StackValue = NULL;
    for (let i = 0; i < 10_000; i++) deep = tuple(deep);
    await expect(run(codes.echo, [deep])).rejects.toThrow('nested deeper');
    await expect(run(codes.echo, [{ type: 'continuation' }])).rejects.toThrow('continuation');
    await expect(run(codes.echo, [int(2n ** 256n)])).rejects.toThrow('257 bits');
  });

  test('a run ends at its gas', async () => {
    expect(await run(codes.endless, [], devnet, { gasLimit: '5000' })).toMatchObject({ exitCode: -14 });
  });

  test('one that hangs costs its call, and those behind it get their answers', async () => {
    const { counts, metrics } = countingMetrics();
    const small = createTvmPool({ workers: 1, maxQueued: 2, timeoutMs: 1_500, metrics });
    try {
      const ask = (code: Cell, signal = AbortSignal.timeout(60_000)) =>
        runGetMethod(small, devnet, stateOf(code), METHOD, [], { now: NOW, signal, gasLimit: ENDLESS_GAS });
      await ask(codes.echo);
      const hanging = ask(codes.endless);
      const gone = new AbortController();
      const leaving = ask(codes.echo, gone.signal);
      const waiting = ask(codes.echo);
      await expect(ask(codes.echo)).rejects.toBeInstanceOf(TvmBusyError);
      gone.abort(new Error('the client left'));
      await expect(leaving).rejects.toThrow('the client left');
      await expect(hanging).rejects.toBeInstanceOf(TvmTimeoutError);
      expect(await waiting).toMatchObject({ exitCode: 0 });
      const outcomes = ['get_method done', 'get_method timeout', 'get_method done'];
      expect(counts).toEqual({ replaced: 1, rejected: 1, outcomes, deepest: 2 });
    } finally {
      await small.close();
    }
    await expect(
      small.run({ kind: 'tick_tock', shardAccount: '', isTock: false, context }, devnet.config),
    ).rejects.toThrow('closed');
  });

  test('what a method left is gone through for so long, and the next call has a new executor', async () => {
    const { counts, metrics } = countingMetrics();
    const small = createTvmPool({ workers: 1, maxQueued: 2, timeoutMs: 60_000, metrics });
    try {
      const ask = (code: Cell) =>
        runGetMethod(small, devnet, stateOf(code), METHOD, [], { now: NOW, signal: AbortSignal.timeout(120_000) });
      const told = await ask(codes.echo);
      await expect(ask(codes.doubled(60))).rejects.toBeInstanceOf(StackLimitError);
      expect(await ask(codes.echo)).toEqual(told);
      const outcomes = ['get_method done', 'get_method done', 'get_method done'];
      expect(counts).toEqual({ replaced: 1, rejected: 0, outcomes, deepest: 1 });
    } finally {
      await small.close();
    }
  });

  test('a standstill of its own thread is no fault of a contract', async () => {
    const small = createTvmPool({ workers: 1, maxQueued: 2, timeoutMs: 300 });
    try {
      const ask = () => {
        const signal = AbortSignal.timeout(60_000);
        return runGetMethod(small, devnet, stateOf(codes.echo), METHOD, [], { now: NOW, signal });
      };
      // What is not warm yet may take longer than that.
      await ask().catch(() => undefined);
      const asked = ask();
      await new Promise(setImmediate);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
      expect(await asked).toMatchObject({ exitCode: 0 });
    } finally {
      await small.close();
    }
  });

  test('with patience the time counts that the process had of the processor', async () => {
    const patient = createTvmPool({ workers: 1, maxQueued: 2, timeoutMs: 200, patienceMs: 60_000 });
    let looks = 0;
    // It gets nothing until it was looked at three times: when the call began, and after two timers.
    vi.spyOn(process, 'cpuUsage').mockImplementation(() => ({ user: ++looks > 3 ? 1e9 : 0, system: 0 }));
    try {
      const signal = AbortSignal.timeout(60_000);
      const options = { now: NOW, signal, gasLimit: ENDLESS_GAS };
      const hanging = runGetMethod(patient, devnet, stateOf(codes.endless), METHOD, [], options);
      await expect(hanging).rejects.toBeInstanceOf(TvmTimeoutError);
      expect(looks).toBe(4);
    } finally {
      vi.restoreAllMocks();
      await patient.close();
    }
  });

  test('arguments that no chain has are told as such', async () => {
    const pruned = new Builder().u(1, 8).u(1, 8).bytes(Buffer.alloc(32)).u(0, 16).cell(true);
    await expect(run(codes.echo, [{ type: 'cell', cell: pruned }])).rejects.toThrow(TvmArgumentError);
  });

  test('nonsense is refused and harms no other call', async () => {
    const context2 = { ...context, lt: 'x' };
    const jobs = [
      { kind: 'transaction', shardAccount: 'x', message: 'y', context },
      { kind: 'transaction', shardAccount: 'x', message: 'y', context: context2 },
      { kind: 'transaction', shardAccount: '', message: '', context: { ...context, libraries: 'z' } },
    ] as const;
    for (const job of jobs) {
      const result = pool.run(job, devnet.config).then(({ accepted }) => accepted);
      await expect(result.catch(() => false)).resolves.toBe(false);
      expect((await run(codes.echo, [int(1)])).stack).toEqual([int(1)]);
    }
    await expect(pool.run(jobs[0], { ...devnet.config, key: 'other', text: 'te6c' })).rejects.toThrow('configuration');
    expect((await run(codes.echo, [int(1)])).stack).toEqual([int(1)]);
  });
});

const context = { now: NOW, lt: '1000000', randSeed: Buffer.alloc(32) };
