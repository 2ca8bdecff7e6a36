import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { readerStatements } from '../../clickhouse/reader.ts';
import { readerLimits } from '../api/sql/limits.ts';
import type { Config } from '../config.ts';
import { httpUrl } from '../listen.ts';
import type { ImportIo } from './import.ts';
import { askService, flagError, refusalOf } from './service-request.ts';

const flagsOf = z.object({
  format: z.enum(['csv', 'json', 'ndjson', 'parquet', 'arrow']).default('csv'),
  'as-of': z.coerce.number('a masterchain seqno is wanted').int().min(1).optional(),
  'user-statements': z.boolean().default(false),
});
/** What the service takes until it answers, and as long again for its turn. */
const PATIENCE = 2;

export interface SqlIo extends Pick<ImportIo, 'print'> {
  stdin?: AsyncIterable<Buffer>;
  stdout?: { write(bytes: Uint8Array): unknown };
  stderr?: { write(text: string): unknown };
  signal: AbortSignal;
}

/**
 * `tonstream sql "SELECT …"`: asks the running service and prints what it answers; the statement comes from standard
 * input where none is given. `--user-statements` prints how to make the user of SQL on a server of one's own.
 * @returns the exit code: 1 when the service refused or left rows out
 */
export async function runSql(
  config: Config,
  words: readonly string[],
  flags: Record<string, unknown>,
  { print, stdin = process.stdin, stdout = process.stdout, stderr = process.stderr, signal }: SqlIo,
): Promise<number> {
  const parsed = flagsOf.safeParse(flags);
  if (!parsed.success) throw flagError('sql', parsed.error);
  const { format, 'as-of': asOf, 'user-statements': statements } = parsed.data;
  if (statements) {
    for (const one of readerStatements(readerLimits(config), config.sqlUser)) print(`${one};`);
    return 0;
  }
  const sql = words.length > 0 ? words.join(' ') : await unlessStopped(text(stdin), signal);
  const url = `${httpUrl(config.host, config.port)}/api/sql`;
  const { response, bytes } = await askService(url, {
    method: 'POST',
    body: JSON.stringify({ sql, format, ...(asOf === undefined ? {} : { as_of: asOf }) }),
    timeoutMs: PATIENCE * config.sqlTimeoutMs,
    signal,
  });
  if (response.status !== 200) {
    const told = refusalOf(bytes) ?? `${response.status} ${Buffer.from(bytes).toString().slice(0, 300)}`;
    stderr.write(`tonstream sql: ${told}\n`);
    return 1;
  }
  stdout.write(bytes);
  if (format === 'json') print('');
  if (response.headers.get('x-truncated') !== 'true') return 0;
  stderr.write('tonstream sql: there are more rows: add LIMIT, or take another format\n');
  return 1;
}

/** What is waited for, unless the signal aborts before. */
function unlessStopped<T>(waited: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(new Error('stopped before there was a statement'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([waited, stopped]);
}
