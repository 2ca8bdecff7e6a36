/**
 * Runs of get-methods that saw nothing but their contract and their arguments: they leave the same whenever they are
 * repeated on one state, so they are kept instead. Who looks at a wallet at every block has no contract run for it.
 */
import { LRUCache } from 'lru-cache';
import type { GetMethodRun, ObservedRun } from '../tvm/contract.ts';
import { countValues } from '../tvm/long-stack.ts';

export interface KeptRuns {
  readonly bytes: number;
  readonly figures: Readonly<Record<'made' | 'kept', number>>;
  /** @param key names the state of the contract, the method, its arguments and the configuration */
  once(key: string, run: () => Promise<ObservedRun>): Promise<GetMethodRun>;
}

/** What is longer is not kept: it is within all limits that results may have. */
const MOST_VALUES = 256;
const MOST_CHARACTERS = 16_384;

const ENTRY_BYTES = 1_000;
/** Of a character of the stack as a bag of cells: the values read from it take some times as much. */
const CHARACTER_BYTES = 4;

/** @param maxBytes of all that is kept; 0 for none */
export function createKeptRuns(maxBytes: number): KeptRuns {
  const figures = { made: 0, kept: 0 };
  const kept =
    maxBytes === 0
      ? null
      : new LRUCache<string, ObservedRun>({
          maxSize: maxBytes,
          sizeCalculation: ({ stackText }, key) => ENTRY_BYTES + 2 * key.length + CHARACTER_BYTES * stackText.length,
        });
  return {
    get bytes() {
      return kept?.calculatedSize ?? 0;
    },
    figures,
    async once(key, run) {
      const known = kept?.get(key);
      if (known !== undefined) {
        figures.kept++;
        return known;
      }
      const made = await run();
      figures.made++;
      if (repeats(made)) kept?.set(key, made);
      return made;
    },
  };
}

function repeats({ seen, missedLibrary, stack, stackText }: ObservedRun): boolean {
  // A library that is not there may come.
  if (seen === 'more' || missedLibrary) return false;
  return stackText.length <= MOST_CHARACTERS && countValues(stack, MOST_VALUES) <= MOST_VALUES;
}
