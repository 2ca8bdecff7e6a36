import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import type { Cell } from '../src/chain/builder.ts';
import { textCell } from '../src/tvm/executor.ts';
import { requireShelf, shelf } from './shelf.ts';

const account = z.object({
  shard_account_boc: z.string(),
  rand_seed: z.string().nullish(),
  libs_boc: z.string().nullish(),
  transactions: z.array(z.object({ lt: z.string(), now: z.number(), hash: z.string(), boc: z.string() })),
});
const replay = z.object({
  config_boc: z.string(),
  libs_boc: z.string().nullish(),
  block: z.object({ rand_seed: z.string().nullish() }).nullish(),
  accounts: z.array(account),
});
const manifest = z.object({
  sets: z.array(z.object({ file: z.string(), transactions: z.number(), reproduced_by_reference_emulator: z.number() })),
});

export type ReplayAccount = z.infer<typeof account>;

/** Accounts before some recorded transactions, and these. */
export interface ReplaySet {
  config: Cell;
  /** Public libraries of the time. */
  libraries: Cell | null;
  randSeed: string | null;
  accounts: ReplayAccount[];
}

const folder = (): string => join(requireShelf(), 'data', 'replay');

/** What there is; nothing without the shelf. */
export const replaySets =
  shelf === null ? [] : manifest.parse(JSON.parse(readFileSync(join(folder(), 'manifest.json'), 'utf8'))).sets;

export const BUSY_BLOCK = 'mainnet_0_8000000000000000_71398501.json.gz';

export function readReplaySet(file: string): ReplaySet {
  const set = replay.parse(JSON.parse(gunzipSync(readFileSync(join(folder(), file))).toString()));
  return {
    config: textCell(set.config_boc),
    libraries: set.libs_boc ? textCell(set.libs_boc) : null,
    randSeed: set.block?.rand_seed ?? null,
    accounts: set.accounts,
  };
}
