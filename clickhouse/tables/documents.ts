import { bool, hash, text, u8, u32, u64 } from './columns.ts';
import { table } from './table.ts';

/**
 * The newest of what was fetched under each URI that the content of tokens names. It follows from the topic of
 * documents alone, `place` being the offset there, and belongs to no step.
 */
export const documents = table({
  name: 'documents',
  columns: {
    uriHash: hash,
    place: u64,
    /** Unix seconds. */
    fetchedAt: u32,
    /** False where there is no such document. */
    found: bool,
    uri: text,
    /** A JSON object. */
    content: text,
    /** Attempts since it was there last. */
    failures: u8,
  },
  kind: 'newest',
  key: ['uriHash'],
  version: 'place',
  steps: [],
  inStatus: true,
  carried: false,
});
