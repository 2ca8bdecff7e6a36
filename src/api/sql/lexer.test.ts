import { describe, expect, it } from 'vitest';
import { isBeyond, readStatement } from './lexer.ts';

const statusOf = (sql: string): unknown => {
  try {
    return readStatement(sql).sql;
  } catch (error) {
    return error instanceof Error && 'status' in error ? error.status : error;
  }
};

describe('a statement', () => {
  it('keeps its words and strings, and loses its comments and its semicolon', () => {
    expect(statusOf("SELECT 'a--b /* c */ ''d\\'e', \"f\", `g` -- h\n, 1e-5;\n")).toBe(
      "SELECT 'a--b /* c */ ''d\\'e', \"f\", `g`  \n, 1e-5",
    );
    expect(statusOf('select/* a\n**b */1')).toBe('select \n1');
    expect(readStatement('SELECT {a:UInt8}, {b: Array(Nullable(String))}, {a:UInt64}').parameters).toEqual([
      ['a', 'UInt8'],
      ['b', 'Array(Nullable(String))'],
      ['a', 'UInt64'],
    ]);
  });

  it.each([
    ['SELECT 1 LIMIT -1', true],
    ['SELECT 1 limit/**/{n:Int8}', true],
    ['SELECT 1 FETCH FIRST 2 ROWS WITH TIES', true],
    ['SELECT TOP 2 WITH TIES a', true],
    ['SELECT 1 OFFSET 2', true],
    ["SELECT 'LIMIT', (SELECT 1 LIMIT 1) FROM (SELECT 1 LIMIT -1) WHERE -1 /* LIMIT */", false],
  ])('%s may say how many rows it gives: %s', (sql, is) => expect(readStatement(sql).isLimited).toBe(is));

  // Another way to look for the semicolon took 6 s of a worker for 64,000 of them, and minutes for these.
  it('is read in time that grows with its length', { timeout: 60_000 }, () => {
    expect(statusOf(`SELECT 1${' '.repeat(400_000)}x`)).toHaveLength(400_009);
  });

  it.each([
    ['UInt8', 255, false],
    ['UInt8', '256', true],
    ['UInt32', '-1', true],
    ['Int64', '-9223372036854775808', false],
    ['Nullable(Int64)', '9223372036854775808', true],
    ['Array(UInt64)', [1, '18446744073709551616'], true],
    ['Array(Nullable(UInt256))', ['1'.repeat(80)], true],
    ['UInt8', 'a', false],
    ['String', '300', false],
    ['Float32', 1e30, false],
  ])('takes as %s the value %s: beyond it is %s', (type, value, is) => expect(isBeyond(type, value)).toBe(is));

  it.each([
    ['INSERT INTO a SELECT 1', 403],
    ['(SELECT 1)', 403],
    ['SELECT 1; SELECT 2', 403],
    ['SELECT 1 ;;', 403],
    [' SELECT 1 ; \n', ' SELECT 1'],
    ['SELECT a, count() FROM b GROUP BY a WITH TOTALS', 403],
    ['SELECT 1 FROM (SELECT count() GROUP BY a with/**/totals)', 403],
    ['WITH totals AS (SELECT 1) SELECT totals', 'WITH totals AS (SELECT 1) SELECT totals'],
    ['SELECT 1 settings a = 1', 403],
    ['SELECT $a$b$a$', 403],
    ['SELECT a\\b', 403],
    ['SELECT @@version', 403],
    ['SELECT # a', 403],
    ['SELECT ä', 403],
    ['SELECT ‘a’', 403],
    ['SELECT {a:Identifier}', 403],
    ['SELECT {a:AggregateFunction(uniq, String)}', 403],
    ["SELECT {'a': 1}", 403],
    ["SELECT 'a", 400],
    ["SELECT 'a\\'", 400],
    ['SELECT `a b`', 400],
    ['SELECT "a\\"', 400],
    ['SELECT /* a', 400],
    ['SELECT 1 /', 'SELECT 1 /'],
    ['  -- a', 400],
    [`SELECT ${'('.repeat(61)}`, 400],
  ])('%s is told %s', (sql, status) => expect(statusOf(sql)).toBe(status));
});
