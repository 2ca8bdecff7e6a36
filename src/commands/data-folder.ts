import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errorMessage } from '../chain/errors.ts';
import { type Config, ConfigError } from '../config.ts';

/** Makes the data folder where it is missing. @throws {ConfigError} where nothing can be written into it */
export function makeDataFolder({ dataDir }: Pick<Config, 'dataDir'>): void {
  const folder = resolve(dataDir);
  try {
    for (const missing of missingFolders(folder)) makeFolder(missing);
    accessSync(`${folder}/.`, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new ConfigError(`--data-dir: ${dataDir} cannot be written to: ${errorMessage(error)}`, { cause: error });
  }
}

/**
 * One, for of several made at once Node says ENOENT whatever is in the way, a disk that is read only say. Where a file
 * system says so of a folder whose parent is there, as /proc does, it tries without end.
 */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(folder)) throw error;
  }
}

/** Those on the way to a folder, and itself, the outermost first. */
function missingFolders(folder: string): string[] {
  return existsSync(folder) || dirname(folder) === folder ? [] : [...missingFolders(dirname(folder)), folder];
}
