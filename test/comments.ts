/** A kind of row that exists only in tests: text comments by destination. All that it costs is in this file. */
import { address, hash, text, u32, u64 } from '../clickhouse/tables/columns.ts';
import { messages } from '../clickhouse/tables/messages.ts';
import { table } from '../clickhouse/tables/table.ts';
import { CellView } from '../src/chain/layouts/cell-view.ts';
import { commentOf } from '../src/chain/layouts/common.ts';
import { kind, ordered } from '../src/window/kind.ts';
import { followsFrom } from '../streams/project/projection.ts';

export const comments = table({
  name: 'comments',
  columns: { destination: address, createdLt: u64, hash, mcSeqno: u32, comment: text },
  kind: 'fact',
  key: ['destination', 'createdLt', 'hash'],
  clock: 'createdLt',
  indexes: [
    { name: 'comments_by_hash', key: ['hash'], also: ['destination', 'createdLt'] },
    { name: 'comments_by_step', key: ['mcSeqno', 'createdLt', 'hash'], also: ['destination'] },
  ],
});

const ENGINE = (key: string): string =>
  `ENGINE = ReplacingMergeTree ORDER BY ${key} SETTINGS non_replicated_deduplication_window = 1000`;

export const COMMENTS_SQL = [
  `CREATE TABLE comments (destination FixedString(36), created_lt UInt64, hash FixedString(32), mc_seqno UInt32,
     comment String) ${ENGINE('(destination, created_lt, hash)')}`,
  `CREATE TABLE comments_by_hash (hash FixedString(32), destination FixedString(36), created_lt UInt64) ${ENGINE('hash')}`,
  `CREATE TABLE comments_by_step (mc_seqno UInt32, created_lt UInt64, hash FixedString(32), destination FixedString(36))
     ${ENGINE('(mc_seqno, created_lt, hash)')}`,
  `CREATE MATERIALIZED VIEW comments_to_hash TO comments_by_hash AS SELECT hash, destination, created_lt FROM comments`,
  `CREATE MATERIALIZED VIEW comments_to_step TO comments_by_step AS
     SELECT mc_seqno, created_lt, hash, destination FROM comments`,
];

export const commentKind = kind({
  name: comments.name,
  columns: {
    destination: ordered(comments.columns.destination),
    createdLt: ordered(comments.columns.createdLt),
    hash: ordered(comments.columns.hash),
  },
  key: { name: 'place', key: ['destination', 'createdLt', 'hash'] },
});

/** Of the internal messages that the step received. */
export const commentsProjection = followsFrom({
  name: 'comments',
  version: 1,
  tables: [comments],
  project(rows) {
    for (const { message, destination, createdLt, hash, opcode, inMcSeqno } of rows.of(messages)) {
      if (inMcSeqno === 0 || opcode !== 0 || destination === null || createdLt === null) continue;
      const comment = commentOf(CellView.parse(message.bodyBoc()));
      if (comment === null) continue;
      rows.add(comments, { destination, createdLt, hash, mcSeqno: rows.mcSeqno, comment });
    }
  },
});
