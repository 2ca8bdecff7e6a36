/**
 * What rises with the steps, found by them, against all rows sorted; steps of which some are far from where they
 * belong.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { u32, u64 } from '../../clickhouse/tables/columns.ts';
import { rounds } from '../../test/chance.ts';
import { openEngine, type Range } from '../window/engine.ts';
import { chunkTable, encodeRow, keysOf, kind, layoutOf, ordered, tablesOf } from '../window/kind.ts';
import { tableDownwards } from '../window/placing.ts';
import { Change, STEPS } from '../window/store.ts';
import { SnapshotView } from '../window/view.ts';
import { risingEntries } from './rising.ts';
import { SPANS, SpanWriter } from './spans.ts';

const MOST = 40;
const point = kind({
  name: 'points',
  columns: { lt: ordered(u64), number: ordered(u32) },
  key: { name: 'number', key: ['number'] },
  ways: [{ name: 'lt', key: ['lt', 'number'], rises: 'lt' }],
});
const BY_LT = layoutOf(point, 'lt');
const TABLES = [
  { name: STEPS },
  { name: SPANS },
  ...tablesOf([point]),
  { ...chunkTable(point), name: tableDownwards(point) },
];

const folder = mkdtempSync(join(tmpdir(), 'tonstream-rising-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Numbers rise otherwise than the steps do. Each step by how far its blocks are from where they belong, how long they
 * are, and its rows in them.
 */
const stepsDrawn = fc.array(
  fc.record({
    off: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: -3, max: 3 }) }, fc.integer({ min: -MOST, max: MOST })),
    long: fc.nat({ max: 4 }),
    rows: fc.array(fc.nat({ max: 4 }), { maxLength: 5 }),
    isEmpty: fc.boolean(),
  }),
  { minLength: 1, maxLength: 25 },
);
const rangeDrawn = fc.record({
  low: fc.nat({ max: 2 * MOST + 40 }),
  high: fc.option(fc.nat({ max: 2 * MOST + 40 })),
  reverse: fc.boolean(),
  end: fc.nat({ max: 30 }),
});

function keyOf(lt: number): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(BigInt(lt));
  return key;
}

let engines = 0;

it('is found in its order whatever the steps are, and however they were written', async () => {
  await fc.assert(
    fc.asyncProperty(
      stepsDrawn,
      fc.array(rangeDrawn, { minLength: 5, maxLength: 10 }),
      fc.nat(),
      async (drawn, asked, at) => {
        const steps = drawn.map(({ off, long, rows, isEmpty }, i) => {
          const least = MOST + 2 * i + off;
          return {
            mcSeqno: 2 * i + 1,
            span: { minLt: BigInt(least), maxLt: BigInt(least + long), minUtime: i, maxUtime: i },
            rows: isEmpty
              ? []
              : rows.map((n, j) => ({
                  lt: String(least + Math.min(n, long)),
                  number: (7_919 * (10 * i + j + 1)) % 1_009,
                })),
          };
        });
        const border = at % (steps.length + 1);
        const engine = openEngine(join(folder, String(engines++)), TABLES, { lasting: true });
        const origin = border === 0 ? 0 : steps[border - 1].mcSeqno;
        const write = async (some: typeof steps, isDownwards: boolean): Promise<void> => {
          const snapshot = engine.snapshot();
          await engine.commit(engine.note(), (batch) => {
            const keeping = { origin, byStep: true, isNarrow: true, leftOut: new Set<never>(), formGroups: null };
            const change = new Change(snapshot, batch, null, [point], keeping);
            const spans = new SpanWriter({ snapshot, batch }, isDownwards);
            for (const { mcSeqno, span, rows } of some) {
              spans.add(mcSeqno, span);
              change.writeRows(mcSeqno, span, (give) => {
                for (const row of rows) give(point, encodeRow(point, row));
              });
            }
            spans.write();
            return Buffer.from('written');
          });
          snapshot.done();
        };
        const [older, newer] = [steps.slice(0, border).reverse(), steps.slice(border)];
        const half = Math.ceil(older.length / 2);
        await write(older.slice(0, half), true);
        await write(newer, false);
        await write(older.slice(half), true);
        const state = { first: 1, head: 2 * steps.length, below: null, globalId: 0 };
        const view = new SnapshotView(engine.snapshot(), state, false, origin);
        for (const { low, high, reverse, end } of asked) {
          const range: Range = { low: keyOf(low), high: high === null ? null : keyOf(high), reverse };
          const expected = steps
            .filter(({ mcSeqno }) => mcSeqno < end)
            .flatMap(({ rows }) => rows.flatMap((row) => keysOf(BY_LT, encodeRow(point, row))))
            .filter((key) => key.compare(range.low) >= 0 && (range.high === null || key.compare(range.high) < 0))
            .sort(Buffer.compare);
          const found = Array.from(risingEntries(view, { kind: point, layout: BY_LT, range, end }), ({ key }) => key);
          expect(found).toEqual(reverse ? expected.reverse() : expected);
        }
        view.done();
        await engine.close();
      },
    ),
    { numRuns: rounds(40, 500) },
  );
});
