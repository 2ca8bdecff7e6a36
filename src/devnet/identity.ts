import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** What a devnet's zero state is made of: cannot change after the first start. */
export interface Identity {
  seed: string;
  /** Unix seconds of the zero state. */
  startUtime: number;
  /** Wallets that make traffic. */
  traders: number;
}

/** The folder holds another devnet than the one asked for. */
export class IdentityError extends Error {
  override name = 'IdentityError';
}

const FILE = 'devnet.json';

/**
 * Of what a zero state is made of beside the identity. 2: with validators whose keys are known. 3 to 6: with the people
 * of the stories. 7: with an exchange.
 */
const FORMAT = 7;

const stored = z.object({
  /** Earlier versions wrote none. */
  format: z.int().default(1),
  seed: z.string(),
  startUtime: z.int().min(0).max(0xffffffff),
  traders: z.int().min(2).max(100_000),
});

/**
 * The identity that the folder holds; on the first start the one given, which is then kept. Start time and number of
 * traders stay what they were first.
 * @param folder null keeps nothing
 * @throws {IdentityError} when the folder's seed is another, another version made it, or its file cannot be understood
 */
export function claimIdentity(folder: string | null, wanted: Identity): Identity {
  if (folder === null) return wanted;
  const path = join(folder, FILE);
  const text = readIfThere(path);
  if (text === null) {
    mkdirSync(folder, { recursive: true });
    writeDurably(path, JSON.stringify({ format: FORMAT, ...wanted }));
    return wanted;
  }
  const found = parse(text);
  if (found === null) throw new IdentityError(`${path} is not the file of a devnet`);
  const { format, ...identity } = found;
  if (format !== FORMAT) {
    const whose = format < FORMAT ? 'an earlier' : 'a later';
    throw new IdentityError(
      `${folder} holds a devnet that ${whose} version made, which this one cannot go on with: ` +
        'remove the data folder, or use another one (--data-dir), to begin a new devnet',
    );
  }
  if (found.seed !== wanted.seed) {
    throw new IdentityError(
      `${folder} holds the devnet with seed ${JSON.stringify(found.seed)}, not ${JSON.stringify(wanted.seed)}: ` +
        'use another folder or remove this one',
    );
  }
  return identity;
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

function parse(text: string): z.output<typeof stored> | null {
  try {
    return stored.safeParse(JSON.parse(text)).data ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Whole or not at all, also when the power goes. */
function writeDurably(path: string, text: string): void {
  const draft = `${path}.new`;
  const file = openSync(draft, 'w');
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}
