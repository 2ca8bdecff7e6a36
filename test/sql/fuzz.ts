/** Statements by chance: examples in which a place is exchanged for something hostile, and heaps of words. */
import { EXAMPLES } from '../../src/api/sql/examples.ts';

const WORDS =
  `SELECT FROM WHERE GROUP BY ORDER LIMIT UNION ALL EXCEPT INTERSECT DISTINCT AS IN NOT AND OR JOIN LEFT ANY ASOF
CROSS ON USING ARRAY WITH HAVING PREWHERE FINAL SAMPLE OVER PARTITION WINDOW QUALIFY FILL INTERPOLATE TIES OFFSET SETTINGS
FORMAT INTO OUTFILE APPLY REPLACE COLUMNS CASE WHEN THEN ELSE END CAST BETWEEN LIKE ILIKE IS NULL INTERVAL DAY TRUE EXISTS
VALUES DESCRIBE SHOW EXPLAIN ROLLUP CUBE TOTALS GROUPING SETS FILTER ROWS PRECEDING RECURSIVE MATERIALIZED
ton.head ton.blocks head blocks system.one windowed.blocks account hash mc_seqno mc_block_seqno seqno a b x t
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
  'windowed.blocks',
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
  'SELECT H::String',
];

/** @param draw a whole number below the one it is given */
export function statementOf(draw: (below: number) => number, path: string): string {
  const of = <T>(list: readonly T[]): T => list[draw(list.length)];
  const made = (): string => {
    const kind = draw(10);
    if (kind < 5) return of(SHAPES).replace(/H/g, () => (draw(4) === 0 ? of(WORDS) : of(HOSTILE)));
    if (kind < 8) {
      const tokens = of(EXAMPLES).sql.split(/\b/);
      for (let i = 0; i <= draw(2); i++) tokens[draw(tokens.length)] = draw(2) === 0 ? of(HOSTILE) : of(WORDS);
      return tokens.join('');
    }
    return `SELECT ${Array.from({ length: 1 + draw(12) }, () => of(WORDS)).join(' ')}`;
  };
  return made().replaceAll('PATH', path);
}
