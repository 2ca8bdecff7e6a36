/**
 * Statements by chance: examples and attacks in which places are exchanged for something hostile, and heaps of words.
 * The words are those of the server itself: its keywords, functions, table functions, types, formats and tables.
 */
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { EXAMPLES } from '../../src/api/sql/examples.ts';
import { attacks } from './attacks.ts';

/** What is said often in statements that get far. */
const PLAIN =
  `SELECT FROM WHERE GROUP BY ORDER LIMIT UNION ALL EXCEPT INTERSECT DISTINCT AS IN NOT AND OR JOIN LEFT ANY ASOF
CROSS ON USING ARRAY WITH HAVING PREWHERE FINAL SAMPLE OVER PARTITION WINDOW QUALIFY FILL INTERPOLATE TIES OFFSET SETTINGS
FORMAT INTO OUTFILE APPLY REPLACE COLUMNS CASE WHEN THEN ELSE END CAST BETWEEN LIKE ILIKE IS NULL INTERVAL DAY TRUE EXISTS
VALUES DESCRIBE SHOW EXPLAIN ROLLUP CUBE TOTALS GROUPING SETS FILTER ROWS PRECEDING RECURSIVE MATERIALIZED
ton.head ton.blocks head blocks system.one tonstream.blocks account hash mc_seqno mc_block_seqno seqno a b x t
count sum file arrayMap url numbers concat toString getSetting hostName currentUser version sleep joinGet dictGet uniqState
if length range any groupArray quantile(0.5) generateRandom input executable remote cluster merge null
0 1 2.5 1e3 0xff -1 '' 'PATH' 'a' 'it''s' '\\\\' {p:String} [ ] ( ) ( ) ( ) , , . * * + - / % || = != < > ? : :: -> ;`
    .trim()
    .split(/\s+/);

const HOSTILE = [
  "file('PATH')",
  "`file`('PATH')",
  "arrayMap(file, ['PATH'])",
  "(SELECT * FROM file('PATH', 'LineAsString'))",
  "url('http://127.0.0.1:9/', 'CSV')",
  'tonstream.blocks',
  'system.tables',
  "'PATH'",
  "getSetting('log_comment')",
  '* APPLY file',
  "* REPLACE (file('PATH') AS a)",
  "CAST('a' AS AggregateFunction(uniq, String))",
  'SETTINGS max_threads = 8',
  '/* */',
  '-- \n',
  '$a$',
  'a AS file',
  'x -> file(x)',
  '(SELECT 1)',
  'ton.head',
  '1',
  'toString(1)',
  'mc_seqno',
  "map('a', file)",
  '[file]',
  'tuple(file, 1)',
  'if(1, file, url)',
  'sum(1) OVER (ORDER BY file)',
];

const SHAPES = [
  'SELECT H',
  'SELECT H FROM ton.head',
  'SELECT 1 FROM H',
  'SELECT 1 FROM ton.head AS t, H AS u',
  'SELECT 1 FROM ton.head WHERE H',
  'SELECT H AS a, a FROM ton.head ORDER BY H',
  'WITH H AS f SELECT f FROM ton.head',
  'WITH f AS (SELECT H) SELECT * FROM f',
  'SELECT arrayMap(H, [1])',
  'SELECT arrayMap(x -> H, [1])',
  'SELECT 1 IN H',
  'SELECT count() FROM ton.head GROUP BY H HAVING H',
  'SELECT CASE WHEN H THEN H ELSE 1 END',
  'SELECT CAST(H, H)',
  'SELECT transform(1, [1], [H], H)',
  'SELECT * EXCEPT (H) FROM ton.head',
  'SELECT H(1)',
  "SELECT H('PATH')",
  "SELECT H(H, H, 'a')",
  'SELECT * FROM H(H)',
  'SELECT H::String',
  "SELECT CAST('a' AS H)",
  'SELECT 1 H 1',
  'SELECT 1 FROM ton.head H H',
];

/** A whole number below the one it is given. */
export type Draw = (below: number) => number;

const word = z.object({ word: z.string() });

/** Words of the grammar that the server lists of itself. */
export async function wordsOf(owner: ClickHouse): Promise<string[]> {
  const rows = await owner.json(
    `SELECT keyword AS word FROM system.keywords
     UNION ALL SELECT name FROM system.functions UNION ALL SELECT name FROM system.table_functions
     UNION ALL SELECT name FROM system.data_type_families UNION ALL SELECT name FROM system.formats
     UNION ALL SELECT concat('system.', name) FROM system.tables WHERE database = 'system'
     UNION ALL SELECT concat('tonstream.', name) FROM system.tables WHERE database = 'tonstream'
     UNION ALL SELECT name FROM system.settings`,
    word,
  );
  return rows.map((row) => row.word);
}

/** @param words see `wordsOf` */
export function statementOf(draw: Draw, words: readonly string[], path: string): string {
  const of = <T>(list: readonly T[]): T => list[draw(list.length)];
  const hostile = (): string => (draw(3) === 0 ? of(draw(2) === 0 ? words : PLAIN) : of(HOSTILE));
  const exchanged = (sql: string): string => {
    const tokens = sql.split(/\b/);
    for (let i = 0; i <= draw(3); i++) tokens[draw(tokens.length)] = hostile();
    return tokens.join('');
  };
  const made = (): string => {
    const kind = draw(10);
    if (kind < 4) return of(SHAPES).replace(/H/g, hostile);
    if (kind < 6) return exchanged(of(EXAMPLES).sql);
    if (kind < 8) return exchanged(of(ATTACKS));
    return `SELECT ${Array.from({ length: 1 + draw(12) }, () => of(draw(4) === 0 ? words : PLAIN)).join(' ')}`;
  };
  return made().replaceAll('PATH', path);
}

const ATTACKS = attacks('PATH');
