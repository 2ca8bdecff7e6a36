/** The files of the schema: numbered, applied once and in order, and never changed afterwards. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export class MigrationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MigrationError';
  }
}

export interface Migration {
  number: number;
  /** File name. */
  name: string;
  /** SHA-256 of the file, hex. */
  checksum: string;
  statements: string[];
}

const PACKAGE_MIGRATIONS = fileURLToPath(new URL('./migrations', import.meta.url));
const FILE_NAME = /^(\d{3})_[a-z0-9_]+\.sql$/;

/** Statements end with a semicolon at the end of a line. Lines that begin with `--` are comments. */
export function splitStatements(sql: string): string[] {
  const code = sql
    .split(/\r?\n/)
    .filter((line) => !/^\s*--/.test(line))
    .join('\n');
  return code
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/**
 * The `NNN_name.sql` files of a folder by number.
 *
 * @throws MigrationError on a file of another name, a number taken twice, and an empty file
 */
export async function readMigrations(folder: string = PACKAGE_MIGRATIONS): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const number = FILE_NAME.exec(name)?.[1];
    if (number === undefined) throw new MigrationError(`${join(folder, name)} is not named NNN_name.sql`);
    const content = await readFile(join(folder, name), 'utf8');
    const statements = splitStatements(content);
    if (statements.length === 0) throw new MigrationError(`${join(folder, name)} holds no statement`);
    if (migrations.at(-1)?.number === Number(number)) {
      throw new MigrationError(`${migrations.at(-1)?.name} and ${name} have the same number`);
    }
    const checksum = createHash('sha256').update(content).digest('hex');
    migrations.push({ number: Number(number), name, checksum, statements });
  }
  return migrations;
}
