import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { EXPORT_FORMATS, EXPORTED, SLICE_STEPS } from '../api/export/slices.ts';
import { type Config, ConfigError } from '../config.ts';
import { httpUrl } from '../listen.ts';
import type { ImportIo } from './import.ts';
import { askService, flagError, refusalOf } from './service-request.ts';

const flagsOf = z.object({ format: z.enum(EXPORT_FORMATS).default('parquet') });
const seqno = z.coerce.number().int().min(0);
/** Too many requests, and not ready: of a service that says when it can be asked again. */
const LATER: readonly number[] = [429, 503];
const TOO_MUCH = 400;
/** How many more steps are asked for each time, after fewer had to be. */
const GROWTH = 1.25;
/** How many steps to ask for at a time, as the service says it of a slice that takes too much; null where it does not. */
const fewer = z.coerce.number().int().min(1).nullable().catch(null);
/** Seconds until the service can be asked again. */
const later = z.coerce.number().int().min(0).max(3_600).catch(1);
/** What the service takes until it answers, its turn included. */
const PATIENCE = 6;

export interface ExportIo extends Pick<ImportIo, 'print'> {
  signal: AbortSignal;
}

/**
 * `tonstream export VIEW FOLDER`: writes a view of the running service as files of whole steps, `VIEW-FROM-TO.parquet`,
 * up to the head. Started again it goes on behind the last file; a file is there when it is whole. `--from` begins at a
 * seqno. Where the service has too much to do, or is not ready, or the quota of the hour is used up, it waits; where so
 * many steps take more than a query may, it asks for fewer at a time.
 * @returns the exit code
 */
export async function runExport(
  { host, port, from, sqlTimeoutMs }: Pick<Config, 'host' | 'port' | 'from' | 'sqlTimeoutMs'>,
  words: readonly string[],
  flags: Record<string, unknown>,
  { print, signal }: ExportIo,
): Promise<number> {
  const [view, folder] = words;
  if (view === undefined || folder === undefined || words.length > 2) {
    throw new ConfigError(`export takes a view and a folder; views are ${EXPORTED.join(', ')}`);
  }
  const parsed = flagsOf.safeParse(flags);
  if (!parsed.success) throw flagError('export', parsed.error);
  const { format } = parsed.data;
  await mkdir(folder, { recursive: true });
  const began = await nextOf(folder, view, format);
  let next: number | null = Math.max(began ?? 0, startOf(from));
  let steps: number | null = null;
  while (next !== null) {
    const cut: string = steps === null ? '' : `&steps=${steps}`;
    const url = `${httpUrl(host, port)}/api/export/${view}?from=${next}&format=${format}${cut}`;
    const { response, bytes } = await askService(url, { timeoutMs: PATIENCE * sqlTimeoutMs, signal });
    // Nothing is newer than the last file.
    if (response.status === 422 && next === began) break;
    if (response.status !== 200) {
      const reason = refusalOf(bytes) ?? '';
      const less: number | null = response.status === TOO_MUCH ? fewer.parse(response.headers.get('x-steps')) : null;
      if (less !== null && (steps === null || less < steps)) {
        steps = less;
        print(`asking for ${steps} steps at a time: ${reason}`);
        continue;
      }
      const again = response.headers.get('retry-after');
      if (!LATER.includes(response.status) || again === null) throw new Error(`${url}: ${response.status} ${reason}`);
      const seconds = later.parse(again);
      print(`waiting ${seconds} s: ${reason}`);
      // Ended meanwhile: the next question says so.
      await sleep(1000 * seconds, undefined, { signal }).catch(() => undefined);
      continue;
    }
    const to: number = seqno.parse(response.headers.get('x-to-seqno'));
    const path = join(folder, `${view}-${next}-${to}.${format}`);
    try {
      await writeFile(`${path}.part`, bytes, { flush: true });
      await rename(`${path}.part`, path);
    } finally {
      await rm(`${path}.part`, { force: true });
    }
    print(`${path}: ${bytes.length} bytes`);
    next = response.headers.get('link') === null ? null : to + 1;
    if (steps !== null) steps = steps < SLICE_STEPS ? Math.ceil(steps * GROWTH) : null;
  }
  return 0;
}

/** @throws {ConfigError} for what is no seqno: a service can be asked for steps alone */
function startOf(from: string | undefined): number {
  const start = seqno.safeParse(from === undefined || from === 'genesis' ? 0 : from);
  if (!start.success)
    throw new ConfigError(`--from: export begins at a masterchain seqno, not at ${JSON.stringify(from)}`);
  return start.data;
}

/** The step behind the last file; null where there is none. */
async function nextOf(folder: string, view: string, format: string): Promise<number | null> {
  const name = new RegExp(`^${view}-\\d+-(\\d+)\\.${format}$`);
  const ends = (await readdir(folder)).flatMap((file) => name.exec(file)?.[1] ?? []).map(Number);
  return ends.length === 0 ? null : Math.max(...ends) + 1;
}
