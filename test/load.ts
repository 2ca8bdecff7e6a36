/**
 * A load for benchmarks: an event log of half a million transactions, made of recorded blocks. The recorded private
 * network runs again and again, with a busy block of another network in every few of its steps, all under new
 * sequence numbers, times and account ids.
 */
import { createReadStream, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import { blockTransactions } from '../src/chain/accounts.ts';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import { createProgress } from '../src/progress.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { logFolder } from '../streams/open.ts';
import { topicNames } from '../streams/topics.ts';
import { blockTemplate, type Template } from './load-block.ts';
import { createPeopledDevnet, logWithCells } from './peopled-devnet.ts';
import { blockFile } from './recorded-blocks.ts';
import { requireShelf } from './shelf.ts';

export interface Load {
  /** Data folder with the log; the benchmarks keep their tables there too. */
  folder: string;
  transactions: number;
  steps: number;
  bytes: number;
}

/** Raised when the load changes, so that an older one is not used again. */
const VERSION = 1;
export const LOAD_GLOBAL_ID = -777;
const SEQUENCE = 'seq_local-ton4j-2024_a.ndjson.gz';
/** Blocks that follow each other stay together: they keep their messages to each other. */
const BUSY = [
  ['0_c000000000000000_13516764'],
  ['0_8000000000000000_40484416'],
  ['0_8000000000000000_30816553'],
  ['0_8000000000000000_71398501'],
  ['0_8000000000000000_56703836', '0_8000000000000000_56703838', '0_8000000000000000_56703839'],
  ['0_8000000000000000_205890'],
  ['0_8000000000000000_212538', '0_8000000000000000_212539'],
];
const STEPS_BETWEEN_BUSY = 20;
const FIRST_LT = 40_000_000_000_000;
const FIRST_TIME = 1_700_000_000;

const line = z.object({ mc_seqno: z.number().nullable(), boc: z.string() });
const summary = z.object({ transactions: z.number(), steps: z.number(), bytes: z.number() });

/** The load, from the temporary folder when an earlier run left it there. Takes about a minute to make. */
export function prepareLoad(minimum: number, print: (line: string) => void): Promise<Load> {
  return prepare(`v${VERSION}-${minimum}`, writeLog, print, minimum);
}

/** The same of a devnet whose people pay in jettons: half of the transactions are of jetton wallets. */
export function prepareJettonLoad(minimum: number, print: (line: string) => void): Promise<Load> {
  return prepare(`jettons-v${VERSION}-${minimum}`, writeJettonLog, print, minimum);
}

/** Makes a log of so many transactions, telling how many there are. */
type Write = (folder: string, minimum: number, told: (transactions: number) => void) => Promise<Omit<Load, 'folder'>>;

async function prepare(name: string, write: Write, print: (line: string) => void, minimum: number): Promise<Load> {
  const folder = join(tmpdir(), `tonstream-bench-${name}`);
  const about = join(folder, 'load.json');
  if (existsSync(about)) return { folder, ...summary.parse(JSON.parse(readFileSync(about, 'utf8'))) };
  print(`making ${minimum.toLocaleString('en')} transactions in ${folder}`);
  const making = mkdtempSync(`${folder}-`);
  const progress = createProgress({ out: process.stdout });
  const told = (done: number): void =>
    progress.update({
      label: 'making',
      done: Math.min(done, minimum),
      total: minimum,
      counts: [{ unit: 'transactions', value: done }],
    });
  try {
    const made = await write(making, minimum, told);
    writeFileSync(join(making, 'load.json'), JSON.stringify(made));
    rmSync(folder, { recursive: true, force: true });
    renameSync(making, folder);
    return { folder, ...made };
  } finally {
    progress.end();
    rmSync(making, { recursive: true, force: true });
  }
}

async function writeLog(...[folder, minimum, told]: Parameters<Write>): ReturnType<Write> {
  const log = openEmbeddedLog({ folder: logFolder({ dataDir: folder }) });
  const topic = topicNames().blocks;
  await log.ensureTopic(topic);
  const round = await readRound();
  const seqnos = new Map<string, number>();
  const first = round[0].templates[0];
  const last = round[round.length - 1].templates.at(-1) ?? first;
  const ltSpan = Math.ceil((last.endLt - first.startLt) / 1_000_000 + 1) * 1_000_000;
  const timeSpan = last.genUtime - first.genUtime + 1;
  const made = { transactions: 0, steps: 0, bytes: 0 };
  for (let n = 0; made.transactions < minimum; n++) {
    for (const step of round) {
      made.steps++;
      const records = step.templates.map((template, i) => {
        const shard = `${template.workchain}:${template.shard}`;
        const seqno = template.workchain === -1 ? made.steps : (seqnos.get(shard) ?? 0) + 1;
        seqnos.set(shard, seqno);
        made.transactions += template.transactions;
        return template.copy({
          seqno,
          mcSeqno: made.steps,
          mask: n,
          ltShift: FIRST_LT + n * ltSpan + step.ltShifts[i],
          timeShift: FIRST_TIME + n * timeSpan + step.timeShifts[i],
          globalId: LOAD_GLOBAL_ID,
          seal: i === step.templates.length - 1 ? step.templates.length : null,
        });
      });
      for (const { value } of records) made.bytes += value.length;
      await log.append(topic, records);
    }
    told(made.transactions);
  }
  await log.close();
  return made;
}

/** Of the devnet of the jetton load. */
const PEOPLE = 200;
const MESSAGES_A_STEP = 60;
const JETTON_DEEDS = { jettonPayment: 20, transfer: 1, mint: 1, burn: 1, giveItem: 1, mintItem: 1, names: 1 } as const;

async function writeJettonLog(...[folder, minimum, told]: Parameters<Write>): ReturnType<Write> {
  const log = openEmbeddedLog({ folder: logFolder({ dataDir: folder }) });
  const topics = topicNames();
  for (const topic of [topics.blocks, topics.cells]) await log.ensureTopic(topic);
  const options = { weights: JETTON_DEEDS, traders: PEOPLE };
  const devnet = await createPeopledDevnet('a load of jettons', MESSAGES_A_STEP, options);
  const made = { transactions: 0, steps: 0, bytes: 0 };
  await logWithCells(devnet, log, topics, ({ shards, mc }) => {
    made.steps++;
    for (const { bytes } of [...shards, mc]) {
      made.bytes += bytes.length;
      made.transactions += [...blockTransactions(decodeBlock(openBoc(bytes)))].length;
    }
    told(made.transactions);
    return made.transactions < minimum;
  });
  devnet.close();
  await log.close();
  return made;
}

/** A step of the round: its shard blocks, its masterchain block last, and what brings each to the round's clock. */
interface RoundStep {
  templates: Template[];
  ltShifts: number[];
  timeShifts: number[];
}

async function readRound(): Promise<RoundStep[]> {
  const steps = new Map<number, Template[]>();
  const path = join(requireShelf(), 'data', 'blocks', SEQUENCE);
  for await (const text of createInterface({ input: createReadStream(path).pipe(createGunzip()) })) {
    const { mc_seqno: mcSeqno, boc } = line.parse(JSON.parse(text));
    if (mcSeqno === null) continue;
    const template = blockTemplate(Buffer.from(boc, 'base64'));
    steps.set(mcSeqno, [...(steps.get(mcSeqno) ?? []), template]);
  }
  const inOrder = [...steps].sort(([a], [b]) => a - b).map(([, templates]) => templates);
  const start = inOrder[0][0];
  const round = inOrder.map((templates) => ({
    templates,
    ltShifts: templates.map(() => -start.startLt),
    timeShifts: templates.map(() => -start.genUtime),
  }));
  BUSY.forEach((names, i) => {
    addBusy(
      round,
      (i + 1) * STEPS_BETWEEN_BUSY,
      names.map((name) => blockTemplate(readFileSync(blockFile(name)))),
    );
  });
  return round;
}

/** Puts consecutive blocks into consecutive steps; all of them keep their distance in time. */
function addBusy(round: RoundStep[], at: number, blocks: Template[]): void {
  const host = round[at].templates[round[at].templates.length - 1];
  const ltShift = host.startLt - blocks[0].startLt + round[0].ltShifts[0];
  const timeShift = host.genUtime - blocks[0].genUtime + round[0].timeShifts[0];
  blocks.forEach((block, i) => {
    const step = round[at + i];
    step.templates.unshift(block);
    step.ltShifts.unshift(ltShift);
    step.timeShifts.unshift(timeShift);
  });
}
