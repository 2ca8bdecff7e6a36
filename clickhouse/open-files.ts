import { readFile } from 'node:fs/promises';

/**
 * Files that a process has to be allowed: the engine holds three for each of its threads and one for most tables, with a
 * devnet 400 to 850.
 */
export const LEAST_OPEN_FILES = 1024;

/** How many files this process, and what it starts, may have open; null where the system does not tell. */
export async function openFilesLimit(): Promise<number | null> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  // Node has raised the first number, the soft limit, to the second at its start.
  const found = /^Max open files +(\d+)/m.exec(limits);
  return found && Number(found[1]);
}
