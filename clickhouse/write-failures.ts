/**
 * The engine of the chdb package takes a write that the system refuses, as on a full disk, for done: it acknowledges the
 * insert, or puts the merge in the place of what it has read, though the file is short. It counts these alone
 * (`WriteBufferFromFileDescriptor::nextImpl` of chdb-core). At its next start it sets such a part aside and goes on with
 * what a merge had read. So from the first one on nothing may build on what it has written since its start.
 */
import { z } from 'zod';
import type { ClickHouse } from './client.ts';

/** One row, or none for none. */
export const WRITE_FAILURES =
  "SELECT value FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed'";

/** @param folder of the engine, where that is known */
export function writeFailuresText(folder?: string): string {
  const where = folder === undefined ? 'the disk of the embedded ClickHouse server' : `the disk of ${folder}`;
  return `${where} refused to be written, as a full one does: make room there, then start again; what is not whole is made again`;
}

const row = z.object({ value: z.coerce.number() });

/** @throws {Error} when the embedded server may have acknowledged what is not on its disk */
export async function refuseLostWrites(clickhouse: Pick<ClickHouse, 'json'>, signal: AbortSignal): Promise<void> {
  const [found] = await clickhouse.json(WRITE_FAILURES, row, { label: 'looking for writes that failed', signal });
  if (found !== undefined && found.value > 0) throw new Error(writeFailuresText());
}
