import { beginCell, Cell as CoreCell, Dictionary } from '@ton/core';
import { expect, test } from 'vitest';
import { Builder, type Cell, parseBoc } from '../../chain/builder.ts';
import { prove } from './proofs.ts';
import { readLibraries } from './settings.ts';

const library = (value: number): CoreCell => beginCell().storeUint(value, 256).storeRef(CoreCell.EMPTY).endCell();

/** A state of which only the libraries count, their dictionary written by @ton/core. */
function stateWith(libraries: readonly CoreCell[]): Cell {
  const dictionary = Dictionary.empty(Dictionary.Keys.Buffer(32), {
    serialize: (cell: CoreCell, builder) => void builder.storeUint(0, 2).storeRef(cell),
    parse: (slice) => slice.skip(2).loadRef(),
  });
  for (const cell of libraries) dictionary.set(cell.hash(), cell);
  const root = beginCell().storeDictDirect(dictionary).endCell();
  const empty = new Builder().cell();
  // Load histories, balance and fees of nothing, libraries, no master reference.
  const totals = new Builder().big(1n, 64).big(2n, 64).grams(0n).bit(0).grams(0n).bit(0);
  const third = totals.maybeRef(parseBoc(root.toBoc())).bit(0).cell();
  return new Builder().u(0x9023afe2, 32).ref(empty).ref(empty).ref(third).cell();
}

test('published libraries are found by hash, and proven', () => {
  const published = [1, 2, 3, 4, 5].map(library);
  const state = stateWith(published);
  const wanted = [published[3], library(77), published[0]].map((cell) => cell.hash());
  let found: ReturnType<typeof readLibraries> = [];
  const shown = prove(state, (visit) => {
    found = readLibraries(state, wanted, visit);
  });
  expect(found.map(({ hash }) => hash)).toEqual([wanted[0], wanted[2]]);
  for (const { hash, data } of found) expect(CoreCell.fromBoc(data)[0].hash()).toEqual(hash);
  expect(shown.refs[0].hash(0)).toEqual(state.hash());
  expect(readLibraries(shown.refs[0], wanted.slice(0, 1), () => undefined)).toHaveLength(1);
  expect(() => readLibraries(shown.refs[0], [published[1].hash()], () => undefined)).toThrow('exotic');
  expect(() =>
    readLibraries(
      state,
      Array.from({ length: 17 }, () => wanted[0]),
      () => undefined,
    ),
  ).toThrow('at most 16');
});
