import { LRUCache } from 'lru-cache';
import { atMost } from '../../src/at-most.ts';
import type { Hash } from '../../src/chain/model.ts';

/** Which extra currencies the projection fills later states of an account with, by their dictionary. */
export interface KnownExtras {
  /**
   * Looks at a state, in the order of the log.
   * @param pruned hash of the dictionary where the block does not show all of it
   * @returns the dictionary to ask for, hex; null where there is none or the projection has it
   */
  look(account: string, pruned: Hash | null): string | null;
  /** The projection has it from the newest state of the account on. */
  learned(account: string, dictionary: string): void;
}

/** @param most accounts; the others, and all after a restart, are asked for once more */
export function createKnownExtras(most: number): KnownExtras {
  const known = new LRUCache<string, string>(atMost(most));
  return {
    look(account, pruned) {
      if (pruned === null) {
        // What a block has shown itself is not carried forward: it ends what was learned.
        known.delete(account);
        return null;
      }
      const dictionary = pruned.toString('hex');
      return known.get(account) === dictionary ? null : dictionary;
    },
    learned: (account, dictionary) => void known.set(account, dictionary),
  };
}
