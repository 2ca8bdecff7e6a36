/**
 * Speed of the executor: get-methods and transactions a CPU second of one thread, what of it the executor's own code
 * takes, and what a pool makes of it. Over recorded accounts of mainnet. `BENCH_SECONDS`: time for each line.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cell, parseBoc, Slice } from '../src/chain/builder.ts';
import { findLeaf } from '../src/chain/dictionary.ts';
import { createGenesis } from '../src/devnet/genesis.ts';
import { EMPTY, readAccount } from '../src/tvm/account.ts';
import {
  type ChainView,
  type ContractState,
  contractState,
  librariesFor,
  methodId,
  runGetMethod,
} from '../src/tvm/contract.ts';
import {
  type CellText,
  cellText,
  createExecutor,
  type GetMethodCall,
  type TransactionContext,
  textCell,
} from '../src/tvm/executor.ts';
import { compileExecutor, type Emulator, instantiateExecutor } from '../src/tvm/module.ts';
import { createTvmPool, tvmConfig } from '../src/tvm/pool.ts';
import { readStack, writeStack } from '../src/tvm/stack.ts';
import { BUSY_BLOCK, readReplaySet } from './replay-set.ts';
import { requireShelf } from './shelf.ts';

const METHODS = ['seqno', 'get_wallet_data', 'get_jetton_data', 'get_nft_data'];
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2);
const NOW = 1_778_681_725;
const NO_ARGUMENTS = cellText(writeStack([]));

const print = (...columns: (string | number)[]): void => void process.stdout.write(`${columns.join('\t')}\n`);
const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** Runs until the time is over; calls a CPU second. */
function rate(run: () => void): number {
  // Until the engine has compiled for speed what is called most.
  for (const warm = performance.now() + SECONDS * 500; performance.now() < warm; ) run();
  const begin = cpuSeconds();
  const end = performance.now() + SECONDS * 1000;
  let calls = 0;
  for (; performance.now() < end; calls++) run();
  return calls / (cpuSeconds() - begin);
}

interface Case {
  method: string;
  state: ContractState;
  libraries: CellText | null;
}

const set = readReplaySet(BUSY_BLOCK);
const olderAccounts = readReplaySet('mainnet_0_8000000000000000_56703839.json.gz').accounts;
const library = async (hash: Buffer): Promise<Cell | null> => findLeaf(set.libraries, 256, hash)?.ref() ?? null;
const mainnet = parseBoc(readFileSync(join(requireShelf(), 'data/config/mainnet_2026-05-13.boc')));
const devnet = createGenesis('bench', [], NOW).config;
const module = await compileExecutor();

function callOf({ method, state, libraries }: Case): GetMethodCall {
  return {
    code: state.code,
    data: state.data,
    address: `0:${'00'.repeat(32)}`,
    methodId: methodId(method),
    stack: NO_ARGUMENTS,
    now: NOW,
    balance: state.balance,
    randSeed: Buffer.alloc(32),
    libraries,
  };
}

/** For each method the first recorded account that has it; one with code of its own and one behind a library cell. */
async function findCases(): Promise<Case[]> {
  const view: ChainView = { config: tvmConfig(mainnet), prevBlocks: null, library };
  const executor = await createExecutor(view.config.text, await instantiateExecutor(module));
  const found: Case[] = [];
  for (const { shard_account_boc: bag } of [...set.accounts, ...olderAccounts]) {
    const account = readAccount(textCell(bag).refs[0]);
    if (account?.status.type !== 'active' || account.status.code === null) continue;
    const { code, data } = account.status;
    const state = contractState({ ...account, code, data: data ?? EMPTY });
    const libraries = await librariesFor(view, [code], AbortSignal.timeout(60_000));
    for (const method of METHODS) {
      const kind = { method, state, libraries };
      if (found.some((known) => known.method === method && (known.libraries === null) === (libraries === null)))
        continue;
      const result = executor.runGetMethod(callOf(kind));
      if (result.success && result.exitCode === 0) found.push(kind);
    }
  }
  executor.close();
  return found.sort((a, b) => METHODS.indexOf(a.method) - METHODS.indexOf(b.method));
}

/** An instance that counts the seconds in its own code. */
async function timedEmulator(): Promise<{ emulator: Emulator; inside: () => number }> {
  const emulator = await instantiateExecutor(module);
  let inside = 0;
  const timed: Emulator = {
    ...emulator,
    _run_get_method: (params, stack, config) => {
      const begin = performance.now();
      const result = emulator._run_get_method(params, stack, config);
      inside += performance.now() - begin;
      return result;
    },
  };
  return { emulator: timed, inside: () => inside / 1000 };
}

async function getMethods(cases: readonly Case[]): Promise<void> {
  print('get-method', 'code', 'devnet /s', 'mainnet /s', 'mainnet whole /s', 'in executor', 'stack us');
  for (const kind of cases) {
    const call = callOf(kind);
    const { emulator, inside } = await timedEmulator();
    const small = await createExecutor(cellText(devnet), await instantiateExecutor(module));
    const cut = await createExecutor(cellText(mainnet), emulator);
    const whole = await createExecutor(cellText(mainnet), await instantiateExecutor(module), true);
    const onDevnet = rate(() => small.runGetMethod(call));
    const before = inside();
    const begin = performance.now();
    const onMainnet = rate(() => cut.runGetMethod(call));
    const share = (inside() - before) / ((performance.now() - begin) / 1000);
    const onWhole = rate(() => whole.runGetMethod(call));
    const result = small.runGetMethod(call);
    const stack = result.success ? rate(() => void readStack(textCell(result.stack))) : 0;
    const rates = [onDevnet, onMainnet, onWhole].map((value) => Math.round(value));
    const code = kind.libraries === null ? 'own' : 'library';
    print(kind.method, code, ...rates, `${Math.round(share * 100)} %`, (1e6 / stack).toFixed(0));
  }
}

async function transactions(): Promise<void> {
  const executor = await createExecutor(cellText(set.config), await instantiateExecutor(module));
  const view: ChainView = { config: tvmConfig(set.config), prevBlocks: null, library };
  const jobs: { account: CellText; message: CellText; context: TransactionContext }[] = [];
  for (const {
    shard_account_boc: bag,
    transactions: [first],
  } of set.accounts) {
    const account = textCell(bag);
    const message = new Slice(textCell(first.boc).refs[0]).maybeRef();
    if (message === null) continue;
    const libraries = await librariesFor(view, [account, message], AbortSignal.timeout(60_000));
    const context = { lt: first.lt, now: first.now, randSeed: Buffer.from(set.randSeed ?? '', 'hex'), libraries };
    jobs.push({ account: cellText(account), message: cellText(message), context });
  }
  let next = 0;
  const perSecond = rate(() => {
    const { account, message, context } = jobs[next++ % jobs.length];
    executor.runTransaction(account, message, context);
  });
  print('transactions of block 71398501', `${Math.round(perSecond)} /s`, `${jobs.length} accounts`);
}

/** Over a pool, with as many calls on their way as there are threads and some more. */
async function pooled(kind: Case, workers: number): Promise<void> {
  const pool = createTvmPool({ workers, maxQueued: 1000, timeoutMs: 60_000 });
  const view: ChainView = { config: tvmConfig(mainnet), prevBlocks: null, library };
  const options = { now: NOW, signal: AbortSignal.timeout(600_000) };
  let end = Number.POSITIVE_INFINITY;
  let calls = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      await runGetMethod(pool, view, kind.state, methodId(kind.method), [], options);
      calls++;
    }
  };
  for (let i = 0; i < 50; i++) await runGetMethod(pool, view, kind.state, methodId(kind.method), [], options);
  const begin = performance.now();
  const cpu = cpuSeconds();
  end = begin + SECONDS * 1000;
  await Promise.all(Array.from({ length: workers + 2 }, client));
  const perSecond = calls / ((performance.now() - begin) / 1000);
  const perCpu = calls / (cpuSeconds() - cpu);
  print(
    `pool, ${kind.method}`,
    `${workers} threads`,
    `${Math.round(perSecond)} /s`,
    `${Math.round(perCpu)} a CPU second`,
  );
  await pool.close();
}

const cases = await findCases();
await getMethods(cases);
await transactions();
for (const workers of [1, 2]) await pooled(cases[0], workers);
