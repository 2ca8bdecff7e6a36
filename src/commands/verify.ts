import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { tablesId } from '../../clickhouse/tables-id.ts';
import { createPositionStore } from '../../streams/project/position.ts';
import { checkSameChain } from '../../streams/project/projector.ts';
import { lastSealed } from '../../streams/step-search.ts';
import { readSteps, type Step } from '../../streams/steps.ts';
import { topicNames } from '../../streams/topics.ts';
import { transactionForm } from '../api/v3/render/forms.ts';
import { readArchive } from '../archive/archive.ts';
import { compareArchive } from '../archive/compare.ts';
import type { Config } from '../config.ts';
import { createProgress, type Progress, type TellProgress } from '../progress.ts';
import { readGaps } from '../status.ts';
import { openParts, type Parts } from './parts.ts';
import type { Running } from './running.ts';
import { compareStatistics } from './verify-statistics.ts';
import { compareSteps } from './verify-steps.ts';
import { compareTables, NEWEST_ONLY } from './verify-tables.ts';

const STEPS_PER_CHECK = 2_000;
/** Decoding and counting at a time; a step can be megabytes. */
const BYTES_PER_CHECK = 64 * 1024 * 1024;

/**
 * `tonstream verify`: compares the tables with the log, step for step, and the tables with each other. The exit status
 * is 0 when nothing differs; gaps are known, and only told.
 * @throws {PositionError} for tables of another log; {ConfigError} where there are no tables
 */
export async function runVerify(running: Running): Promise<number> {
  const { config, shutdown, print } = running;
  const { clickhouse, log } = await openParts(running, {
    areThere: true,
    beside: 'compare beside it, with the --clickhouse-url that it has printed',
  });
  const { signal } = shutdown;
  const store = createPositionStore(clickhouse);
  const { done, intent } = await store.read(signal);
  const problems: string[] = [];
  const notes: string[] = [];
  let steps = 0;
  const { blocks } = topicNames(config.topicPrefix);
  const progress = createProgress({ out: process.stderr });
  const tell: TellProgress = (label, unit, value, total) =>
    progress.update({ label, done: value, total, counts: [{ unit, value }] });
  try {
    if (done) {
      await checkSameChain(log, blocks, done);
      const compared = await compareLog(clickhouse, log, { topic: blocks, end: done.nextOffset }, progress, signal);
      steps = compared.steps;
      problems.push(...compared.problems);
      const differences = await compareTables(clickhouse, done.mcSeqno, signal, { tell });
      const now = differences.length > 0 ? (await store.read(signal)).done : done;
      const isMoving = now?.number !== done.number;
      for (const { table, text } of differences) {
        if (isMoving && NEWEST_ONLY.has(table)) notes.push(`not compared: ${table}, while a projector writes it`);
        else problems.push(text);
      }
      problems.push(...(await compareStatistics(clickhouse, done.mcSeqno, signal, tell)));
    } else {
      const { sealed } = await lastSealed(log, blocks);
      if (sealed) problems.push(`the tables hold no step of the log, which goes up to ${sealed.mcSeqno}`);
    }
    const archived = await verifyArchive(config, clickhouse, signal, tell);
    notes.push(...archived.notes);
    problems.push(...archived.problems);
  } finally {
    progress.end();
  }
  for (const note of notes) print(note);
  const gaps = await readGaps(clickhouse);
  for (const gap of gaps) print(`gap: step ${gap.mc_seqno}: ${gap.error}`);
  if (intent?.batch)
    print(`a batch up to step ${intent.batch.mcSeqno} was begun and not finished: the projector will repeat it`);
  for (const problem of problems) print(`differs: ${problem}`);
  print(
    `${steps} steps compared up to masterchain block ${done?.mcSeqno ?? '(none)'}: ${problems.length} differences, ${gaps.length} gaps`,
  );
  return problems.length === 0 ? 0 : 1;
}

const OF_OTHERS =
  'archive: not compared, it was filled from other tables, as those before a rebuild: a service begins it anew';

/** The archive of this host, where there is one, against the tables. */
async function verifyArchive(
  { archiveBytes, archiveForms, dataDir }: Pick<Config, 'archiveBytes' | 'archiveForms' | 'dataDir'>,
  clickhouse: ClickHouse,
  signal: AbortSignal,
  tell: TellProgress,
): Promise<{ notes: string[]; problems: string[] }> {
  const folder = join(dataDir, 'archive');
  if (archiveBytes === 0 || !existsSync(folder)) return { notes: [], problems: [] };
  const form = archiveForms ? transactionForm : null;
  const archive = readArchive(folder, form);
  const view = archive.view();
  try {
    if (view === null) return { notes: [], problems: [] };
    // Nobody is answered from it.
    if (view.state.tables !== (await tablesId(clickhouse, signal))) return { notes: [OF_OTHERS], problems: [] };
    const { first, head, steps, transactions, problems } = await compareArchive(view, clickhouse, signal, {
      form,
      tell,
    });
    const note = `archive: ${transactions} transactions of the steps ${first} to ${head}, ${steps} steps compared by row`;
    return { notes: [note], problems };
  } finally {
    view?.done();
    await archive.close();
  }
}

/** What the log says, up to an offset, against what the tables say. */
async function compareLog(
  clickhouse: ClickHouse,
  log: Parts['log'],
  { topic, end }: { topic: string; end: number },
  progress: Progress,
  signal: AbortSignal,
): Promise<{ steps: number; problems: string[] }> {
  const problems: string[] = [];
  let steps = 0;
  const show = (done: number) =>
    progress.update({ label: 'verifying', done, total: end, counts: [{ unit: 'steps', value: steps }] });
  show(0);
  for await (const group of groups(readSteps(log, topic, 0, { signal, stopAtEnd: true }), end)) {
    problems.push(...(await compareSteps(clickhouse, group, signal)));
    steps += group.length;
    show(group[group.length - 1].nextOffset);
  }
  signal.throwIfAborted();
  return { steps, problems };
}

async function* groups(batches: AsyncIterable<Step[]>, end: number): AsyncGenerator<Step[]> {
  let group: Step[] = [];
  let bytes = 0;
  for await (const batch of batches) {
    for (const step of batch) {
      if (step.nextOffset > end) break;
      group.push(step);
      bytes += step.blocks.reduce((sum, { boc }) => sum + boc.length, 0);
      if (group.length < STEPS_PER_CHECK && bytes < BYTES_PER_CHECK) continue;
      yield group;
      group = [];
      bytes = 0;
    }
    if ((batch.at(-1)?.nextOffset ?? 0) >= end) break;
  }
  if (group.length > 0) yield group;
}
