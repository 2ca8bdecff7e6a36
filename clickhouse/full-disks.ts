import { z } from 'zod';
import { type ClickHouse, ClickHouseQueryError } from './client.ts';

/** What the server wants of a disk for the least insert. */
const LEAST_BYTES = 1024 * 1024;

const diskRow = z.object({ path: z.string(), kept: z.coerce.number() });

/** Of which disk of the server nothing is left for inserts, in words; null for none. Inserts are tried again meanwhile. */
export async function fullDisks(clickhouse: Pick<ClickHouse, 'json'>): Promise<string | null> {
  const sql = `SELECT path, keep_free_space AS kept FROM system.disks WHERE free_space < ${LEAST_BYTES} ORDER BY path`;
  const full = await clickhouse
    .json(sql, diskRow, { label: 'looking for full disks' })
    .catch((error: unknown): z.output<typeof diskRow>[] => {
      // On a server of one's own the right to look may be missing.
      if (error instanceof ClickHouseQueryError && error.serverType === 'ACCESS_DENIED') return [];
      throw error;
    });
  if (full.length === 0) return null;
  const disks = full.map(({ path, kept }) => path + (kept > 0 ? ` (but for ${Math.round(kept / 1024 ** 2)} MB)` : ''));
  return `the disk of ClickHouse is full: ${disks.join(', ')}: no step comes into the tables before there is room on it`;
}
