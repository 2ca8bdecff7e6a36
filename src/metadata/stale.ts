/** Documents that were fetched long ago, those that have waited longest first. */
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { u32 } from '../../clickhouse/literal.ts';

/** A document as it was fetched last. */
export interface Fetched {
  uri: string;
  /** What is known of it; null where nothing ever was. */
  content: Record<string, unknown> | null;
  /** Attempts since it was there last. */
  failures: number;
}

const PAGE = 500;
const TIMEOUT_MS = 120_000;
/** After a failure, twice as long after each further one, until it is the age at which all are fetched again. */
const FIRST_RETRY_SECONDS = 86_400;
const row = z.object({ uri: z.string(), found: z.boolean(), failures: z.number(), content: z.string() });
const contentOf = z.record(z.string(), z.unknown());

/** What `ipfs` names never changes: once found it stays. */
const DUE = (age: number, now: number): string =>
  `NOT (found AND failures = 0 AND startsWith(lower(uri), 'ipfs:'))
   AND fetched_at + if(failures = 0, ${u32(age)}, least(${u32(age)}, ${FIRST_RETRY_SECONDS} * exp2(failures - 1))) <= ${u32(now)}`;

/**
 * @param ageSeconds after which a document is fetched again
 * @param now Unix seconds
 */
export async function staleDocuments(
  clickhouse: ClickHouse,
  ageSeconds: number,
  now: number,
  signal: AbortSignal,
): Promise<Fetched[]> {
  // All documents are looked at, so without their content.
  const due = `SELECT uri_hash FROM documents FINAL WHERE ${DUE(ageSeconds, now)} ORDER BY fetched_at LIMIT ${PAGE}`;
  const rows = await clickhouse.json(
    `SELECT uri, found, failures, content FROM documents FINAL WHERE uri_hash IN (${due}) ORDER BY fetched_at`,
    row,
    { label: 'reading which documents are old', signal, timeoutMs: TIMEOUT_MS },
  );
  return rows.map(({ uri, found, failures, content }) => ({
    uri,
    failures,
    content: found ? contentOf.parse(JSON.parse(content)) : null,
  }));
}
