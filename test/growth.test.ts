/** What a new kind of row costs, and that it is kept as the chain's own are. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { limits, orderBy, where } from '../clickhouse/queries/conditions.ts';
import { RowReader } from '../clickhouse/rowbinary.ts';
import { blocks } from '../clickhouse/tables/blocks.ts';
import type { Row } from '../clickhouse/tables/table.ts';
import { silent, startTestServer, type TestServer } from '../clickhouse/test-server.ts';
import type { Page, Sort } from '../src/chain/records.ts';
import { rebuild } from '../src/commands/rebuild.ts';
import { compareTables, type Difference } from '../src/commands/verify-tables.ts';
import { readConfig } from '../src/config.ts';
import { openEngine } from '../src/window/engine.ts';
import { encodeRow, restOf, tablesOf } from '../src/window/kind.ts';
import { listPage, WHOLE } from '../src/window/listing.ts';
import { Change, endsOf, inAnyOrder, STEPS } from '../src/window/store.ts';
import { SnapshotView, type View } from '../src/window/view.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { importFiles } from '../streams/ingest/import.ts';
import type { EventLog } from '../streams/log.ts';
import type { ProjectorOptions } from '../streams/project/options.ts';
import { createPositionStore } from '../streams/project/position.ts';
import { project } from '../streams/project/projector.ts';
import { cloneTables } from './cloned-tables.ts';
import { COMMENTS_SQL, commentKind, comments, commentsProjection } from './comments.ts';
import { blockFile } from './recorded-blocks.ts';
import { shelf } from './shelf.ts';
import { tableHashes } from './table-hashes.ts';
import { stepsOf, topics } from './windowed.ts';

/** Recorded blocks with comments, each a step of its own. */
const BLOCKS = ['34703989', '40484416', '56703836', '56703838', '56703839', '71398501', '54302208', '13516764'];
const config = { ...readConfig([], {}).config, batchSteps: 2 };
const { signal } = new AbortController();
const found = z.object({ to: z.string(), comment: z.string() });

class Killed extends Error {}

let server: TestServer;
let home: string;
let migrations: string;
let tables: ClickHouse;
let log: EventLog;
const opened: ClickHouse[] = [];

beforeAll(async () => {
  if (shelf === null) return;
  server = await startTestServer();
  home = mkdtempSync(join(tmpdir(), 'tonstream-growth-'));
  migrations = join(home, 'migrations');
  cpSync(new URL('../clickhouse/migrations', import.meta.url), migrations, { recursive: true });
  writeFileSync(join(migrations, '999_comments.sql'), COMMENTS_SQL.map((sql) => `${sql};\n`).join(''));
  log = openEmbeddedLog({ folder: join(home, 'log') });
  const files = BLOCKS.map((seqno) => blockFile(`_${seqno}`));
  await importFiles(log, topics, files, { loose: true });
  await migrate({ clickhouse: connect(EMPTY), logger: silent, folder: migrations });
});
afterAll(async () => {
  for (const clickhouse of opened) await clickhouse.close();
  await log?.close();
  await server?.remove();
  if (home) rmSync(home, { recursive: true, force: true });
});

function connect(database: string): ClickHouse {
  const clickhouse = createClickHouse({ url: server.server.url, database, logger: silent });
  opened.push(clickhouse);
  return clickhouse;
}

/** Migrated once: a copy of empty tables takes half the time. */
const EMPTY = 'growth_empty';

async function migrated(database: string): Promise<ClickHouse> {
  const clickhouse = connect(database);
  await cloneTables(clickhouse, EMPTY);
  return clickhouse;
}

function run(clickhouse: ClickHouse, others: Partial<ProjectorOptions> = {}): Promise<void> {
  const options = { log, topics, clickhouse, config, logger: silent, stopAtEnd: true };
  return project({ ...options, projections: [commentsProjection], ...others }, signal);
}

async function compare(clickhouse: ClickHouse): Promise<Difference[]> {
  const { done } = await createPositionStore(clickhouse).read(signal);
  return compareTables(clickhouse, done?.mcSeqno ?? 0, signal, { tables: [comments] });
}

interface Asked {
  destination: Buffer;
  sort: Sort;
  page: Page;
}

const PAGES: readonly Page[] = [
  { limit: 2, offset: 0 },
  { limit: 100, offset: 1 },
];
const ORDER = ['createdLt', 'hash'] as const;
type Comment = Pick<Row<typeof comments>, (typeof ORDER)[number] | 'comment'>;

function selectionOf({ destination, sort }: Asked) {
  const where = [{ column: 'destination', is: destination }] as const;
  return { where, order: ORDER.map((column) => ({ column, sort })), after: null };
}

async function tableComments(asked: Asked, below?: number): Promise<Comment[]> {
  const { where: conditions, order } = selectionOf(asked);
  const bound = below === undefined ? '' : `AND mc_seqno < ${below}`;
  const sql = `SELECT created_lt, hash, comment FROM comments FINAL WHERE ${where(comments, conditions)} ${bound}
    ORDER BY ${orderBy(order)} ${limits(asked.page)}`;
  const rows = new RowReader(await tables.query(sql, { label: 'comments' }));
  const all: Comment[] = [];
  while (!rows.done) all.push({ createdLt: rows.u64(), hash: Buffer.from(rows.fixed(32)), comment: rows.string() });
  return all;
}

/** Null where the tables are better asked as a whole. */
async function commentsTo(asked: Asked, view: View): Promise<Comment[] | null> {
  const rows = await listPage<Comment>(view, {
    kind: commentKind,
    selection: selectionOf(asked),
    clocks: { createdLt: 'lt' },
    page: asked.page,
    load: (row) => ({
      createdLt: row.value(commentKind, 'createdLt'),
      hash: Buffer.from(row.value(commentKind, 'hash')),
      comment: restOf(commentKind, row.row).toString(),
    }),
    valuesOf: ({ createdLt, hash }) => [createdLt, hash],
    fetch: (page) => tableComments({ ...asked, page }, view.first),
  });
  return rows === WHOLE ? null : rows;
}

describe.skipIf(shelf === null)('a kind of row of its own', () => {
  let good: Record<string, string>;
  let clickhouse: ClickHouse;
  beforeAll(async () => {
    clickhouse = await migrated('growth');
    tables = clickhouse;
    await run(clickhouse, { publish: { retainBytes: 1024 ** 3, retainMs: 0 } });
    good = await tableHashes(clickhouse);
  });

  it('is projected, and found by its columns', async () => {
    const all = await clickhouse.json('SELECT lower(hex(destination)) AS to, comment FROM comments', found);
    expect(all.length).toBeGreaterThan(0);
    const [{ to }] = all;
    const conditions = where(comments, [
      { column: 'destination', is: Buffer.from(to, 'hex') },
      { column: 'mcSeqno', from: 1 },
    ]);
    const order = orderBy<{ createdLt: string }>([{ column: 'createdLt', sort: 'desc' }]);
    const rows = await clickhouse.json(
      `SELECT lower(hex(destination)) AS to, comment FROM comments WHERE ${conditions} ORDER BY ${order} ${limits({ limit: 3, offset: 0 })}`,
      found,
    );
    expect(rows[0].to).toBe(to);
    expect(rows.length).toBe(Math.min(3, all.filter((row) => row.to === to).length));
  });

  it('is in the published steps', async () => {
    const steps = await stepsOf(log);
    const published = steps.flatMap(({ step }) => step.rows.of(comments).map(({ comment }) => comment));
    const rows = await clickhouse.json('SELECT hex(destination) AS to, comment FROM comments FINAL', found);
    expect(published.sort()).toEqual(rows.map(({ comment }) => comment).sort());
  });

  it('is served by tables and window together, with the border between any two steps, and taken out again', async () => {
    const steps = await stepsOf(log);
    const busiest = await clickhouse.json(
      'SELECT lower(hex(destination)) AS to FROM comments GROUP BY to ORDER BY count() DESC, to LIMIT 4',
      found.pick({ to: true }),
    );
    const asked = busiest.flatMap(({ to }) =>
      PAGES.flatMap((page) =>
        (['asc', 'desc'] as const).map((sort) => ({ destination: Buffer.from(to, 'hex'), sort, page })),
      ),
    );
    const answers = await Promise.all(asked.map((one) => tableComments(one)));
    const engine = openEngine(join(home, 'window'), [{ name: STEPS }, ...tablesOf([commentKind])]);
    let told = 0;
    for (let border = steps.length; border >= 0; border--) {
      const [own] = steps.slice(border);
      const below = endsOf(steps.slice(0, border).flatMap(({ step }) => step.rows.of(blocks)));
      const before = engine.snapshot();
      if (own) {
        await engine.commit(engine.note(), (batch) => {
          const { mcSeqno, rows } = own.step;
          new Change(before, inAnyOrder(batch), null, [commentKind]).writeRows(mcSeqno, endsOf([]), (write) => {
            for (const row of rows.of(comments))
              write(commentKind, encodeRow(commentKind, row, [Buffer.from(row.comment)]));
          });
          return Buffer.from('written');
        });
      }
      before.done();
      const first = own?.step.mcSeqno ?? Number.MAX_SAFE_INTEGER;
      const span = {
        first,
        head: Number.MAX_SAFE_INTEGER,
        below: { lt: below.maxLt, utime: below.maxUtime },
        globalId: 0,
      };
      const view = new SnapshotView(engine.snapshot(), span, false);
      for (const [i, one] of asked.entries()) {
        const merged = await commentsTo(one, view);
        if (merged === null) continue;
        expect(merged).toEqual(answers[i]);
        told += merged.length;
      }
      view.done();
    }
    expect(told).toBeGreaterThan(steps.length * asked.length);
    for (const { step } of steps) {
      const snapshot = engine.snapshot();
      await engine.commit(engine.note(), (batch) => {
        new Change(snapshot, batch, null, [commentKind]).evict(step.mcSeqno);
        return Buffer.from('evicted');
      });
      snapshot.done();
    }
    const empty = engine.snapshot();
    const everything = { low: Buffer.alloc(1), high: null };
    for (const { name } of tablesOf([commentKind])) expect([...empty.range(name, everything)]).toEqual([]);
    empty.done();
    await engine.close();
  });

  it('is verified', async () => {
    expect(await compare(clickhouse)).toEqual([]);
    await clickhouse.command('TRUNCATE TABLE comments_by_hash');
    expect((await compare(clickhouse)).map(({ table }) => table)).toEqual(['comments_by_hash']);
  });

  it('is the same when it is made anew, and after deaths at any of its inserts', async () => {
    const again = await migrated('growth_again');
    let inserts = 0;
    const dying = (nth: number): ClickHouse => ({
      ...again,
      async insert(name, ...rest) {
        await again.insert(name, ...rest);
        if (name === comments.name && ++inserts === nth) throw new Killed();
      },
    });
    for (const nth of [1, 2]) {
      inserts = 0;
      await run(dying(nth)).catch((error) => expect(error).toBeInstanceOf(Killed));
    }
    await run(again);
    expect(await tableHashes(again)).toEqual(good);
  });

  it('is made alone for tables that were projected without it, and not continued before', async () => {
    const without = await migrated('growth_without');
    await run(without, { projections: [] });
    await expect(run(without)).rejects.toThrow('comments has not made its tables: run "tonstream rebuild comments"');
    const options = { log, topics, clickhouse: without, config, logger: silent, migrations };
    await rebuild({ ...options, projections: [commentsProjection], settledMs: 0 }, [commentsProjection], signal);
    expect(await tableHashes(without)).toEqual(good);
    await run(without);
    expect(await compare(without)).toEqual([]);
  });

  it('is brought back when a killed server lost its rows and kept their tokens', async () => {
    const lost = await migrated('growth_lost');
    let written = false;
    const losing: ClickHouse = {
      ...lost,
      async insert(name, columns, chunks, options) {
        if (name === 'projection_state' && written) throw new Killed();
        await lost.insert(name, columns, chunks, options);
        written ||= name === comments.name;
      },
    };
    await expect(run(losing)).rejects.toThrow(Killed);
    for (const { name } of [comments, ...comments.indexes])
      await lost.command(`ALTER TABLE ${name} DELETE WHERE 1 SETTINGS mutations_sync = 2`);
    await run(lost);
    expect(await tableHashes(lost)).toEqual(good);
  });
});
