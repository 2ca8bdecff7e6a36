/**
 * What is kept has a version, by which another program knows that it cannot go on with it. When the shape of what is
 * written changes, so must the version beside it: nothing else would notice that rows of before are another's.
 */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { TABLES } from '../clickhouse/tables/all.ts';
import type { Columns, Table } from '../clickhouse/tables/table.ts';
import { ARCHIVED_KINDS } from '../src/archive/kinds.ts';
import { ARCHIVE_VERSION } from '../src/archive/state.ts';
import { kinds } from '../src/chain/actions/families.ts';
import { DETECTED } from '../src/window/detected-rows.ts';
import type { Kind } from '../src/window/kind.ts';
import { KINDS } from '../src/window/kinds.ts';
import { WINDOW_VERSION } from '../src/window/state.ts';
import { PROJECTION_VERSION } from '../streams/project/position.ts';
import { PROJECTIONS } from '../streams/project/projections.ts';
import { traceProjection } from '../streams/project/trace-projection.ts';
import { STEP_VERSION } from '../streams/projected-step.ts';

/**
 * Version and digest. A version that is raised: of the chain or a projection, its tables are made anew by `tonstream
 * rebuild`; of steps, window and archive, what there is of them is thrown away at the next start.
 */
const KNOWN: Readonly<Record<string, string>> = {
  'rows of the chain (PROJECTION_VERSION)': '6 a1cfab997ce7',
  'rows of contracts': '5 50cf1d53461e',
  'rows of traces': '8 3cd79048f671',
  'rows of statistics': '4 2e40aeb7708b',
  'published steps (STEP_VERSION)': '6 084d02b29e60',
  'the window (WINDOW_VERSION)': '11 e5bf93afa848',
  'the archive (ARCHIVE_VERSION)': '8 022ae9febd4e',
};

const columnsShape = (columns: Columns): string[] =>
  Object.entries(columns).map(([name, { type }]) => `${name} ${type}`);

const tableShape = ({ name, kind, key, version, sign, columns }: Table) => [
  ...[name, kind, key, version, sign],
  columnsShape(columns),
];

const carriedShape = ({ name, carried }: Table) => (carried ? [name, columnsShape(carried.columns)] : []);

/** Of what is behind the columns of a row nothing is declared, but for contracts: there it is the published row. */
const kindShape = ({ name, columns, list, layouts }: Kind) => [
  name,
  Object.entries(columns).map(([column, { bytes }]) => `${column} ${bytes}`),
  list && `${list.name} ${list.column.bytes}`,
  layouts,
];

const detected = DETECTED.map(({ table }) => TABLES.find(({ name }) => name === table.name)!).map(carriedShape);

/** A trace that was told without one of these says something else than the same trace with it. */
const told = kinds.map(({ block, type }) => `${block} ${type}`).sort();

const digestOf = (shape: unknown): string =>
  createHash('sha256').update(JSON.stringify(shape)).digest('hex').slice(0, 12);

it('what is written is of the shape that its version had', () => {
  const projected = new Set(PROJECTIONS.flatMap(({ tables }) => tables));
  const chain = TABLES.filter((table) => !projected.has(table));
  const written: [string, number, unknown][] = [
    ['rows of the chain (PROJECTION_VERSION)', PROJECTION_VERSION, chain.map(tableShape)],
    ...PROJECTIONS.map(({ name, version, tables }): [string, number, unknown] => [
      `rows of ${name}`,
      version,
      name === traceProjection.name ? [tables.map(tableShape), told] : tables.map(tableShape),
    ]),
    ['published steps (STEP_VERSION)', STEP_VERSION, TABLES.map(carriedShape)],
    ['the window (WINDOW_VERSION)', WINDOW_VERSION, [KINDS.map(kindShape), detected]],
    ['the archive (ARCHIVE_VERSION)', ARCHIVE_VERSION, [ARCHIVED_KINDS.map(kindShape), detected]],
  ];
  expect(Object.fromEntries(written.map(([name, version, shape]) => [name, `${version} ${digestOf(shape)}`]))).toEqual(
    KNOWN,
  );
});
