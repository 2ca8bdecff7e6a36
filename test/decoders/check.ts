/**
 * Reads the blocks of a devnet (with a split, a merge, full blocks, a key block) with decoders of others: tonutils-go
 * through `go run`, pytoniq-core through `python3` (TONSTREAM_PYTHON names another). A tool that is not there is skipped
 * with a line. Run by `npx tsx test/decoders/check.ts`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blockTransactions } from '../../src/chain/accounts.ts';
import { decodeBlock } from '../../src/chain/block.ts';
import { openBoc } from '../../src/chain/boc.ts';
import { createChain } from '../../src/devnet/chain.ts';
import type { ProducedBlock } from '../../src/devnet/model.ts';
import { createTestWallet } from '../devnet-wallets.ts';

const START = 1_700_000_000;
const here = fileURLToPath(new URL('.', import.meta.url));

async function makeBlocks(): Promise<ProducedBlock[]> {
  const wallets = Array.from({ length: 12 }, (_, i) => createTestWallet(i, i < 2 ? -1 : 0));
  const chain = await createChain({
    folder: null,
    seed: 'decoders',
    genesis: wallets.map((wallet) => wallet.genesis(1_000_000_000_000n)),
    blockTimeMs: 1000,
    startUtime: START,
    splitAt: 8,
    mergeAt: 14,
    limits: { maxTransactions: 10 },
  });
  const blocks: ProducedBlock[] = [];
  for (let step = 0; step < 20; step++) {
    for (let i = 0; step > 0 && step < 16 && i < 4; i++) {
      const payments = [1, 2, 3].map((k) => ({
        to: createTestWallet(i === 0 && k === 3 ? 100 + step : (step * 5 + i * k) % 12).address,
        value: 100_000_000n,
        bounce: k === 3,
        comment: 'from one to another',
      }));
      chain.submit(wallets[(step + 3 * i) % 12].pay(...payments));
    }
    const { shards, mc } = chain.produce(START + step);
    blocks.push(...shards, mc);
  }
  chain.close();
  return blocks;
}

function describe({ bytes }: ProducedBlock): string {
  const block = decodeBlock(openBoc(bytes));
  const hashes = [...blockTransactions(block)].map(({ hash }) => hash.toString('hex')).sort();
  const { workchain, shard, seqno, rootHash } = block.header;
  return `${workchain}:${shard}:${seqno} ${rootHash.toString('hex')} ${hashes.join(',')}`;
}

interface Tool {
  name: string;
  present: readonly [string, ...string[]];
  run: readonly [string, ...string[]];
}

const python = process.env.TONSTREAM_PYTHON ?? 'python3';
const tools: readonly Tool[] = [
  { name: 'tonutils-go', present: ['go', 'mod', 'download'], run: ['go', 'run', '.'] },
  { name: 'pytoniq-core', present: [python, '-c', 'import pytoniq_core.tlb.block'], run: [python, 'check.py'] },
];

function call([command, ...args]: readonly [string, ...string[]], more: readonly string[] = []) {
  return spawnSync(command, [...args, ...more], { cwd: here, encoding: 'utf8', timeout: 300_000 });
}

const blocks = await makeBlocks();
const expected = blocks.map(describe).sort();
const folder = mkdtempSync(join(tmpdir(), 'devnet-blocks-'));
try {
  blocks.forEach(({ bytes }, i) => void writeFileSync(join(folder, `${String(i).padStart(4, '0')}.boc`), bytes));
  for (const { name, present, run } of tools) {
    if (call(present).status !== 0) {
      process.stdout.write(`skipped: ${name} is not there\n`);
      continue;
    }
    const { status, stdout, stderr } = call(run, [folder]);
    const found = stdout
      .trim()
      .split('\n')
      .map((line) => line.trim())
      .sort();
    const same =
      status === 0 && found.length === expected.length && found.every((line, i) => line === expected[i].trim());
    process.stdout.write(
      `${name}: ${same ? `reads all ${blocks.length} blocks alike` : `differs\n${stderr}${firstDifference(found)}`}\n`,
    );
    if (!same) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

function firstDifference(found: readonly string[]): string {
  const at = expected.findIndex((line, i) => line.trim() !== found[i]);
  return at < 0 ? '' : `expected ${expected[at]}\nfound    ${found[at]}`;
}
