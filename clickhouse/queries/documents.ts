import { LRUCache } from 'lru-cache';
import type { TokenDocument } from '../../src/chain/contract-records.ts';
import { uriHash } from '../../src/chain/contracts/content.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { QueryContext } from '../../src/chain/records.ts';
import { documents } from '../tables/documents.ts';
import { hashes } from './keys.ts';
import type { Reading } from './reading.ts';

const KNOWN_BYTES = 32 * 1024 * 1024;
const ENTRY_BYTES = 300;
/** A document may be fetched again, and one that was not there a moment ago may be by now. */
const FOUND_MS = 600_000;
const NONE_MS = 30_000;

/** What was fetched under URIs, remembered for a while. Documents belong to no step: they are as they are now. */
export function documentQueries(reading: Reading) {
  const known = new LRUCache<string, { document: TokenDocument | null }>({
    maxSize: KNOWN_BYTES,
    sizeCalculation: ({ document }) => ENTRY_BYTES + (document?.content?.length ?? 0),
  });

  return {
    /** By URI; those that nobody has tried to fetch are left out. */
    async documents(uris: readonly string[], context: QueryContext): Promise<Map<string, TokenDocument>> {
      const found = new Map<string, TokenDocument>();
      const missing = new Map<string, string>();
      for (const uri of uris) {
        const held = known.get(uri);
        if (held === undefined) missing.set(hashKey(uriHash(uri)), uri);
        else if (held.document !== null) found.set(uri, held.document);
      }
      if (missing.size === 0) return found;
      const keys = [...missing.keys()].map((key) => Buffer.from(key, 'latin1'));
      const sql = `SELECT uri_hash, found, content FROM ${documents.name} WHERE uri_hash IN ${hashes(keys)} ORDER BY place`;
      const rows = await reading.rows(sql, 'documents of tokens', context);
      while (!rows.done) {
        const uri = missing.get(hashKey(rows.fixed(32)));
        const isFound = rows.bool();
        const content = documents.columns.content.read(rows);
        if (uri !== undefined) found.set(uri, { content: isFound ? content : null });
      }
      for (const uri of missing.values()) {
        const document = found.get(uri) ?? null;
        known.set(uri, { document }, { ttl: document === null ? NONE_MS : FOUND_MS });
      }
      return found;
    },
  };
}
