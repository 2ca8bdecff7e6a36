import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../client.ts';
import { MIGRATED, startMigratedServer } from '../test-schema.ts';
import { silent, type TestServer } from '../test-server.ts';
import { TABLES } from './all.ts';
import { arrayOf, hashOrNone, i32, i256, ltOrNone, NO_LT, shard, u8, u32, u64, u256OrNone } from './columns.ts';
import { columnName, columnNames, indexColumns, indexSelect, tableColumns } from './sql.ts';
import { type Index, type Table, table } from './table.ts';

/** Of the projection itself: how it stands, who writes. */
const OTHERS = ['leases', 'migrations', 'projection_state', 'projection_versions', 'projectors'];
const ENGINES = { fact: 'ReplacingMergeTree', newest: 'ReplacingMergeTree', pairs: 'VersionedCollapsingMergeTree' };

const tableRow = z.object({ name: z.string(), engine_full: z.string(), sorting_key: z.string(), select: z.string() });
const columnRow = z.object({ table: z.string(), name: z.string(), type: z.string() });
const textRow = z.object({ text: z.string() });

let test: TestServer;
let clickhouse: ClickHouse;
let found: Map<string, z.output<typeof tableRow>>;
let columns: z.output<typeof columnRow>[];

beforeAll(async () => {
  test = await startMigratedServer();
  clickhouse = createClickHouse({ url: test.server.url, database: MIGRATED, logger: silent });
  const tables = await clickhouse.json(
    `SELECT name, engine_full, sorting_key, as_select AS select FROM system.tables WHERE database = '${MIGRATED}'`,
    tableRow,
  );
  found = new Map(tables.map((one) => [one.name, one]));
  columns = await clickhouse.json(
    `SELECT table, name, type FROM system.columns WHERE database = '${MIGRATED}' ORDER BY table, position`,
    columnRow,
  );
});

afterAll(async () => {
  await clickhouse?.close();
  await test?.remove();
});

const typesOf = (name: string): [string, string][] =>
  columns.filter((column) => column.table === name).map((column) => [column.name, column.type]);

function expectEngine(name: string, { kind, version, sign }: Table, key: readonly string[], held: readonly string[]) {
  const { engine_full, sorting_key } = found.get(name)!;
  const options = [sign, version]
    .filter((one) => one !== undefined && held.includes(one))
    .map((one) => columnName(one!));
  const engine = `${ENGINES[kind]}${options.length > 0 ? `(${options.join(', ')})` : ''}`;
  expect(engine_full.slice(0, engine_full.search(/ (PARTITION|ORDER) BY/))).toBe(engine);
  expect(sorting_key).toBe(columnNames(key).join(', '));
}

/** The SELECT of a declaration as the server writes it. */
async function declaredSelect(source: Table, index: Index): Promise<string> {
  const { columns: selected, where } = indexSelect(source, index);
  const sql = `SELECT ${selected} FROM ${MIGRATED}.${source.name}${where ? ` WHERE ${where}` : ''}`;
  const [{ text }] = await clickhouse.json(
    `SELECT formatQuerySingleLine('${sql.replaceAll("'", "\\'")}') AS text`,
    textRow,
  );
  return text;
}

describe('the tables that migrations make', () => {
  it.each(TABLES.map((one) => [one.name, one] as const))('%s is as declared', (name, declared) => {
    expect(typesOf(name)).toEqual(
      Object.entries(declared.columns).map(([property, { type }]) => [columnName(property), type]),
    );
    expectEngine(name, declared, declared.key, Object.keys(declared.columns));
  });

  it.each(TABLES.flatMap((one) => one.indexes.map((index) => [index.name, one, index] as const)))(
    '%s is as declared, and filled so by its view',
    async (name, source, index) => {
      const typeOf = (property: string): string =>
        source.columns[property === index.each?.as ? index.each.of[0] : property].type;
      const declared = [...index.key, ...index.also];
      expect(new Map(typesOf(name))).toEqual(new Map(declared.map((one) => [columnName(one), typeOf(one)])));
      expectEngine(name, source, index.key, declared);
      const views = [...found.values()].filter(({ select }) => select !== '');
      const selects = await Promise.all(
        views.map(({ select }) =>
          clickhouse.json(`SELECT formatQuerySingleLine('${select.replaceAll("'", "\\'")}') AS text`, textRow),
        ),
      );
      expect(selects.flat().map(({ text }) => text)).toContain(await declaredSelect(source, index));
    },
  );

  it('are those declared and no others', () => {
    const declared = TABLES.flatMap(({ name, indexes }) => [name, ...indexes.map((index) => index.name)]);
    const made = [...found.values()].filter(({ select }) => select === '').map(({ name }) => name);
    expect(made.sort()).toEqual([...declared, ...OTHERS].sort());
  });
});

describe('the views that fill them', () => {
  const sources = TABLES.filter(({ indexes }) => indexes.length > 0);

  /** Zeros stand for one value of any of these types. */
  function bytesOf(type: string): number {
    const [, of, size] = /^(FixedString|UInt)\(?(\d+)\)?$/.exec(type)!;
    return of === 'UInt' ? Number(size) / 8 : Number(size);
  }

  async function insertOne({ name, key, columns: declared }: Table): Promise<void> {
    const row = Buffer.alloc(bytesOf(declared[key[0]].type));
    await clickhouse.insert(name, [columnName(key[0])], [row], { dedupToken: 'a batch' });
  }

  async function rows(): Promise<string[]> {
    const counts = [...found.values()]
      .filter(({ select }) => select === '')
      .map(({ name }) => `SELECT concat('${name} ', toString(count())) AS text FROM ${name}`);
    return (await clickhouse.json(counts.join(' UNION ALL '), textRow)).map(({ text }) => text).sort();
  }

  it('take a repeated batch for what it is, also when the server has started anew since', async () => {
    await clickhouse.command('SYSTEM STOP MERGES');
    for (const source of sources) await insertOne(source);
    const once = await rows();
    expect(once).toContain('transactions_by_lt 1');
    for (const [name, { select }] of found) {
      if (select === '') continue;
      // As a start loads it.
      await clickhouse.command(`DETACH TABLE ${name}`);
      await clickhouse.command(`ATTACH TABLE ${name}`);
    }
    for (const source of sources) await insertOne(source);
    expect(await rows()).toEqual(once);
  });
});

describe('a declaration', () => {
  it('names only columns that it has', () => {
    const wrong = () =>
      table({
        name: 'wrong',
        columns: { lt: u64 },
        kind: 'fact',
        key: ['lt'],
        indexes: [{ name: 'by', key: ['hash'], also: [] }],
      });
    expect(wrong).toThrow('table wrong has no hash');
  });

  it('names columns in snake case', () => {
    expect(tableColumns(TABLES[0]).slice(11, 14)).toEqual(['rand_seed', 'created_by', 'info']);
    expect(indexColumns({ name: 'x', key: ['inMcSeqno'], also: ['lt'] })).toEqual(['in_mc_seqno', 'lt']);
  });
});

describe('values in keys', () => {
  it.each([
    ['numbers', u32, [0, 5, 0x7fff_ffff, 0xffff_ffff]],
    ['signed numbers', i32, [-0x8000_0000, -1, 0, 0x7fff_ffff]],
    ['wide signed numbers', i256, [`-${2n ** 255n}`, '-1', '0', '10', `${2n ** 255n - 1n}`]],
    ['wide numbers, none last', u256OrNone, ['0', '9', '10', `${2n ** 256n - 2n}`, null]],
    ['logical times', u64, ['0', '9', '10', '46000000000001', '18446744073709551615']],
    ['logical times, none last', ltOrNone, ['0', '9', '46000000000001', null]],
    [
      'shards as signed numbers',
      shard,
      ['8000000000000000', 'c000000000000000', '2000000000000000', '6000000000000000'],
    ],
    ['hashes, none first', hashOrNone, [null, Buffer.alloc(32, 1), Buffer.alloc(32, 0xff)]],
  ])('sort as the values do: %s', (_, column, ascending) => {
    const order = column.order!;
    const keys = ascending.map((value) => {
      const key = Buffer.alloc(order.bytes + 1);
      order.put(key, 1, value as never);
      return key;
    });
    expect(keys.toSorted(Buffer.compare)).toEqual(keys);
    expect(keys.map((key) => order.get(key, 1))).toEqual(ascending);
    expect(ascending.toReversed().toSorted((a, b) => order.compare(a as never, b as never))).toEqual(ascending);
  });

  it('have literals', () => {
    expect(ltOrNone.literal(null)).toBe(NO_LT);
    expect(shard.literal('8000000000000000')).toBe('-9223372036854775808');
    expect(arrayOf(u8).literal([1, 2])).toBe('[1, 2]');
  });
});
