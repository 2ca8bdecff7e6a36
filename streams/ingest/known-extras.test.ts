import { expect, it } from 'vitest';
import { createKnownExtras } from './known-extras.ts';

const [one, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const hex = (dictionary: Buffer): string => dictionary.toString('hex');

it('a dictionary is asked for until it is learned, and again once the account has had another one', () => {
  const extras = createKnownExtras(10);
  for (let i = 0; i < 2; i++) expect(extras.look('a', one)).toBe(hex(one));
  extras.learned('a', hex(one));
  expect([extras.look('a', one), extras.look('b', one)]).toEqual([null, hex(one)]);
  expect(extras.look('a', other)).toBe(hex(other));
  extras.learned('a', hex(other));
  expect([extras.look('a', other), extras.look('a', one)]).toEqual([null, hex(one)]);
});

it('a state that shows all of it ends what was learned', () => {
  const extras = createKnownExtras(10);
  extras.learned('a', hex(one));
  extras.learned('b', hex(one));
  expect(extras.look('a', null)).toBeNull();
  expect([extras.look('a', one), extras.look('b', one)]).toEqual([hex(one), null]);
});
