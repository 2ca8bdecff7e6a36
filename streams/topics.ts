/**
 * Every topic of the log: its key, its records, its version and how long it is kept. A topic has one partition; a
 * change that an old reader would misread goes into a new topic with the next version.
 */

import { type Config, settings } from '../src/config.ts';

const DEFAULT_TOPIC_PREFIX = settings.topicPrefix.schema.parse(undefined);

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const FOREVER = -1;

/**
 * `blocks`, `cells`, `documents` and `dead` are the log of record; `missing`, `wishes`, `mentions`, `steps`, `pending`
 * and `pendingTraces` are feeds that can be made again or lost.
 */
const TOPICS = {
  /** Key `workchain:shard:seqno`, value the block's bag of cells as received (envelope.ts). Never compacted. */
  blocks: { suffix: 'blocks.v1', retentionMs: FOREVER },
  /** Key hash of a code or data cell, value its bag of cells: what no block showed and a node was asked for
   * (cell-record.ts). Never compacted: a record counts from a place in `blocks` on. */
  cells: { suffix: 'cells.v1', retentionMs: FOREVER },
  /** Key hash of a URI that the content of tokens names, value what was fetched there (document-record.ts). */
  documents: { suffix: 'documents.v1', retentionMs: FOREVER },
  /** Key what the projection lacks, an account or a hash (missing.ts): questions to whoever has liteservers. A lost one
   * is asked when it is named again. Its writer trims it. */
  missing: { suffix: 'missing.v1', retentionMs: DAY_MS },
  /** The same, named by a person (`tonstream learn`). */
  wishes: { suffix: 'wishes.v1', retentionMs: DAY_MS },
  /** The same, mentioned by answers of the API. */
  mentions: { suffix: 'mentions.v1', retentionMs: DAY_MS },
  /** Key `topic:offset` of what could not be projected, value JSON (dead-letters.ts). */
  dead: { suffix: 'dead.v1', retentionMs: FOREVER },
  /** Key masterchain seqno, value the projected step for windows and feeds (steps-topic.ts). Its publisher trims it. */
  steps: { suffix: 'steps.v1', retentionMs: FOREVER },
  /** Key message hash, value the external message's bag of cells. */
  pending: { suffix: 'pending.v1', retentionMs: HOUR_MS },
  /** Key normalised message hash, value the pending trace as it stands (pending-trace.ts). Its writer trims it. */
  pendingTraces: { suffix: 'pending-traces.v1', retentionMs: HOUR_MS },
} as const;

export type TopicNames = Record<keyof typeof TOPICS, string>;

/** Full topic names. The prefix lets several networks share a broker, e.g. `ton.testnet`. */
export function topicNames(prefix: string = DEFAULT_TOPIC_PREFIX): TopicNames {
  return {
    blocks: `${prefix}.${TOPICS.blocks.suffix}`,
    cells: `${prefix}.${TOPICS.cells.suffix}`,
    documents: `${prefix}.${TOPICS.documents.suffix}`,
    missing: `${prefix}.${TOPICS.missing.suffix}`,
    wishes: `${prefix}.${TOPICS.wishes.suffix}`,
    mentions: `${prefix}.${TOPICS.mentions.suffix}`,
    dead: `${prefix}.${TOPICS.dead.suffix}`,
    steps: `${prefix}.${TOPICS.steps.suffix}`,
    pending: `${prefix}.${TOPICS.pending.suffix}`,
    pendingTraces: `${prefix}.${TOPICS.pendingTraces.suffix}`,
  };
}

/** What says which topics a service has. */
export type TopicsConfig = Pick<Config, 'topicPrefix' | 'clickhouseDatabase' | 'kafkaBrokers'>;

/**
 * The topics of a service. Several may project one log of a broker, each into a database of its own: what follows from
 * tables is told apart by their database, unless it is the default one. A log in a folder has one service at a time.
 */
export function topicsOf({ topicPrefix, clickhouseDatabase: database, kafkaBrokers }: TopicsConfig): TopicNames {
  const names = topicNames(topicPrefix);
  if (kafkaBrokers === undefined || database === settings.clickhouseDatabase.schema.parse(undefined)) return names;
  const { steps, pendingTraces } = topicNames(`${topicPrefix}.db-${database}`);
  return { ...names, steps, pendingTraces };
}

/** Milliseconds a topic's records are kept, -1 for ever (also for topics not listed here). */
export function topicRetentionMs(topic: string): number {
  const known = Object.values(TOPICS).find((entry) => topic.endsWith(`.${entry.suffix}`));
  return known === undefined ? FOREVER : known.retentionMs;
}

const OF_RECORD = [TOPICS.blocks, TOPICS.cells, TOPICS.documents, TOPICS.dead];

/** Whether a topic is part of the log of record: what it loses cannot be made again from the rest. */
export function isOfRecord(topic: string): boolean {
  return OF_RECORD.some(({ suffix }) => topic.endsWith(`.${suffix}`));
}

/** The characters and length Kafka allows; the embedded log holds to the same so that topics can move. */
export function isTopicName(topic: string): boolean {
  return /^[a-zA-Z0-9._-]{1,249}$/.test(topic) && topic !== '.' && topic !== '..';
}
