/** Both servers of v2 on one devnet that has had traffic and stands still: ours, and the older official one. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silent } from '../../clickhouse/test-server.ts';
import { rawAddress } from '../../src/chain/address.ts';
import { openLiteserver } from '../../src/devnet/liteserver/open.ts';
import type { ProducedStep } from '../../src/devnet/model.ts';
import { parseGlobalConfig } from '../../src/node/global-config.ts';
import { createLitePool } from '../../src/node/lite-pool.ts';
import { serveApi } from '../api-server.ts';
import type { ForeignProgram } from '../foreign/programs.ts';
import { createMemoryChain } from '../memory-source.ts';
import { createPeopledDevnet, statesAfter } from '../peopled-devnet.ts';
import { startStack, until } from '../stack.ts';
import { genesisContracts } from './contracts.ts';

const SEED = 'compared';
const SPLIT_AT = 6;
const MERGE_AT = 12;
const KEY_BLOCK_EVERY = 5;

export interface Stage {
  /** Masterchain seqno at which the chain stands. */
  head: number;
  /** Every account that a block has touched, with the hash of its code. */
  accounts: { address: string; code: string }[];
  /** Base of the paths of v2. */
  ours: string;
  theirs: string;
  close(): Promise<void>;
}

export interface StageOptions {
  /** Of traffic, more than it takes to split and merge. */
  steps: number;
  /** Ours: the whole service, or the API over blocks in memory. */
  service: boolean;
}

type Closing = (() => Promise<unknown> | unknown)[];

export async function openStage(reference: ForeignProgram, { steps, service }: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'compare-v2-'));
  const closing: Closing = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const one of closing.reverse().splice(0)) await one();
  };
  try {
    const shards = { splitAt: SPLIT_AT, mergeAt: MERGE_AT, keyBlockEvery: KEY_BLOCK_EVERY };
    const chain = { ...shards, limits: { keepStates: 1000 } };
    const devnet = await createPeopledDevnet(SEED, 6, { chain, contracts: genesisContracts });
    closing.push(() => devnet.close());
    const made: ProducedStep[] = [];
    for (let i = 0; i < steps; i++) made.push(await devnet.step());
    const server = await openLiteserver(devnet.chain, { host: '127.0.0.1', port: 0, seed: SEED });
    closing.push(() => server.close());
    const config = join(folder, 'global.config.json');
    writeFileSync(config, server.globalConfig);
    const head = devnet.chain.head().mc.seqno;
    const ours = await (service ? serveWhole(config, head, closing) : serveMemory(made, server.globalConfig, closing));
    const theirs = await startReference(reference, folder, config, closing);
    return { head, accounts: accountsOf(made), ours: `${ours}/api/v2`, theirs, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function accountsOf(steps: readonly ProducedStep[]): Stage['accounts'] {
  const found = new Map<string, string>();
  for (const step of steps) {
    for (const { state } of statesAfter(step))
      found.set(rawAddress(state.account), state.codeHash?.toString('hex') ?? '');
  }
  return [...found].map(([address, code]) => ({ address, code }));
}

async function serveWhole(network: string, head: number, closing: Closing): Promise<string> {
  const stack = await startStack({ network, flags: ['--from', 'genesis'] });
  closing.push(() => stack.remove());
  await stack.caughtUp(head);
  await stack.windowed();
  return stack.url;
}

async function serveMemory(steps: readonly ProducedStep[], config: string, closing: Closing): Promise<string> {
  const pool = createLitePool(parseGlobalConfig(JSON.parse(config)), { logger: silent });
  closing.push(() => pool.close());
  const blocks = steps.flatMap(({ mc, shards }) => [...shards, mc].map(({ bytes }) => ({ bytes, mcSeqno: mc.seqno })));
  const masterBlock = async (seqno: number) => steps[seqno - 1]?.mc.bytes ?? null;
  const served = await serveApi(createMemoryChain(blocks).source, { liteservers: pool, masterBlock });
  closing.push(() => served.close());
  return served.url;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function startReference(
  { command, args }: ForeignProgram,
  folder: string,
  config: string,
  closing: Closing,
): Promise<string> {
  const port = await freePort();
  const flags = ['--host', '127.0.0.1', '--port', String(port), '--liteserver-config', config];
  const keystore = ['--tonlib-keystore', join(folder, 'keystore'), '--logs-level', 'ERROR'];
  // In a group of its own: its workers are processes that outlive it.
  const options = { cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'] };
  const child = spawn(command, [...args, ...flags, ...keystore], options);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-20_000);
    });
  }
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const onExit = (): void => {
    const runs = child.exitCode === null && child.signalCode === null;
    if (child.pid !== undefined && runs) process.kill(-child.pid, 'SIGKILL');
  };
  process.once('exit', onExit);
  closing.push(async () => {
    process.off('exit', onExit);
    onExit();
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await until('the reference answers', async () => {
    if (child.exitCode !== null) throw new Error(`it ended early:\n${said}`);
    const response = await fetch(`${url}/getMasterchainInfo`).catch(() => null);
    return response?.ok ? true : null;
  });
  return url;
}
