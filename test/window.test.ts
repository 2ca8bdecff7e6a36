/** Answers with a window against answers from the tables alone, for random requests and boundaries anywhere. */
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actions } from '../clickhouse/tables/actions.ts';
import { traces } from '../clickhouse/tables/traces.ts';
import { readChainView } from '../src/web/chain-view.ts';
import { KINDS } from '../src/window/kinds.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from './api-server.ts';
import { rounds } from './chance.ts';
import { privateBlocks, requireShelf, shelf } from './shelf.ts';
import { pages } from './window-answers.ts';
import { requests } from './window-requests.ts';
import { context, type Projected, projectFiles, type Windowed, windowFrom } from './windowed.ts';

const RUNS = rounds(25, 300);
/** Where the window begins, as a share of the steps. */
const BOUNDARIES = [0, 0.3, 0.6, 0.9, 0.995];
/** Share of the estimated bytes of all steps that a window has room for which takes out the rest. */
const ROOM = 0.75;

/** Answered otherwise once; asked of every window. */
const ONCE_WRONG: [string][] = [['/messages?limit=1000&offset=1&sort=desc&only_externals=true']];

const FILES: Record<string, () => string> = {
  private: privateBlocks,
  mainnet: () => join(requireShelf(), 'data/answers/mainnet/blocks.ndjson.gz'),
};

/** All keys of all ways, and what they lead to. */
function entries({ window }: Windowed): string[][] {
  const view = window.view();
  if (view === null) throw new Error('the window is empty');
  try {
    const range = { low: Buffer.alloc(1), high: null };
    return KINDS.flatMap(({ layouts }) =>
      layouts.map((layout) =>
        Array.from(view.range(layout, range), ({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`),
      ),
    );
  } finally {
    view.done();
  }
}

describe.skipIf(shelf === null).each(Object.keys(FILES))('a window over %s blocks', (name) => {
  let projected: Projected;
  let tables: ApiServer;

  beforeAll(async () => {
    projected = await projectFiles([FILES[name]()]);
    tables = await serveApi(projected.tables, { limits: PATIENT_LIMITS });
  });

  afterAll(async () => {
    await tables?.close();
    await projected?.remove();
  });

  it('is made of all steps, each after the one before it', () => {
    const { steps } = projected;
    expect(steps.length).toBeGreaterThan(20);
    expect(steps.flatMap(({ step }) => step.rows.of(traces)).length).toBeGreaterThan(20);
    expect(steps.flatMap(({ step }) => step.rows.of(actions)).length).toBeGreaterThan(20);
    expect(steps.map(({ step }) => step.previous)).toEqual([0, ...steps.slice(0, -1).map(({ step }) => step.mcSeqno)]);
  });

  async function compare(windowed: Windowed): Promise<void> {
    const server = await serveApi(windowed.source, { limits: PATIENT_LIMITS });
    try {
      const same = fc.asyncProperty(requests(projected.steps), async (path) => {
        expect(await pages(server.url, path)).toEqual(await pages(tables.url, path));
      });
      await fc.assert(same, { numRuns: RUNS, endOnFailure: true, examples: ONCE_WRONG });
      expect([...server.reported, ...tables.reported]).toEqual([]);
    } finally {
      await server.close();
      await windowed.remove();
    }
  }

  /** What the page at `/` is told; it asks the same source. */
  async function comparePage({ source }: Windowed): Promise<void> {
    const { step } = projected.steps[projected.steps.length - 1];
    const asked = { head: step.mcSeqno, network: step.globalId, testOnly: false, context: context() };
    const told = await readChainView({ ...asked, source });
    expect(told.transactions.length).toBeGreaterThan(0);
    expect(told).toEqual(await readChainView({ ...asked, source: projected.tables }));
  }

  it.each(BOUNDARIES)('from %f of the steps on answers as the tables do', async (share) => {
    const first = Math.floor(projected.steps.length * share);
    const windowed = await windowFrom(projected, first);
    expect(windowed.window.state?.first).toBe(projected.steps[first].step.mcSeqno);
    await comparePage(windowed);
    await compare(windowed);
    // With everything in the window no page is looked for below it; with less there is something to merge.
    const pagesBelow = windowed
      .asked()
      .filter((asked) => /^below\.(transactions|messages|blocks|traces|actions)$/.test(asked));
    if (share === 0) expect(pagesBelow).toEqual([]);
    else expect(pagesBelow).not.toEqual([]);
  });

  it('answers as the tables do when it has taken steps out', async () => {
    const all = await windowFrom(projected, 0);
    const bytes = all.window.state?.bytes ?? 0;
    await all.remove();
    const windowed = await windowFrom(projected, 0, bytes * ROOM);
    expect(windowed.window.state?.first).toBeGreaterThan(projected.steps[10].step.mcSeqno);
    expect(windowed.window.state?.bytes).toBeLessThan(bytes);
    // Nothing is left of what is gone, of kinds with several keys a row either.
    const { first } = windowed.window.state ?? {};
    const fresh = await windowFrom(
      projected,
      projected.steps.findIndex(({ step }) => step.mcSeqno === first),
    );
    expect(entries(windowed)).toEqual(entries(fresh));
    await fresh.remove();
    await compare(windowed);
  });
});
