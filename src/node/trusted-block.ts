import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { BlockIdExt } from '../chain/model.ts';
import { FULL_SHARD } from '../chain/shard-ident.ts';
import type { GlobalConfig } from './global-config.ts';

const hash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .transform((text) => Buffer.from(text, 'hex'));
const stored = z.object({ seqno: z.int().min(1).max(0xffffffff), rootHash: hash, fileHash: hash });

/** The key block that proofs begin with, over the life of a process. */
export interface TrustedBlock {
  /** The newest of those known: the last one proven by an earlier run, or the config's init block, or its zero state. */
  readonly first: BlockIdExt;
  /** Keeps a key block for the next run. */
  keep(keyBlock: BlockIdExt): void;
}

/**
 * @param folder keeps a file for each network, named by its zero state; null keeps nothing
 * @throws {Error} for a file that cannot be understood: beginning anew in silence would believe the config once more
 */
export function openTrustedBlock({ zeroState, initBlock }: GlobalConfig, folder: string | null): TrustedBlock {
  const given = initBlock ?? zeroState;
  if (folder === null) return { first: given, keep: () => undefined };
  const path = join(folder, `key-block-${zeroState.rootHash.toString('hex', 0, 8)}.json`);
  const kept = readKept(path);
  return {
    first: kept !== null && kept.seqno > given.seqno ? kept : given,
    keep({ seqno, rootHash, fileHash }) {
      mkdirSync(folder, { recursive: true });
      const text = JSON.stringify({ seqno, rootHash: rootHash.toString('hex'), fileHash: fileHash.toString('hex') });
      writeFileSync(`${path}.new`, `${text}\n`);
      renameSync(`${path}.new`, path);
    },
  };
}

function readKept(path: string): BlockIdExt | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  try {
    return { workchain: -1, shard: FULL_SHARD, ...stored.parse(JSON.parse(text)) };
  } catch (cause) {
    const what = 'is no key block kept by tonstream: remove it to trust the init block of the global config again';
    throw new Error(`${path} ${what}`, { cause });
  }
}
