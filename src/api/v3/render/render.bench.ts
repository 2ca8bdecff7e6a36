/**
 * Pages of transactions of the four busiest recorded mainnet blocks, each stored as a bag of its own as sources have
 * it, to the bytes of an answer with its address book: CPU time of a page, decoded and rendered anew and with the
 * renderings kept, and of packing it for the way; and of a page of a window that holds them. Then the blocks decoded as
 * a whole: transactions a second on one core. Run by `npm run bench:render`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage, type RequestOptions } from 'node:http';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { requireShelf } from '../../../../test/shelf.ts';
import { type StoredPage, storedRecords } from '../../../../test/stored-records.ts';
import { openWindowPages } from '../../../../test/window-pages.ts';
import { blockTransactions } from '../../../chain/accounts.ts';
import { decodeBlock } from '../../../chain/block.ts';
import { openBoc } from '../../../chain/boc.ts';
import type { TransactionRecord } from '../../../chain/records.ts';
import { BROTLI, GZIP } from '../../compression.ts';
import { transactionsJson } from '../transactions.ts';
import { createBook } from './book.ts';
import { createBookRows, KEPT_BOOK_ROWS, UNKEPT_BOOK_ROWS } from './book-rows.ts';
import { createRenderings, type Renderings } from './renderings.ts';
import { transactionJson } from './transaction.ts';

const BLOCKS = [
  'mainnet_0_c000000000000000_13516764',
  'mainnet_0_8000000000000000_40484416',
  'mainnet_0_8000000000000000_30816553',
  'mainnet_0_8000000000000000_71398501',
];
const SECONDS_EACH = 2;
const PAGES = [1, 100, 1000];
const ROOM = 64 * 1024 * 1024;
/** Of the 1,526 transactions: every page has some of each block. */
const STRIDE = 7;

const stored = BLOCKS.map((name) => storedRecords(readFileSync(`${requireShelf()}/data/blocks/${name}.boc`)));
const everything: StoredPage = stored.flat();
/** In an order that mixes the blocks, so that each page is like the others. */
const mixed = everything.map((_, i) => everything[(i * STRIDE) % everything.length]);

const line = (text: string): void => void process.stdout.write(`${text}\n`);

/** What a route does between the rows and the bytes, every account with no code known. */
async function answer(rows: TransactionRecord[], renderings: Renderings): Promise<Buffer> {
  const book = createBook(false);
  const addressBook = async (): Promise<string> =>
    book.json(book.addresses().map((account) => ({ account, codeHash: null, methods: null })));
  return transactionsJson(rows, { book, renderings, addressBook });
}

interface Cost {
  cpuMs: number;
  bytes: number;
}

/** CPU time of this process for one call: the machine may be busy with other things. */
async function cost(call: (i: number) => Buffer | Promise<Buffer>): Promise<Cost> {
  const work = async (ms: number): Promise<Cost & { calls: number }> => {
    const before = process.cpuUsage();
    let bytes = 0;
    let calls = 0;
    for (let spent = 0; spent < ms; calls++) {
      bytes += (await call(calls)).length;
      const { user, system } = process.cpuUsage(before);
      spent = (user + system) / 1000;
    }
    const { user, system } = process.cpuUsage(before);
    return { cpuMs: (user + system) / 1000 / calls, bytes: bytes / calls, calls };
  };
  await work(1000);
  return work(SECONDS_EACH * 1000);
}

async function measurePages(): Promise<void> {
  const renderings = createRenderings({ maxBytes: ROOM });
  const nothingKept = createRenderings({ maxBytes: 0 });
  for (const size of PAGES) {
    const page = (i: number): TransactionRecord[] => {
      const start = (i * size) % (mixed.length - size);
      return mixed.slice(start, start + size).map((make) => make());
    };
    const anew = await cost((i) => answer(page(i), nothingKept));
    const kept = await cost((i) => answer(page(i), renderings));
    const kilobytes = Math.round(kept.bytes / 1024);
    line(
      `page of ${size}: ${kilobytes} KB; decoded and rendered anew ${anew.cpuMs.toFixed(3)} ms CPU, kept ${kept.cpuMs.toFixed(3)} ms`,
    );
    if (kept.bytes < 64 * 1024) continue;
    const body = await answer(page(1), renderings);
    const gzip = await cost(() => gzipSync(body, GZIP));
    const brotli = await cost(() => brotliCompressSync(body, BROTLI));
    const shown = ({ cpuMs, bytes }: Cost): string => `${cpuMs.toFixed(2)} ms CPU to ${Math.round(bytes / 1024)} KB`;
    line(`  packed: gzip ${shown(gzip)}, brotli ${shown(brotli)}`);
  }
}

/** From the question to the bytes, the rows of the address book made for each page, and kept. */
async function measureWindow(): Promise<void> {
  const window = await openWindowPages(BLOCKS.map((name) => `${requireShelf()}/data/blocks/${name}.boc`));
  line(`window: ${window.transactions} transactions, ${Math.round(window.bytes / window.transactions)} bytes each`);
  for (const size of PAGES) {
    const cold = await cost((i) => window.page(i, size, UNKEPT_BOOK_ROWS));
    const rows = createBookRows(KEPT_BOOK_ROWS);
    const warm = await cost((i) => window.page(i, size, rows));
    const shown = [cold, warm].map(({ cpuMs }) => `${cpuMs.toFixed(3)} ms CPU`);
    line(`page of ${size} from the window: ${shown[0]} cold, ${shown[1]} with the rows of the book kept`);
  }
  await window.close();
}

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
      externalHash: transaction.hash,
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
  line(
    `${name}: ${rate(sum.decodeMs + sum.renderMs)} tx/s to JSON text ` +
      `(decode ${rate(sum.decodeMs)}, render ${rate(sum.renderMs)}; ${size} characters each)`,
  );
}

const Url = z.string();
const Cpu = z.object({ user: z.number(), system: z.number() });
const SMALL_REQUESTS = 15_000;
const SMALL = '/api/v3/masterchainInfo';

/** Eight connections ask a server of its own process; only the CPU time of the server counts. */
async function measureSmall(): Promise<void> {
  const module = fileURLToPath(new URL('../../../../test/api-child.ts', import.meta.url));
  const child = fork(module, { execArgv: ['--import', import.meta.resolve('tsx')] });
  const [told] = await once(child, 'message');
  const origin = Url.parse(told);
  // A request target with the origin in it is what proxies send; express takes it.
  const ways = { 'by the quick way': SMALL, 'through express': `${origin}${SMALL}` };
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const cpuUs = async (): Promise<number> => {
    child.send('cpu');
    const { user, system } = Cpu.parse((await once(child, 'message'))[0]);
    return user + system;
  };
  for (const [way, path] of Object.entries(ways)) {
    await askMany(origin, { path, agent }, SMALL_REQUESTS / 2);
    const before = await cpuUs();
    await askMany(origin, { path, agent }, SMALL_REQUESTS);
    line(`small answer, ${way}: ${(((await cpuUs()) - before) / SMALL_REQUESTS).toFixed(0)} us CPU`);
  }
  agent.destroy();
  child.kill();
}

async function askMany(origin: string, options: RequestOptions, count: number): Promise<void> {
  const one = async (): Promise<void> => {
    const [response]: IncomingMessage[] = await once(get(origin, options), 'response');
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
    response.resume();
    await once(response, 'end');
  };
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

await measurePages();
await measureWindow();
print('all four', BLOCKS.map(measure).reduce(add));
await measureSmall();
