/** Webhooks and their dead letters as they are kept beside the tables. */
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { list as listOf, textLiteral } from '../../clickhouse/literal.ts';
import { RowWriter } from '../../clickhouse/rowbinary.ts';
import { KEY_BYTES } from '../feed/load.ts';

export interface Webhook {
  id: string;
  /** Key that it was made with; empty without one. */
  owner: string;
  url: string;
  secret: string;
  /** The subscription as JSON, without its start. */
  subscription: string;
  /** Most notifications in one body; 1 sends them bare, more as a list. */
  batch: number;
  /** Cursor behind which it begins; counts from its revision on. */
  start: string;
  /** Raised with each change. */
  revision: number;
  /** Unix milliseconds; of one that is removed, when it was. */
  createdAt: number;
}

export type ListedWebhook = Pick<Webhook, 'id' | 'owner' | 'revision'>;

export interface DeadLetter {
  webhook: string;
  eventId: string;
  cursor: string;
  /** `replay`: to be told again. `taken`: it was, and has no more part in anything. */
  state: 'dead' | 'replay' | 'taken';
  error: string;
}

/** A dead letter as it is listed. Unix milliseconds. */
export type ListedLetter = DeadLetter & { savedAt: number };

export interface LetterPage {
  /** These alone; all when there are none. */
  eventIds?: readonly string[];
  limit: number;
  offset: number;
}

export interface WebhookStore {
  /** All of them, without what they say. */
  list(signal: AbortSignal): Promise<ListedWebhook[]>;
  /** Bytes that the subscriptions of all of them take in memory. */
  weight(signal: AbortSignal): Promise<number>;
  /** Those with these ids, or of a key by age. */
  read(which: { ids: readonly string[] } | { owner: string }, signal: AbortSignal): Promise<Webhook[]>;
  save(webhook: Webhook, signal: AbortSignal): Promise<void>;
  /** For good: nothing that is saved of it afterwards counts. */
  remove(webhook: Webhook, signal: AbortSignal): Promise<void>;
  /** Deletes what was kept of webhooks that were removed before then, in Unix milliseconds: some of them. */
  forget(before: number, signal: AbortSignal): Promise<void>;
  /** Oldest first; those that were taken are left out. */
  letters(webhook: string, asked: LetterPage, signal: AbortSignal): Promise<ListedLetter[]>;
  /** Of each of these webhooks the oldest ones. */
  toReplay(webhooks: readonly string[], limit: number, signal: AbortSignal): Promise<ListedLetter[]>;
  /** How many are dead or to be told again, by webhook. */
  countLetters(webhooks: readonly string[], signal: AbortSignal): Promise<Map<string, number>>;
  saveLetters(letters: readonly DeadLetter[], signal: AbortSignal): Promise<void>;
}

const HOOK_ROW = z.object({
  id: z.string(),
  owner: z.string(),
  url: z.string(),
  secret: z.string(),
  subscription: z.string(),
  batch: z.number(),
  start: z.string(),
  revision: z.number(),
  created_ms: z.coerce.number(),
});
const LISTED_ROW = HOOK_ROW.pick({ id: true, owner: true, revision: true });
const LETTER_ROW = z.object({
  webhook: z.string(),
  event_id: z.string(),
  cursor: z.string(),
  state: z.enum(['dead', 'replay', 'taken']),
  error: z.string(),
  saved_ms: z.coerce.number(),
});
const HOOK_COLUMNS = [
  'id',
  'owner',
  'url',
  'secret',
  'subscription',
  'batch',
  'start',
  'revision',
  'removed',
  'created_at',
];
const LETTER_COLUMNS = ['webhook', 'event_id', 'cursor', 'state', 'error'];
const LETTER_FIELDS = 'webhook, event_id, cursor, state, error, toUnixTimestamp64Milli(saved_at) AS saved_ms';
const STATES = { dead: 1, replay: 2, taken: 3 } as const;
/** Of one that is removed: the row with the highest one counts. */
const LAST_REVISION = 0xffffffff;
const OLDEST_FIRST = 'ORDER BY created_at, id';
const TIMEOUT_MS = 5_000;
/** Webhooks that are forgotten at a time. */
const MOST_FORGOTTEN = 1_000;
const FORGET_TIMEOUT_MS = 60_000;

/**
 * Webhooks that are read in one statement. A subscription may have 4 MB, and twice as much in a result: of 16 it was more
 * than a busy server told within the time of a statement.
 */
const READ_AT_ONCE = 4;

/** Of a subscription as text: it is kept, and read. */
const CHARACTER_BYTES = 3;

/** What a subscription takes in memory, told by its text: what is listened to stands between two commas. */
export function weightOf(subscription: string): number {
  return Buffer.byteLength(subscription) * CHARACTER_BYTES + (subscription.split(',').length - 1) * KEY_BYTES;
}

/** The same in SQL. */
const WEIGHT = `length(subscription) * ${CHARACTER_BYTES} + countSubstrings(subscription, ',') * ${KEY_BYTES}`;

/** @param clickhouse of the subscribers' database */
export function createWebhookStore(clickhouse: ClickHouse): WebhookStore {
  function list(where: string, signal: AbortSignal): Promise<ListedWebhook[]> {
    const sql = `SELECT id, owner, revision FROM webhooks FINAL WHERE NOT removed ${where}`;
    return clickhouse.json(sql, LISTED_ROW, {
      label: 'reading which webhooks there are',
      signal,
      timeoutMs: TIMEOUT_MS,
    });
  }

  async function readThese(ids: readonly string[], signal: AbortSignal): Promise<Webhook[]> {
    const rows = await clickhouse.json(
      `SELECT id, owner, url, secret, subscription, batch, start, revision,
         toUnixTimestamp64Milli(created_at) AS created_ms
       FROM webhooks FINAL WHERE NOT removed AND id IN ${listOf(ids.map(textLiteral))} ${OLDEST_FIRST}`,
      HOOK_ROW,
      { label: 'reading webhooks', signal, timeoutMs: TIMEOUT_MS },
    );
    return rows.map(({ created_ms: createdAt, ...row }) => ({ ...row, createdAt }));
  }

  async function write(hook: Webhook, removed: boolean, signal: AbortSignal): Promise<void> {
    const writer = new RowWriter();
    for (const value of [hook.id, hook.owner, hook.url, hook.secret, hook.subscription]) writer.string(value);
    writer.u16(hook.batch);
    writer.string(hook.start);
    writer.u32(hook.revision);
    writer.bool(removed);
    writer.i64(String(hook.createdAt));
    writer.endRow();
    const label = 'saving a webhook';
    await clickhouse.insert('webhooks', HOOK_COLUMNS, writer.take(), { label, signal, timeoutMs: TIMEOUT_MS });
  }

  async function selectLetters(where: string, signal: AbortSignal): Promise<ListedLetter[]> {
    const sql = `SELECT ${LETTER_FIELDS} FROM dead_letters FINAL WHERE ${where}`;
    const label = 'reading dead letters';
    const rows = await clickhouse.json(sql, LETTER_ROW, { label, signal, timeoutMs: TIMEOUT_MS });
    return rows.map(({ event_id: eventId, saved_ms: savedAt, ...row }) => ({ ...row, eventId, savedAt }));
  }

  return {
    list: (signal) => list(OLDEST_FIRST, signal),
    async weight(signal) {
      const sql = `SELECT sum(${WEIGHT}) AS bytes FROM webhooks FINAL WHERE NOT removed`;
      const asked = { label: 'reading what webhooks take', signal, timeoutMs: TIMEOUT_MS };
      const [{ bytes }] = await clickhouse.json(sql, z.object({ bytes: z.coerce.number() }), asked);
      return bytes;
    },
    async read(which, signal) {
      const ids =
        'ids' in which
          ? which.ids
          : (await list(`AND owner = ${textLiteral(which.owner)} ${OLDEST_FIRST}`, signal)).map(({ id }) => id);
      const webhooks: Webhook[] = [];
      for (let at = 0; at < ids.length; at += READ_AT_ONCE) {
        webhooks.push(...(await readThese(ids.slice(at, at + READ_AT_ONCE), signal)));
      }
      return webhooks;
    },
    save: (webhook, signal) => write(webhook, false, signal),
    remove({ id }, signal) {
      const nothing = { owner: '', url: '', secret: '', subscription: '', batch: 0, start: '' };
      return write({ ...nothing, id, revision: LAST_REVISION, createdAt: Date.now() }, true, signal);
    },
    async forget(before, signal) {
      const asked = { label: 'forgetting removed webhooks', signal, timeoutMs: FORGET_TIMEOUT_MS };
      const rows = await clickhouse.json(
        `SELECT id FROM webhooks FINAL
         WHERE removed AND created_at < fromUnixTimestamp64Milli(toInt64(${Math.floor(before)})) LIMIT ${MOST_FORGOTTEN}`,
        HOOK_ROW.pick({ id: true }),
        asked,
      );
      if (rows.length === 0) return;
      const ids = listOf(rows.map(({ id }) => textLiteral(id)));
      // The webhook last: it is what they are found by.
      await clickhouse.command(`DELETE FROM subscriber_positions WHERE kind = 'webhook' AND name IN ${ids}`, asked);
      await clickhouse.command(`DELETE FROM dead_letters WHERE webhook IN ${ids}`, asked);
      await clickhouse.command(`DELETE FROM webhooks WHERE id IN ${ids}`, asked);
    },
    letters(webhook, { eventIds = [], limit, offset }, signal) {
      const named = eventIds.length === 0 ? '' : `AND event_id IN ${listOf(eventIds.map(textLiteral))}`;
      const page = `ORDER BY saved_at, event_id LIMIT ${limit} OFFSET ${offset}`;
      return selectLetters(`webhook = ${textLiteral(webhook)} AND state != 'taken' ${named} ${page}`, signal);
    },
    async toReplay(webhooks, limit, signal) {
      if (webhooks.length === 0) return [];
      const named = listOf(webhooks.map(textLiteral));
      return selectLetters(
        `webhook IN ${named} AND state = 'replay' ORDER BY saved_at LIMIT ${limit} BY webhook`,
        signal,
      );
    },
    async countLetters(webhooks, signal) {
      if (webhooks.length === 0) return new Map();
      const rows = await clickhouse.json(
        `SELECT webhook, toUInt32(count()) AS letters FROM dead_letters FINAL
         WHERE webhook IN ${listOf(webhooks.map(textLiteral))} AND state != 'taken' GROUP BY webhook`,
        z.object({ webhook: z.string(), letters: z.number() }),
        { label: 'counting dead letters', signal, timeoutMs: TIMEOUT_MS },
      );
      return new Map(rows.map(({ webhook, letters }) => [webhook, letters]));
    },
    async saveLetters(letters, signal) {
      const writer = new RowWriter();
      for (const { webhook, eventId, cursor, state, error } of letters) {
        for (const value of [webhook, eventId, cursor]) writer.string(value);
        writer.u8(STATES[state]);
        writer.string(error);
        writer.endRow();
      }
      const label = 'saving dead letters';
      await clickhouse.insert('dead_letters', LETTER_COLUMNS, writer.take(), { label, signal, timeoutMs: TIMEOUT_MS });
    },
  };
}
