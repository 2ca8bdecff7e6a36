/** URIs that the content of tokens names and nobody has tried to fetch, oldest first. */
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes, list, textLiteral, u32 } from '../../clickhouse/literal.ts';
import { uriHash } from '../chain/contracts/content.ts';

const PAGE = 1_000;
const TIMEOUT_MS = 120_000;
const row = z.object({ uri: z.string(), step: z.number() });

/** Content of tokens by the table that has it. */
const CONTENTS = [
  ['jetton_masters', 'jetton_content'],
  ['nft_collections', 'collection_content'],
  ['nft_items', 'content'],
] as const;

/** Pages through them in the order of the steps that have changed their tokens; the end is looked at again and again. */
export function createWanted(clickhouse: ClickHouse) {
  let behind = { step: 0, uri: '' };

  return {
    async next(signal: AbortSignal): Promise<string[]> {
      const { step, uri } = behind;
      const all = CONTENTS.map(
        ([table, column]) =>
          `SELECT JSONExtractString(${column}, 'uri') AS uri, mc_seqno FROM ${table} WHERE mc_seqno >= ${u32(step)}`,
      ).join(' UNION ALL ');
      const page = `SELECT uri, min(mc_seqno) AS step FROM (${all}) WHERE uri != '' GROUP BY uri
        HAVING (step, uri) > (${u32(step)}, ${textLiteral(uri)}) ORDER BY step, uri LIMIT ${PAGE}`;
      const named = await clickhouse.json(page, row, {
        label: 'reading the URIs of tokens',
        signal,
        timeoutMs: TIMEOUT_MS,
      });
      const last = named.at(-1);
      if (last === undefined) return [];
      const keys = list(named.map((one) => bytes(uriHash(one.uri))));
      const tried = await clickhouse.json(
        `SELECT DISTINCT uri FROM documents WHERE uri_hash IN ${keys}`,
        z.object({ uri: z.string() }),
        { label: 'reading which documents were fetched', signal, timeoutMs: TIMEOUT_MS },
      );
      behind = last;
      const known = new Set(tried.map((one) => one.uri));
      return named.flatMap((one) => (known.has(one.uri) ? [] : one.uri));
    },
  };
}
