/** URIs that the content of tokens names and nobody has tried to fetch, oldest first. */
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes, list, u32 } from '../../clickhouse/literal.ts';
import type { Head } from '../../clickhouse/queries/head.ts';
import { uriHash } from '../chain/contracts/content.ts';

/** URIs of some steps that are read at once; of a single step all there are. */
const MOST = 10_000;
/** Steps that are looked at together: so many at first, then more or fewer as they name URIs. */
const FIRST_SPAN = 1_000;
const LARGEST_SPAN = 4_000_000;
const FACTOR = 4;
const TIMEOUT_MS = 120_000;
const row = z.object({ uri: z.string() });

/** Content of tokens by the table that has it. */
const CONTENTS = [
  ['jetton_masters', 'jetton_content'],
  ['nft_collections', 'collection_content'],
  ['nft_items', 'content'],
] as const;

/**
 * Goes once over the steps that have changed tokens, up to the head: of steps above it some rows may be missing. The
 * tables are in another order, so each look reads the steps of all rows, but the content of those alone that are of its
 * steps.
 */
export function createWanted(clickhouse: ClickHouse, head: Pick<Head, 'seqno' | 'refresh'>) {
  let from = 0;
  let span = FIRST_SPAN;

  async function named(to: number, signal: AbortSignal): Promise<string[]> {
    const all = CONTENTS.map(
      ([table, column]) =>
        `SELECT JSONExtractString(${column}, 'uri') AS uri FROM ${table} WHERE mc_seqno BETWEEN ${u32(from)} AND ${u32(to)}`,
    ).join(' UNION ALL ');
    const limit = to > from ? ` LIMIT ${MOST + 1}` : '';
    const sql = `SELECT DISTINCT uri FROM (${all}) WHERE uri != ''${limit}`;
    const asked = { label: 'reading the URIs of tokens', signal, timeoutMs: TIMEOUT_MS };
    return (await clickhouse.json(sql, row, asked)).map(({ uri }) => uri);
  }

  async function untried(uris: readonly string[], signal: AbortSignal): Promise<string[]> {
    if (uris.length === 0) return [];
    const keys = list(uris.map((uri) => bytes(uriHash(uri))));
    const sql = `SELECT DISTINCT uri FROM documents WHERE uri_hash IN ${keys}`;
    const asked = { label: 'reading which documents were fetched', signal, timeoutMs: TIMEOUT_MS };
    const known = new Set((await clickhouse.json(sql, row, asked)).map(({ uri }) => uri));
    return uris.filter((uri) => !known.has(uri));
  }

  return {
    /** Some of them; empty when all steps up to the head were looked at. */
    async next(signal: AbortSignal): Promise<string[]> {
      await head.refresh(signal);
      while (from <= head.seqno) {
        const to = Math.min(from + span - 1, head.seqno);
        const found = await named(to, signal);
        if (found.length > MOST && to > from) {
          span = Math.max(1, Math.floor((to + 1 - from) / FACTOR));
          continue;
        }
        const wanted = await untried(found, signal);
        from = to + 1;
        if (found.length < MOST / FACTOR) span = Math.min(span * FACTOR, LARGEST_SPAN);
        if (wanted.length > 0) return wanted;
      }
      return [];
    },
  };
}
