import { afterAll, describe, expect, test } from 'vitest';
import { type ReplayAccount, type ReplaySet, readReplaySet, replaySets } from '../../test/replay-set.ts';
import { shelf } from '../../test/shelf.ts';
import { parseHash } from '../chain/address.ts';
import { type Cell, Slice } from '../chain/builder.ts';
import { findLeaf } from '../chain/dictionary.ts';
import { cellText, textCell } from './executor.ts';
import { libraryDictionary, namedLibraries } from './libraries.ts';
import { createTvmPool, type TvmConfig, TvmError, tvmConfig } from './pool.ts';

/** Of all public libraries those that account and message name, and those that these name. */
function librariesOf(roots: readonly Cell[], all: Cell | null): string | null {
  const found = new Map<string, Cell>();
  const queue = [...roots];
  for (let root = queue.pop(); root !== undefined; root = queue.pop()) {
    for (const hash of namedLibraries([root], 100)) {
      const library = findLeaf(all, 256, hash)?.ref();
      if (library === undefined || found.has(library.key())) continue;
      found.set(library.key(), library);
      queue.push(library);
    }
  }
  const dictionary = libraryDictionary(found.values());
  return dictionary === null ? null : cellText(dictionary);
}

/** `trans_tick_tock$001 is_tock:Bool`; null for other transactions. */
function tickTock(transaction: ReturnType<typeof textCell>): 'tick' | 'tock' | null {
  const description = new Slice(transaction.refs[transaction.refs.length - 1]);
  if (description.u(3) !== 1) return null;
  return description.bit() ? 'tock' : 'tick';
}

describe.skipIf(shelf === null)('recorded transactions come out with the same hashes', () => {
  const pool = createTvmPool({ workers: 2, maxQueued: 1000, timeoutMs: 60_000 });
  afterAll(() => pool.close());

  async function replayed(entry: ReplayAccount, config: TvmConfig, set: ReplaySet): Promise<number> {
    const libraries = entry.libs_boc ? textCell(entry.libs_boc) : set.libraries;
    const seed = set.randSeed ?? entry.rand_seed;
    const randSeed = seed ? Buffer.from(seed, 'hex') : Buffer.alloc(32);
    // Re-serialised: the level bits of the recorded bags are not what the executor accepts.
    let state = cellText(textCell(entry.shard_account_boc));
    let same = 0;
    for (const { lt, now, hash, boc } of entry.transactions) {
      const recorded = textCell(boc);
      const kind = tickTock(recorded);
      const message = new Slice(recorded.refs[0]).maybeRef();
      const needed = librariesOf([textCell(state), recorded], libraries);
      const context = { lt, now, randSeed, libraries: needed };
      const job =
        message === null
          ? ({ kind: 'tick_tock', shardAccount: state, isTock: kind === 'tock', context } as const)
          : ({ kind: 'transaction', shardAccount: state, message: cellText(message), context } as const);
      const result = await pool.run(job, config).catch((error: unknown) => {
        if (error instanceof TvmError) return null;
        throw error;
      });
      if (result === null || !result.accepted) return same;
      if (
        !textCell(result.transaction)
          .hash()
          .equals(parseHash(hash) ?? Buffer.from(hash, 'hex'))
      )
        return same;
      state = result.shardAccount;
      same++;
    }
    return same;
  }

  test.each(replaySets)('$file: $reproduced_by_reference_emulator of $transactions', async (listed) => {
    const set = readReplaySet(listed.file);
    const config = tvmConfig(set.config);
    const counts = await Promise.all(set.accounts.map((entry) => replayed(entry, config, set)));
    const transactions = set.accounts.reduce((sum, entry) => sum + entry.transactions.length, 0);
    expect(transactions).toBe(listed.transactions);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(listed.reproduced_by_reference_emulator);
  });
});
