import { text, u32, u64 } from './columns.ts';
import { table } from './table.ts';

/** Steps of the log that are not in the tables because a block of theirs cannot be decoded. */
export const gaps = table({
  name: 'gaps',
  columns: { mcSeqno: u32, firstOffset: u64, nextOffset: u64, block: text, error: text },
  kind: 'fact',
  key: ['mcSeqno'],
  carried: false,
});
