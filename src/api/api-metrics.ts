import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { droppedBodies } from './body.ts';
import type { Compression } from './compression.ts';
import type { KeptRuns } from './kept-runs.ts';
import type { SharedAnswers } from './shared-answers.ts';
import type { Untaken } from './untaken.ts';
import type { BookRows } from './v3/render/book-rows.ts';
import type { EventRows } from './v3/render/event-rows.ts';
import type { Renderings } from './v3/render/renderings.ts';

/** Time from request to end of answer, by path and status. */
export function requestDurations(registry: Registry): Histogram<'path' | 'status'> {
  return new Histogram({
    name: 'tonstream_api_request_seconds',
    help: 'Time from request to end of answer',
    labelNames: ['path', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
}

/** Notes the end of an answer on a path. The series of each status is looked up once. */
export function durationsOf(
  durations: Histogram<'path' | 'status'>,
  path: string,
): (status: number, began: number) => void {
  const series = new Map<number, ReturnType<typeof durations.labels>>();
  return (status, began) => {
    let one = series.get(status);
    if (one === undefined) {
      one = durations.labels({ path, status: String(status) });
      series.set(status, one);
    }
    one.observe((performance.now() - began) / 1000);
  };
}

/** Counts that their owners keep are read when the metrics are: a count a transaction would cost more than finding it. */
export function watchAnswers(
  registry: Registry,
  { shared, compression }: { shared: SharedAnswers; compression: Compression },
): void {
  counter(registry, 'answers_total', 'Answers by origin: made, shared with others who asked, kept from before', () => {
    const { made, shared: joined, kept } = shared.figures;
    return { made, shared: joined, kept };
  });
  counter(
    registry,
    'compressions_total',
    'Large answers packed, and refused because too many were being packed',
    () => {
      const { packed, refused } = compression.figures;
      return { packed, refused };
    },
  );
  kept(registry, { answers: () => shared.figures.bytes });
}

/** Clients whose connections were ended, for they cost too much. */
export function watchClients(registry: Registry, untaken: Untaken): void {
  const help =
    'Clients that were cut off: read too slowly (slow), waited longest while too many answers lay (crowded), had sent most of too many bodies without their ends (bodies)';
  counter(registry, 'cut_off_total', help, () => ({ ...untaken.figures, ...droppedBodies }));
}

/** What the v3 API keeps of what it has shown. */
export function watchRenderings(
  registry: Registry,
  { renderings, eventRows, bookRows }: { renderings: Renderings; eventRows: EventRows; bookRows: BookRows },
): void {
  counter(
    registry,
    'rendered_transactions_total',
    'Transactions shown: rendered anew (made), kept, or from window or archive as they are (formed)',
    () => {
      const { made, kept, formed } = renderings.figures;
      return { made, kept, formed };
    },
  );
  kept(registry, {
    transactions: () => renderings.figures.bytes,
    token_events: () => eventRows.bytes,
    book_rows: () => bookRows.bytes,
  });
}

/** Names of accounts that address books show, in all processes that answer. */
export function watchNames(registry: Registry, names: Readonly<Record<'held' | 'leftOut' | 'failed', number>>): void {
  new Gauge({
    name: 'tonstream_api_names',
    help: 'Names of accounts held in memory (held), not shown because too many are held (left_out); looks for new ones that failed (failed)',
    labelNames: ['what'],
    registers: [registry],
    collect() {
      this.set({ what: 'held' }, names.held);
      this.set({ what: 'left_out' }, names.leftOut);
      this.set({ what: 'failed' }, names.failed);
    },
  });
}

/** What is kept in memory to answer faster, by registry, in bytes. */
const keptBytes = new WeakMap<Registry, Record<string, () => number>>();

/** Adds to the one gauge of it. */
function kept(registry: Registry, read: Record<string, () => number>): void {
  const known = keptBytes.get(registry);
  if (known !== undefined) {
    Object.assign(known, read);
    return;
  }
  const all = { ...read };
  keptBytes.set(registry, all);
  new Gauge({
    name: 'tonstream_api_kept_bytes',
    help: 'Memory of what is kept to answer faster',
    labelNames: ['what'],
    registers: [registry],
    collect() {
      for (const [what, bytes] of Object.entries(all)) this.set({ what }, bytes());
    },
  });
}

/** Memory of something else that is kept to answer faster. */
export function watchKept(registry: Registry, what: string, bytes: () => number): void {
  kept(registry, { [what]: bytes });
}

/** Runs of get-methods: those that were made, and those that were kept. */
export function watchRuns(registry: Registry, runs: KeptRuns): void {
  counter(registry, 'get_methods_total', 'Get-methods answered: run (made), or the same as before (kept)', () => ({
    ...runs.figures,
  }));
  kept(registry, { runs: () => runs.bytes });
}

function counter(registry: Registry, name: string, help: string, read: () => Record<string, number>): void {
  new Counter({
    name: `tonstream_api_${name}`,
    help,
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(read())) this.inc({ outcome }, count);
    },
  });
}
