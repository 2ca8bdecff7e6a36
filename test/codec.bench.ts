/**
 * Decoding speed on busy mainnet blocks, one thread, beside @ton/core in the same run: `npm run bench:codec`.
 * CPU time, median of the rounds. A finished transaction has every field, all hashes of itself, its messages and
 * their bodies; the bag is opened anew each round.
 */
import { readFileSync } from 'node:fs';
import { Cell, loadTransaction, type Slice } from '@ton/core';
import { createBook } from '../src/api/v3/render/book.ts';
import { transactionJson } from '../src/api/v3/render/transaction.ts';
import { accountStatesAfter, blockTransactions } from '../src/chain/accounts.ts';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import type { Transaction } from '../src/chain/model.ts';
import { serialize } from '../src/chain/serialize.ts';
import { blockFile } from './recorded-blocks.ts';

const blocks = [
  '0_c000000000000000_13516764',
  '0_8000000000000000_40484416',
  '0_8000000000000000_30816553',
  '0_8000000000000000_71398501',
];
const ROUNDS = 41;
const CORE_ROUNDS = 5;

function cpuMs(work: () => void, rounds: number, warmup = rounds): number {
  for (let i = 0; i < warmup; i++) work();
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const before = process.cpuUsage();
    work();
    const used = process.cpuUsage(before);
    times.push((used.user + used.system) / 1000);
  }
  return times.sort((a, b) => a - b)[rounds >> 1];
}

/** The cells of all transactions, found by @ton/core's own means: everything of the block it can load. */
function coreTransactions(bytes: Buffer, cells: Set<string>): number {
  const [root] = Cell.fromBoc(bytes);
  let count = 0;
  const pending = [root.refs[3].refs[2]];
  for (let cell = pending.pop(); cell !== undefined; cell = pending.pop()) {
    if (!cell.isExotic && cells.has(cell.hash().toString('latin1'))) {
      const slice: Slice = cell.beginParse();
      loadTransaction(slice);
      count++;
    } else pending.push(...cell.refs);
  }
  return count;
}

const book = createBook(false);

/** One string, as a route would send it. */
function render(transaction: Transaction): string {
  const block = { workchain: 0, shard: '8000000000000000', seqno: 1 };
  const place = { block, mcSeqno: 1, traceId: null, externalHash: null, globalVersion: 13 };
  const record = { transaction, ...place, before: null, after: null };
  return transactionJson(record, book);
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const rate = (count: number, ms: number): string => Math.round((count / ms) * 1000).toLocaleString('en');

function row(columns: (string | number)[]): string {
  return columns.map((column, i) => String(column)[i === 0 ? 'padEnd' : 'padStart'](i === 0 ? 30 : 14)).join('');
}

print(
  row([
    'block',
    'tx',
    'decode tx/s',
    'v3 json tx/s',
    'payload tx/s',
    'root hash ms',
    'states ms',
    '@ton/core',
    'ratio',
  ]),
);
for (const name of blocks) {
  const bytes = readFileSync(blockFile(name));
  const decode = (): Transaction[] => [...blockTransactions(decodeBlock(openBoc(bytes)))];
  const transactions = decode();
  const hashes = new Set(transactions.map((transaction) => transaction.hash.toString('latin1')));
  const count = transactions.length;
  const ms = cpuMs(decode, ROUNDS);
  const jsonMs = cpuMs(() => void decode().map(render).join(','), ROUNDS);
  const payloadMs = cpuMs(() => {
    const block = decodeBlock(openBoc(bytes));
    for (const transaction of blockTransactions(block)) serialize(block.boc, transaction.cell);
  }, ROUNDS);
  const rootMs = cpuMs(() => void decodeBlock(openBoc(bytes)).header.rootHash, ROUNDS);
  const statesMs = cpuMs(() => void accountStatesAfter(decodeBlock(openBoc(bytes))), ROUNDS);
  if (coreTransactions(bytes, hashes) !== count) throw new Error(`@ton/core found other transactions in ${name}`);
  const coreMs = cpuMs(() => void coreTransactions(bytes, hashes), CORE_ROUNDS, 1);
  print(
    row([
      name,
      count,
      rate(count, ms),
      rate(count, jsonMs),
      rate(count, payloadMs),
      rootMs.toFixed(1),
      statesMs.toFixed(1),
      rate(count, coreMs),
      `${(coreMs / ms).toFixed(0)}x`,
    ]),
  );
}
