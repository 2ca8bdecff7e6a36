/**
 * Streaming v1, which TON Center has deprecated: types by address, nothing of levels. Who speaks it is told of the same
 * events as by v2, without `finality`; what is pending has types of its own.
 */
import { z } from 'zod';
import { accountKey } from './hearing.ts';
import {
  echoed,
  firstIssue,
  type Request,
  RequestError,
  readAddresses,
  readEnvelope,
  readJson,
  sticky,
} from './protocol.ts';
import { type EventType, NOTHING, type Subscription } from './subscription.ts';

const TYPES = [
  'transactions',
  'actions',
  'pending_transactions',
  'pending_actions',
  'account_state_change',
  'jettons_change',
] as const;
const PENDING_TYPES = ['pending_transactions', 'pending_actions'] as const;
/** Pushed to whoever hears of what is pending; accepted, as by v2. */
const IMPLICIT_TYPE = 'trace_invalidated';
const MOST = 100_000;
/** What is said of a message, or a body, of which nothing is understood. */
const UNREADABLE = 'invalid subscription request';
const FOR_BODY = ' for subscribe operation';

const texts = z.array(z.string()).max(MOST);
const options = {
  include_address_book: z.boolean().optional(),
  include_metadata: z.boolean().optional(),
  action_types: texts.optional(),
  supported_action_types: texts.optional(),
};
const configureFields = z.object(options);
const subscribeFields = z.object({ addresses: texts.default([]), types: texts.default([]) });
const setFields = z.object({ subscriptions: z.record(z.string(), texts) });
const unsubscribeFields = z.object({ addresses: texts.default([]) });
const bodyFields = z.object({ ...options, ...subscribeFields.shape });

type Options = z.output<typeof configureFields>;
type TypesOf = Map<string, ReadonlySet<EventType>>;

/** Of a connection before it says anything. */
export const NOTHING_V1: Subscription = { ...NOTHING, isV1: true, typesOf: new Map() };

/**
 * A message of a WebSocket client.
 * @throws {RequestError}
 */
export function readRequestV1(text: string, before: Subscription): Request {
  const json = readJson(text, `${UNREADABLE}: `);
  const { operation, id } = readEnvelope(json, UNREADABLE);
  const parse = <T>(schema: z.ZodType<T>, what = `invalid ${operation} request`): T => parsed(schema, json, what, id);
  switch (operation) {
    case 'ping':
      return { operation, id };
    case 'subscribe': {
      const { addresses, types } = parse(subscribeFields);
      const told = readTypes(types, id);
      const merged: TypesOf = new Map(before.typesOf);
      for (const key of readAddresses(addresses, id).map(accountKey)) {
        merged.set(key, new Set([...(merged.get(key) ?? []), ...told]));
      }
      return { operation, id, subscription: withTypes(before, merged), status: 'subscribed' };
    }
    case 'set_subscription': {
      const { subscriptions } = parse(setFields, 'invalid set_subscription');
      const set: TypesOf = new Map();
      for (const [address, types] of Object.entries(subscriptions)) {
        const [account] = readAddresses([address], id);
        set.set(accountKey(account), readTypes(types, id));
      }
      return { operation: 'subscribe', id, subscription: withTypes(before, set), status: 'subscription_set' };
    }
    case 'unsubscribe': {
      const left: TypesOf = new Map(before.typesOf);
      for (const account of readAddresses(required(parse(unsubscribeFields).addresses, id), id)) {
        left.delete(accountKey(account));
      }
      return { operation: 'subscribe', id, subscription: withTypes(before, left), status: 'unsubscribed' };
    }
    case 'configure': {
      const subscription = configured(before, parse(configureFields));
      return { operation: 'subscribe', id, subscription, status: 'configured' };
    }
    default:
      throw new RequestError(`unknown operation: ${echoed(operation)}`, id);
  }
}

/**
 * The body of a request for server-sent events.
 * @throws {RequestError}
 */
export function readBodyV1(text: string): { id: string | undefined; subscription: Subscription } {
  const json = readJson(text, `${UNREADABLE}: `);
  const { id } = readEnvelope(json, UNREADABLE);
  const asked = parsed(bodyFields, json, UNREADABLE, id);
  const accounts = readAddresses(required(asked.addresses, id, FOR_BODY), id);
  if (asked.types.length === 0) throw new RequestError(`types are required${FOR_BODY}`, id);
  const types = readTypes(asked.types, id);
  const typesOf: TypesOf = new Map(accounts.map((account) => [accountKey(account), types]));
  return { id, subscription: configured(withTypes(NOTHING_V1, typesOf), asked) };
}

function parsed<T>(schema: z.ZodType<T>, json: unknown, what: string, id: string | undefined): T {
  const result = schema.safeParse(json);
  if (!result.success) throw new RequestError(`${what}: ${firstIssue(result.error)}`, id);
  return result.data;
}

function required(addresses: readonly string[], id: string | undefined, suffix = ''): readonly string[] {
  if (addresses.length === 0) throw new RequestError(`addresses are required${suffix}`, id);
  return addresses;
}

function readTypes(asked: readonly string[], id: string | undefined): Set<EventType> {
  const types = new Set<EventType>();
  for (const type of asked) {
    const known = TYPES.find((name) => name === type);
    if (known === undefined && type !== IMPLICIT_TYPE)
      throw new RequestError(`invalid event type: ${echoed(type)}`, id);
    if (known !== undefined) types.add(known);
  }
  return types;
}

function withTypes(before: Subscription, typesOf: TypesOf): Subscription {
  const addresses = [...typesOf.keys()].map((key) => Buffer.from(key, 'latin1'));
  const types = new Set([...typesOf.values()].flatMap((some) => [...some]));
  const minFinality = PENDING_TYPES.some((type) => types.has(type)) ? 'pending' : 'finalized';
  return { ...before, start: null, addresses, types, typesOf, minFinality };
}

function configured(before: Subscription, asked: Options): Subscription {
  return {
    ...before,
    start: null,
    addressBook: asked.include_address_book ?? before.addressBook,
    metadata: asked.include_metadata ?? before.metadata,
    actionTypes: sticky(asked.action_types, before.actionTypes),
    supportedActionTypes: sticky(asked.supported_action_types, before.supportedActionTypes),
  };
}
