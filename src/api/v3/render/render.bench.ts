/**
 * Decodes the four busiest recorded mainnet blocks and renders every transaction: transactions a second on one core.
 * Run by `npm run bench:render`.
 */
import { readFileSync } from 'node:fs';
import { requireShelf } from '../../../../test/shelf.ts';
import { blockTransactions } from '../../../chain/accounts.ts';
import { decodeBlock } from '../../../chain/block.ts';
import { openBoc } from '../../../chain/boc.ts';
import { createBook } from './book.ts';
import { transactionJson } from './transaction.ts';

const BLOCKS = [
  'mainnet_0_c000000000000000_13516764',
  'mainnet_0_8000000000000000_40484416',
  'mainnet_0_8000000000000000_30816553',
  'mainnet_0_8000000000000000_71398501',
];
const SECONDS_EACH = 2;

interface Round {
  rounds: number;
  transactions: number;
  bytes: number;
  decodeMs: number;
  renderMs: number;
}

/** One pass over a block whose bytes were never opened before: nothing is decoded or hashed yet. */
function round(bytes: Buffer): Round {
  const begun = performance.now();
  const block = decodeBlock(openBoc(Buffer.from(bytes)));
  const transactions = [...blockTransactions(block)];
  const decoded = performance.now();
  const book = createBook(false);
  const { workchain, shard, seqno, genSoftware } = block.header;
  let length = 0;
  for (const transaction of transactions) {
    const place = {
      block: { workchain, shard, seqno },
      mcSeqno: 1,
      traceId: transaction.hash,
      before: null,
      after: null,
    };
    const record = { transaction, globalVersion: genSoftware?.version ?? 0, ...place };
    length += transactionJson(record, book).length;
  }
  return {
    rounds: 1,
    transactions: transactions.length,
    bytes: length,
    decodeMs: decoded - begun,
    renderMs: performance.now() - decoded,
  };
}

/** Gives the average of one pass, so that blocks weigh by their transactions when summed. */
function measure(name: string): Round {
  const bytes = readFileSync(`${requireShelf()}/data/blocks/${name}.boc`);
  for (const end = performance.now() + 1000; performance.now() < end; ) round(bytes);
  const sum: Round = { rounds: 0, transactions: 0, bytes: 0, decodeMs: 0, renderMs: 0 };
  for (const end = performance.now() + SECONDS_EACH * 1000; performance.now() < end; ) {
    add(sum, round(bytes));
  }
  print(name, sum);
  const rounds = sum.rounds;
  return {
    ...sum,
    transactions: sum.transactions / rounds,
    bytes: sum.bytes / rounds,
    decodeMs: sum.decodeMs / rounds,
    renderMs: sum.renderMs / rounds,
  };
}

function add(sum: Round, one: Round): Round {
  for (const key of ['rounds', 'transactions', 'bytes', 'decodeMs', 'renderMs'] as const) sum[key] += one[key];
  return sum;
}

function print(name: string, sum: Round): void {
  const rate = (ms: number) => Math.round((sum.transactions / ms) * 1000).toLocaleString('en');
  const size = Math.round(sum.bytes / sum.transactions);
  process.stdout.write(
    `${name}: ${rate(sum.decodeMs + sum.renderMs)} tx/s to JSON text ` +
      `(decode ${rate(sum.decodeMs)}, render ${rate(sum.renderMs)}; ${size} characters each)\n`,
  );
}

print('all four', BLOCKS.map(measure).reduce(add));
