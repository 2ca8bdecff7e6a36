import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cell, parseBocRoots, toBoc } from '../chain/builder.ts';
import { DecodeError } from '../chain/errors.ts';
import { cannotWrite } from './block-file.ts';

/** The states of all chains after a masterchain block: the masterchain's first, then by shard. */
export interface Checkpoint {
  mcSeqno: number;
  roots: Cell[];
}

const NAME = /^states-(\d+)\.boc$/;
const KEPT = 2;

function checkpointNames(folder: string): { name: string; mcSeqno: number }[] {
  const names = readdirSync(folder).flatMap((name) => {
    const match = NAME.exec(name);
    return match === null ? [] : [{ name, mcSeqno: Number(match[1]) }];
  });
  return names.sort((a, b) => b.mcSeqno - a.mcSeqno);
}

/** Where a checkpoint is written, always the same: one that was killed in the middle is written over. */
const DRAFT = 'states.part';

/**
 * Writes a checkpoint beside its name and moves it there; older ones but one go.
 * @throws {ChainFolderError} naming the file, where the disk refuses it
 */
export function writeCheckpoint(folder: string, { mcSeqno, roots }: Checkpoint): void {
  const draft = join(folder, DRAFT);
  try {
    writeFileSync(draft, toBoc(roots));
  } catch (error) {
    throw cannotWrite(draft, error);
  }
  renameSync(draft, join(folder, `states-${mcSeqno}.boc`));
  for (const { name } of checkpointNames(folder).slice(KEPT)) rmSync(join(folder, name));
}

/** The newest readable checkpoint that is not ahead of the blocks; null when there is none. */
export function readCheckpoint(folder: string, mcSeqno: number): Checkpoint | null {
  for (const found of checkpointNames(folder)) {
    if (found.mcSeqno > mcSeqno) continue;
    try {
      const bytes = readFileSync(join(folder, found.name));
      return { mcSeqno: found.mcSeqno, roots: parseBocRoots(bytes, { maxBytes: 2 ** 31 - 1, maxCells: 2 ** 26 }) };
    } catch (error) {
      // A damaged one costs time only: the one before it and the blocks lead to the same states.
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return null;
}
