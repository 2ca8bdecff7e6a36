/** Documents from the log into their table, beside the steps: a row is its record, so what comes twice is the same. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { RowWriter } from '../../clickhouse/rowbinary.ts';
import { documents } from '../../clickhouse/tables/documents.ts';
import { tableColumns } from '../../clickhouse/tables/sql.ts';
import { decodeDocument, type StoredDocument } from '../document-record.ts';
import { EnvelopeError } from '../envelope.ts';
import { createFollower, type Followed } from '../follow.ts';
import type { EventLog, ReadOptions } from '../log.ts';
import { PositionError, rebuildAdvice } from './position.ts';

export interface DocumentsOptions {
  log: EventLog;
  topic: string;
  clickhouse: ClickHouse;
  /** The log wakes its readers itself. */
  continuous: boolean;
  /** It is tried again. */
  onTrouble(error: unknown): void;
  /** Of a record, which is passed over. */
  onUnreadable(error: unknown): void;
}

const BATCH_BYTES = 4 * 1024 * 1024;
/** Times that rows are inserted which a killed server loses. */
const TRIES = 3;
const placeRow = z.object({ next: z.coerce.number() });

type Batch = { rows: StoredDocument[] };

/** All that the topic has now. @throws {LogError} @throws {PositionError} */
export async function projectDocuments(options: DocumentsOptions, signal: AbortSignal): Promise<void> {
  const { next, end } = await start(options, signal);
  if (next === end) return;
  for await (const { items } of read(options, next, { signal, stopAtEnd: true })) await write(options, items, signal);
}

/** The same, and what comes; other trouble is told and tried again. Resolves when the signal aborts. @throws {PositionError} */
export async function followDocuments(options: DocumentsOptions, signal: AbortSignal): Promise<void> {
  const { log, topic, continuous, onTrouble } = options;
  const refused = new AbortController();
  await createFollower<Batch>({
    log,
    topic,
    read: (from, how) => read(options, from, how),
    position: async (aborted) => (await start(options, aborted)).next,
    take: (batch, aborted) => write(options, batch, aborted),
    onTrouble: (error) => (error instanceof PositionError ? refused.abort(error) : onTrouble(error)),
    continuous,
    maxBytes: BATCH_BYTES,
  }).run(AbortSignal.any([signal, refused.signal]));
  refused.signal.throwIfAborted();
}

/**
 * Behind what the table has, and where the topic ends. Of a topic that was made anew its rows would hide what is fetched from now on: they are newer
 * by their place.
 * @throws {PositionError} when the topic ends before
 */
async function start(options: DocumentsOptions, signal: AbortSignal): Promise<{ next: number; end: number }> {
  const { log, topic } = options;
  const next = await position(options, signal);
  const end = await log.end(topic);
  if (end >= next) return { next, end };
  throw new PositionError(
    `topic ${topic} ends at offset ${end}, the tables have its records up to ${next}: give the log the tables were ` +
      `made from, or ${rebuildAdvice()}`,
  );
}

/** Behind the newest record that the table has. */
async function position({ clickhouse }: DocumentsOptions, signal: AbortSignal): Promise<number> {
  const sql = `SELECT toString(if(count() = 0, 0, max(place) + 1)) AS next FROM ${documents.name}`;
  const [{ next }] = await clickhouse.json(sql, placeRow, { label: 'reading how far documents are', signal });
  return next;
}

/** A record that cannot be read is passed over: it stands alone. */
async function* read(
  { log, topic, onUnreadable }: DocumentsOptions,
  from: number,
  how: ReadOptions,
): AsyncGenerator<Followed<Batch>> {
  for await (const batch of log.read(topic, from, { maxBytes: BATCH_BYTES, ...how })) {
    const last = batch[batch.length - 1].offset;
    const rows = batch.flatMap((record) => {
      try {
        return decodeDocument(record, topic);
      } catch (error) {
        if (!(error instanceof EnvelopeError)) throw error;
        onUnreadable(error);
        return [];
      }
    });
    yield { items: { rows }, nextOffset: last + 1 };
  }
}

/** @throws Error when a server that is killed again and again loses the rows: they are to be read and written once more */
async function write(options: DocumentsOptions, { rows }: Batch, signal: AbortSignal): Promise<void> {
  if (rows.length === 0) return;
  const writer = new RowWriter();
  for (const { uriHash, offset, fetchedAt, uri, content, failures } of rows) {
    const found = content !== null;
    const text = JSON.stringify(content ?? {});
    const row = { uriHash, place: String(offset), fetchedAt, found, uri, content: text, failures };
    documents.write(writer, row);
  }
  const inserted = writer.take();
  for (let tries = 0; tries < TRIES; tries++) {
    // Another one each time: a killed server may remember the token of an insert whose rows it has lost.
    const asked = { dedupToken: randomUUID(), label: 'inserting documents', signal };
    await options.clickhouse.insert(documents.name, tableColumns(documents), inserted, asked);
    // The insert may have been repeated under its token, and is there as a whole or not at all.
    if ((await position(options, signal)) > rows[rows.length - 1].offset) return;
  }
  throw new Error('rows of documents do not stay');
}
