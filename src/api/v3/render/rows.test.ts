import { describe, expect, it } from 'vitest';
import { random } from '../../../../test/chance.ts';
import { joinRows, joinTexts } from './rows.ts';

describe('a list of rows', () => {
  const PIECES = ['a', '"', 'é', 'ü', '€', '🙂', ' "ton" '];
  const text = (most: number): string =>
    Array.from({ length: random(most) }, () => PIECES[random(4) > 0 ? 0 : random(PIECES.length)]).join('');

  it.each([[[]], [['{"a":1}']], [['"ü"', '{}', '"🙂"']], [['"aé"', '"€€€€"', '']]])('join %j', (rows) => {
    const bytes = rows.map((row) => Buffer.from(row));
    const expected = `{"x":[${rows.join(',')}],"y":"é"}`;
    expect(joinRows('{"x":[', bytes, '],"y":"é"}').toString()).toBe(expected);
    expect(joinTexts('{"x":[', rows, '],"y":"é"}').toString()).toBe(expected);
    expect(joinTexts('{"x":[', rows, ']}').toString()).toBe(`{"x":[${rows.join(',')}]}`);
  });

  it('joins texts wherever characters of several bytes stand', () => {
    for (let round = 0; round < 5_000; round++) {
      const rows = Array.from({ length: random(6) }, () => text(8));
      const [before, behind] = [text(3), text(6)];
      expect(joinTexts(before, rows, behind).toString()).toBe(`${before}${rows.join(',')}${behind}`);
    }
  });
});
