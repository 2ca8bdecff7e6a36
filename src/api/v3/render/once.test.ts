import { expect, it } from 'vitest';
import { makeLast } from '../../../lasting.ts';
import { once, onceEach } from './once.ts';

it('what is made of an object is made once where it lasts, and each time where it does not', () => {
  const named = { name: 'a' };
  const calls: string[] = [];
  const make = ({ name }: { name: string }): string => {
    calls.push(name);
    return `made of ${name}`;
  };
  const ofLasting = once(make);
  expect([ofLasting(named), ofLasting(named)]).toEqual(['made of a', 'made of a']);
  expect(calls).toHaveLength(2);
  const kept = makeLast({ name: 'b' });
  expect([ofLasting(kept), ofLasting(kept)]).toEqual(['made of b', 'made of b']);
  expect(calls).toEqual(['a', 'a', 'b']);
  const each = onceEach(make);
  expect([each(named), each(named)]).toEqual(['made of a', 'made of a']);
  expect(calls).toEqual(['a', 'a', 'b', 'a']);
});
