import { expect, it } from 'vitest';
import { Builder, Cell } from '../chain/builder.ts';
import { librariesFor } from './contract.ts';

const library = (n: number): Cell => new Cell(Buffer.concat([Buffer.of(2), Buffer.alloc(32, n)]), 264, [], true);

/** Cells that name the libraries of these numbers. */
function naming(first: number, last: number): Cell {
  let cell = new Builder().cell();
  for (let n = first; n <= last; n++) cell = new Builder().ref(library(n)).ref(cell).cell();
  return cell;
}

it('of what an account names at most 32 libraries are asked for, each once, those of its code first', async () => {
  const asked: number[] = [];
  const view = {
    library: async (hash: Buffer) => {
      asked.push(hash[0]);
      return null;
    },
  };
  await librariesFor(view, [naming(1, 20), naming(11, 60)], new AbortController().signal);
  expect(asked).toHaveLength(32);
  expect(new Set(asked).size).toBe(32);
  expect(asked.slice(0, 20).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
});
