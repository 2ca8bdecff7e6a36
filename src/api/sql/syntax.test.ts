import { describe, expect, it } from 'vitest';
import { judge } from './syntax.ts';

const vocabulary = {
  database: 'ton',
  views: new Set<string>(),
  columns: new Set<string>(),
  isFunction: () => false,
};
const judged = (text: string) => judge(text.split('\n'), vocabulary);

/** As ClickHouse 26.7 prints them. */
const SINGLE = `SelectWithUnionQuery (children 1)
 ExpressionList (children 1)
  SelectQuery (children 1)
   ExpressionList (children 1)
    Literal UInt64_1`;
const UNION = `SelectWithUnionQuery (children 1)
 ExpressionList (children 2)
  SelectQuery (children 1)
   ExpressionList (children 1)
    Literal UInt64_1
  SelectQuery (children 1)
   ExpressionList (children 1)
    Literal UInt64_3`;
const EXCEPT = `SelectWithUnionQuery (children 1)
 ExpressionList (children 1)
  SelectIntersectExceptQuery (children 2)
   SelectQuery (children 1)
    ExpressionList (children 1)
     Literal UInt64_1
   SelectQuery (children 1)
    ExpressionList (children 1)
     Literal UInt64_2`;

describe('the syntax tree of a statement', () => {
  it('tells whether it has several parts', () =>
    expect([SINGLE, UNION, EXCEPT].map((text) => judged(text).isCombined)).toEqual([false, true, true]));

  // It took 18 s of a worker to look at one of 128 KB, and minutes for this one.
  it('is read in time that grows with the length of a type', { timeout: 60_000 }, () => {
    const type = '\\'.repeat(512_000);
    const cast = SINGLE.replace(
      'Literal UInt64_1',
      `Function CAST (children 1)\n     ExpressionList (children 2)\n      Literal UInt64_1\n      Literal '${type}'`,
    );
    expect(() => judged(cast)).toThrow('the type given to CAST');
  });
});
