import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Config, ConfigError } from '../config.ts';

/** Makes the data folder where it is missing. @throws {ConfigError} where nothing can be written into it */
export function makeDataFolder({ dataDir }: Pick<Config, 'dataDir'>): void {
  const folder = resolve(dataDir);
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const { message } = reasonOf(folder, error);
    throw new ConfigError(`--data-dir: ${dataDir} cannot be written to: ${message}`, { cause: error });
  }
}

/**
 * Of several folders made at once Node says ENOENT whatever is in the way, a disk that is read only say: of one it says
 * what.
 */
function reasonOf(folder: string, given: unknown): Error {
  try {
    for (const missing of missingFolders(folder)) mkdirSync(missing);
  } catch (error) {
    given = error;
  }
  return given instanceof Error ? given : new Error(String(given));
}

/** Those on the way to a folder, and itself, the outermost first. */
function missingFolders(folder: string): string[] {
  return existsSync(folder) || dirname(folder) === folder ? [] : [...missingFolders(dirname(folder)), folder];
}
