/** Library cells: a cell of 264 bits that stands for another one, named by its hash (TON whitepaper 5.3.3). */
import { LIBRARY } from '../chain/boc.ts';
import { Builder, Cell } from '../chain/builder.ts';
import { plain, updateDictionary } from '../chain/dictionary.ts';
import type { Hash } from '../chain/model.ts';

/** Hashes of the libraries that some trees name, those of the first tree first, at most `limit` in all, each once. */
export function namedLibraries(roots: readonly Cell[], limit: number): Hash[] {
  const found = new Map<string, Hash>();
  const seen = new Set<Cell>();
  const stack = roots.toReversed();
  for (let cell = stack.pop(); cell !== undefined && found.size < limit; cell = stack.pop()) {
    if (seen.has(cell)) continue;
    seen.add(cell);
    if (cell.type === LIBRARY) found.set(cell.data.toString('latin1', 1, 33), cell.data.subarray(1, 33));
    else stack.push(...cell.refs);
  }
  return [...found.values()];
}

/** The dictionary the executor finds libraries in (`Hashmap 256 ^Cell`, by hash); null for none. */
export function libraryDictionary(libraries: Iterable<Cell>): Cell | null {
  const byHash = new Map<string, Cell>();
  for (const library of libraries) byHash.set(library.key(), library);
  return dictionary([...byHash.values()].map((library) => [library.hash(), library]));
}

/** A dictionary that no contract finds anything in: its one key is not the hash of what stands there. */
export const NO_LIBRARIES = dictionary([[Buffer.alloc(32), new Builder().cell()]]) ?? new Cell(Buffer.alloc(0), 0, []);

function dictionary(entries: readonly (readonly [Hash, Cell])[]): Cell | null {
  const changes = entries.map(([key, cell]) => ({
    key,
    leaf: { extra: null, value: new Builder().ref(cell).cell() },
  }));
  return updateDictionary(null, 256, plain, changes).root;
}
