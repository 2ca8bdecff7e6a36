import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const beside = fileURLToPath(new URL('../../shared', import.meta.url));

/**
 * Folder with recorded real blocks and test tools: `TONSTREAM_SHELF`, or `shared` beside the repository. Null when
 * there is none; in CI that is a failure, elsewhere a printed line.
 */
export const shelf: string | null = process.env.TONSTREAM_SHELF ?? (existsSync(beside) ? beside : null);

if (shelf === null) {
  const what = 'recorded data not found (set TONSTREAM_SHELF or put it at ../shared)';
  if (process.env.CI) throw new Error(what);
  process.stderr.write(`skipped: tests over recorded data: ${what}\n`);
}

/** The shelf, for code that runs only where a test was not skipped. */
export function requireShelf(): string {
  if (shelf === null) throw new Error('set TONSTREAM_SHELF to the folder with recorded data');
  return shelf;
}

/** Block files whose every answer was recorded too, from a private network; a masterchain block of some is missing. */
export const privateBlocks = (): string => join(requireShelf(), 'data/answers/private/blocks.ndjson.gz');
