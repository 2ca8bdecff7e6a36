/** `/webhooks` of the v3 API: what is made, listed, told again and removed. Beyond the contract of TON Center. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ApiError } from '../api/errors.ts';
import type { ApiLimits } from '../api/limits.ts';
import { type Parameters, sent, sentLast } from '../api/parameters.ts';
import { type Asker, type Declaration, declare, type Route } from '../api/route.ts';
import { limit as pageLimit, offset as pageOffset } from '../api/v3/parameters.ts';
import type { Feed } from '../feed/feed.ts';
import { CursorError } from '../feed/place.ts';
import type { Positions } from '../feed/positions.ts';
import { RequestError, readSubscriber } from '../feed/protocol.ts';
import type { Start } from '../feed/subscription.ts';
import type { IsAllowed } from './addresses.ts';
import { refusalOf } from './poster.ts';
import { isSecret, newSecret } from './signature.ts';
import { type ListedLetter, type Webhook, type WebhookStore, weightOf } from './store.ts';
import type { InTurn } from './turns.ts';
import { progressOf } from './webhooks.ts';

export interface WebhookRoutesOptions {
  store: WebhookStore;
  positions: Positions;
  feed: Feed;
  /** Something was changed. */
  wake: () => void;
  inTurn: InTurn;
  /** Whether an address may be called. */
  isAllowed: IsAllowed;
  limits: ApiLimits;
  /** Webhooks of all keys; 0 for none at all. */
  maxWebhooks: number;
  /** Bytes that the subscriptions of all webhooks take in memory. */
  maxBytes: number;
  /** Addresses of one webhook. */
  maxAddresses: number;
}

/** Of one key, where a gateway names keys. */
const MOST_OF_A_KEY = 100;
const MOST_BATCH = 1_000;
const MOST_BODY_BYTES = 4 * 1024 * 1024;
const MOST_URL_LENGTH = 2_000;
const MOST_REPLAYED = 1_000;
const TAG = 'webhooks';

const url = sentLast
  .refine((text) => text.length <= MOST_URL_LENGTH, `at most ${MOST_URL_LENGTH} characters`)
  .meta({ type: 'string', format: 'uri', description: 'Where notifications are sent by POST.', required: true });
const subscription = z.looseObject({}).meta({
  type: 'object',
  description:
    'What it is told of: the fields of `subscribe` of streaming v2 (`types`, `addresses`, filters, `include_…`, `from_…`).',
  required: true,
});
const batch = z.int().min(1).max(MOST_BATCH).default(1).meta({
  type: 'integer',
  description: 'Most notifications in one request: 1 sends each as it is, more send a list.',
});
const secret = z
  .string()
  .refine(isSecret, '`whsec_` and 24 to 64 bytes as base64')
  .optional()
  .meta({ type: 'string', description: 'Key of the signatures: `whsec_` and base64. One is made unless given.' });
const id = sentLast.meta({ type: 'string', description: 'Of the webhook.', required: true });
const eventIds = sent
  .refine((ids) => ids.length <= MOST_REPLAYED, `at most ${MOST_REPLAYED}`)
  .default([])
  .meta({ type: 'array', items: { type: 'string' }, description: 'Dead letters to be told again.' });
const fromCursor = sentLast
  .optional()
  .meta({ type: 'string', description: 'Cursor behind which everything is told again, instead of single events.' });

const webhook = z
  .strictObject({
    id: z.string(),
    url: z.string(),
    subscription: z.looseObject({}),
    batch: z.int(),
    created_at: z.number().meta({ description: 'Unix seconds.' }),
    cursor: z.string().meta({ description: 'Behind the last event that was taken.' }),
    failures: z.int().meta({ description: 'Attempts that have failed since.' }),
    error: z.string().nullable().meta({ description: 'Of the last attempt, when it has failed.' }),
    dead_letters: z.int(),
  })
  .meta({ id: 'Webhook' });
const madeWebhook = z
  .strictObject({ ...webhook.shape, secret: z.string().meta({ description: 'Told here and nowhere else.' }) })
  .meta({ id: 'MadeWebhook' });
const deadLetter = z
  .strictObject({
    event_id: z.string(),
    cursor: z.string(),
    error: z.string(),
    at: z.number().meta({ description: 'Unix seconds.' }),
    replaying: z.boolean(),
  })
  .meta({ id: 'DeadLetter' });

export function webhookRoutes(options: WebhookRoutesOptions): Route<Asker>[] {
  return [makeRoute(options), listRoute(options), removeRoute(options), lettersRoute(options), replayRoute(options)];
}

function route<T extends Parameters>(declaration: Omit<Declaration<T, Asker>, 'tag' | 'acts'>): Route<Asker> {
  return declare({ ...declaration, tag: TAG, acts: true }, (issues) => {
    const reasons = issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
    return new ApiError(422, reasons.join('; '));
  });
}

function makeRoute(options: WebhookRoutesOptions): Route<Asker> {
  const { store, feed, wake, inTurn } = options;
  return route({
    path: '/webhooks',
    methods: ['POST'],
    summary: 'Makes a webhook',
    parameters: z.object({ url, subscription, batch, secret }),
    maxBodyBytes: MOST_BODY_BYTES,
    response: madeWebhook,
    async answer(asked, { key, context: { signal } }) {
      if (options.maxWebhooks === 0) throw new ApiError(501, 'this service has no webhooks (--webhooks 0)');
      const refusal = refusalOf(asked.url, options.isAllowed);
      if (refusal !== null) throw new ApiError(422, refusal);
      const { kept, start } = readSubscription(asked.subscription, options.maxAddresses);
      const made: Webhook = {
        id: randomUUID(),
        owner: key,
        url: asked.url,
        secret: asked.secret ?? newSecret(),
        subscription: kept,
        batch: asked.batch,
        start: await cursorAt(feed, start, signal),
        revision: 1,
        createdAt: Date.now(),
      };
      // Several hosts that make one in the same moment may make one each: no table of ClickHouse refuses a row.
      const make = async () => {
        await checkRoom(options, made, signal);
        await store.save(made, signal);
      };
      await inTurn('made', make, signal);
      wake();
      const progress = progressOf(made, undefined);
      return JSON.stringify({ ...shown(made, progress, 0), secret: made.secret });
    },
  });
}

function listRoute({ store, positions, inTurn }: WebhookRoutesOptions): Route<Asker> {
  return route({
    path: '/webhooks',
    summary: 'Webhooks of the key, and how far they are',
    parameters: z.object({}),
    response: z.strictObject({ webhooks: z.array(webhook) }),
    answer(_, { key, context: { signal } }) {
      const list = async () => {
        const own = await store.read({ owner: key }, signal);
        const ids = own.map((one) => one.id);
        const known = new Map((await positions.read('webhook', '', ids, signal)).map((one) => [one.name, one]));
        const letters = await store.countLetters(ids, signal);
        const webhooks = own.map((one) => shown(one, progressOf(one, known.get(one.id)), letters.get(one.id) ?? 0));
        return JSON.stringify({ webhooks });
      };
      // They may be much, so they are read for one at a time.
      return inTurn(`listed ${key}`, list, signal);
    },
  });
}

function removeRoute({ store, wake, inTurn }: WebhookRoutesOptions): Route<Asker> {
  return route({
    path: '/webhooks',
    methods: ['DELETE'],
    summary: 'Removes a webhook',
    parameters: z.object({ id }),
    response: z.strictObject({ id: z.string() }),
    async answer(asked, asker) {
      const { signal } = asker.context;
      const remove = async () => store.remove(await webhookOf(store, asked.id, asker), signal);
      await inTurn(asked.id, remove, signal);
      wake();
      return JSON.stringify({ id: asked.id });
    },
  });
}

function lettersRoute({ store, limits }: WebhookRoutesOptions): Route<Asker> {
  return route({
    path: '/webhooks/deadLetters',
    summary: 'Events that a webhook has refused too often',
    parameters: z.object({ id, limit: pageLimit(limits), offset: pageOffset() }),
    response: z.strictObject({ dead_letters: z.array(deadLetter) }),
    async answer({ id: asked, limit, offset }, asker) {
      const found = await webhookOf(store, asked, asker);
      const letters = await store.letters(found.id, { limit, offset }, asker.context.signal);
      return JSON.stringify({ dead_letters: letters.map(shownLetter) });
    },
  });
}

function replayRoute({ store, feed, wake, inTurn }: WebhookRoutesOptions): Route<Asker> {
  return route({
    path: '/webhooks/replay',
    methods: ['POST'],
    summary: 'Tells dead letters again, or everything behind a cursor; without either, the oldest dead letters',
    parameters: z.object({ id, event_ids: eventIds, from_cursor: fromCursor }),
    response: z.strictObject({ replayed: z.int().meta({ description: 'Dead letters that are told again.' }) }),
    async answer({ id: asked, event_ids: wanted, from_cursor: cursor }, asker) {
      const { signal } = asker.context;
      if (cursor !== undefined) {
        const change = async () => {
          const found = await webhookOf(store, asked, asker);
          const start = await cursorAt(feed, { cursor }, signal);
          await store.save({ ...found, start, revision: found.revision + 1 }, signal);
        };
        await inTurn(asked, change, signal);
        wake();
        return JSON.stringify({ replayed: 0 });
      }
      const found = await webhookOf(store, asked, asker);
      const chosen = await store.letters(found.id, { eventIds: wanted, limit: MOST_REPLAYED, offset: 0 }, signal);
      const again = chosen.map((letter) => ({ ...letter, state: 'replay' as const }));
      await store.saveLetters(again, signal);
      wake();
      return JSON.stringify({ replayed: again.length });
    },
  });
}

/** One of another key is as if it were not there. */
async function webhookOf(store: WebhookStore, wanted: string, { key, context }: Asker): Promise<Webhook> {
  const found = (await store.read({ ids: [wanted] }, context.signal)).find(({ owner }) => owner === key);
  if (found === undefined) throw new ApiError(404, `there is no webhook ${wanted.slice(0, 100)}`);
  return found;
}

async function checkRoom(
  { store, maxWebhooks, maxBytes }: WebhookRoutesOptions,
  { owner: key, subscription }: Webhook,
  signal: AbortSignal,
) {
  const all = await store.list(signal);
  const own = all.filter(({ owner }) => owner === key).length;
  if (all.length >= maxWebhooks) throw new ApiError(429, `too many webhooks: ${maxWebhooks} is the most of all keys`);
  if (key !== '' && own >= MOST_OF_A_KEY) throw new ApiError(429, `too many webhooks: ${MOST_OF_A_KEY} is the most`);
  if ((await store.weight(signal)) + weightOf(subscription) > maxBytes) {
    throw new ApiError(429, 'all webhooks together would listen to more than they may');
  }
}

/** The subscription as it is kept, and where it begins. */
function readSubscription(asked: Record<string, unknown>, maxAddresses: number): { kept: string; start: Start } {
  try {
    const { subscription: read, known } = readSubscriber(asked);
    const { length } = read.addresses;
    if (length > maxAddresses) throw new ApiError(422, `too many addresses: ${length} > max ${maxAddresses}`);
    const { size } = read.traceHashes;
    if (size > maxAddresses) throw new ApiError(422, `too many traces: ${size} > max ${maxAddresses}`);
    return { kept: JSON.stringify(known), start: read.start };
  } catch (error) {
    if (error instanceof RequestError) throw new ApiError(422, `subscription: ${error.message}`);
    throw error;
  }
}

async function cursorAt(feed: Feed, start: Start, signal: AbortSignal): Promise<string> {
  try {
    return await feed.cursorAt(start, signal);
  } catch (error) {
    if (error instanceof CursorError) throw new ApiError(422, error.message);
    throw error;
  }
}

function shown(one: Webhook, { cursor, failures, error }: ReturnType<typeof progressOf>, letters: number) {
  const known: unknown = JSON.parse(one.subscription);
  return {
    id: one.id,
    url: one.url,
    subscription: known,
    batch: one.batch,
    created_at: Math.floor(one.createdAt / 1000),
    cursor,
    failures,
    error: failures === 0 ? null : error,
    dead_letters: letters,
  };
}

function shownLetter({ eventId, cursor, error, savedAt, state }: ListedLetter) {
  const at = Math.floor(savedAt / 1000);
  return { event_id: eventId, cursor, error, at, replaying: state === 'replay' };
}
