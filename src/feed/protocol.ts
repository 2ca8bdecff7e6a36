/**
 * What a client may say over streaming v2 (the public TON Center protocol), and what of it is ours: everything beyond
 * the protocol is optional, and who does not ask for it is told nothing of it.
 */
import { z } from 'zod';
import { parseAddress, parseHash } from '../chain/address.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import {
  type EventType,
  type Filter,
  GROUPED_TYPE,
  goesOn,
  NOTHING,
  OWN_TYPES,
  type Start,
  type Subscription,
  V2_TYPES,
} from './subscription.ts';

/** Nothing is subscribed by it: who hears of a trace hears of its end. */
const IMPLICIT_TYPE = 'trace_invalidated';
/** Beyond the protocol, beside the types whose states it takes back. */
const STATES_BACK_TYPE = 'state_invalidated';
const STATE_TYPES: readonly EventType[] = ['account_state_change', 'jettons_change'];

/** A request that cannot be followed; the text is for the client. */
export class RequestError extends Error {
  override name = 'RequestError';
  /** As it came, echoed with the error. */
  readonly id: string | undefined;

  constructor(message: string, id?: string) {
    super(message);
    this.id = id;
  }
}

const texts = z.array(z.string()).max(100_000);
/** It stands in the answer. */
const requestId = z.string().max(1_000);
/** Of what makes no sense so much is said again. */
const MOST_ECHOED = 100;
const decimal = z
  .string()
  .regex(/^\d{1,39}$/, 'is no decimal number')
  .transform((text) => text.replace(/^0+(?=\d)/, ''));

const fields = z.object({
  id: requestId.optional(),
  types: texts.optional(),
  addresses: texts.optional(),
  trace_external_hash_norms: texts.optional(),
  min_finality: z.enum(['pending', 'confirmed', 'finalized']).optional(),
  include_address_book: z.boolean().optional(),
  include_metadata: z.boolean().optional(),
  action_types: texts.optional(),
  supported_action_types: texts.optional(),
  everything: z.boolean().optional(),
  workchain: z
    .int()
    .min(-(2 ** 31))
    .max(2 ** 31 - 1)
    .optional(),
  opcodes: texts.optional(),
  code_hashes: texts.optional(),
  min_value: decimal.optional(),
  max_value: decimal.optional(),
  direction: z.enum(['in', 'out']).optional(),
  jetton_masters: texts.optional(),
  nft_collections: texts.optional(),
  msg_body_hash: z.string().optional(),
  finality_scope: z.enum(['trace', 'transaction']).optional(),
  with_cursor: z.boolean().optional(),
  head_seconds: z.int().min(1).max(3600).optional(),
  on_lag: z.enum(['disconnect', 'skip']).optional(),
  name: z
    .string()
    .regex(/^[\w.:-]{1,100}$/, 'must be 1 to 100 letters, digits or _ . : -')
    .optional(),
  from_cursor: z.string().max(100).optional(),
  from_mc_seqno: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .optional(),
  from_utime: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .optional(),
  replay_existing: z.boolean().optional(),
});

type Fields = z.output<typeof fields>;

const unsubscribeFields = fields.pick({ id: true, addresses: true, trace_external_hash_norms: true });
const ackFields = z.object({ cursor: z.string().max(100) });
const envelope = z.object({ id: requestId.nullish(), operation: z.string().optional() });

export type Request =
  | { operation: 'subscribe'; id: string | undefined; subscription: Subscription; status: string }
  | { operation: 'unsubscribe'; id: string | undefined; addresses: readonly Address[]; traceHashes: readonly string[] }
  | { operation: 'ack'; id: string | undefined; cursor: string }
  | { operation: 'ping'; id: string | undefined };

/**
 * A message of a WebSocket client.
 * @param before what the connection had subscribed: fields that are left out keep their former value where the protocol
 *   says so
 * @throws {RequestError}
 */
export function readRequest(text: string, before: Subscription): Request {
  const json = readJson(text, 'invalid request envelope: ');
  const { operation, id } = readEnvelope(json);
  if (operation === 'ping') return { operation, id };
  if (operation === 'subscribe') {
    return { operation, id, subscription: readSubscription(json, before, id, SUBSCRIBE), status: 'subscribed' };
  }
  if (operation === 'unsubscribe') return readUnsubscribe(json, id);
  if (operation === 'ack') {
    const ack = ackFields.safeParse(json);
    if (!ack.success) throw new RequestError(`invalid ack request: ${firstIssue(ack.error)}`, id);
    return { operation, id, cursor: ack.data.cursor };
  }
  throw new RequestError(`unknown operation: ${echoed(operation)}`, id);
}

export function echoed(text: string): string {
  return text.slice(0, MOST_ECHOED);
}

/** What every message has. @throws {RequestError} */
export function readEnvelope(
  json: unknown,
  what = 'invalid request envelope',
): { operation: string; id: string | undefined } {
  const head = envelope.safeParse(json);
  if (!head.success) throw new RequestError(`${what}: ${firstIssue(head.error)}`);
  return { operation: head.data.operation ?? '', id: head.data.id ?? undefined };
}

/**
 * The body of a request for server-sent events.
 * @throws {RequestError}
 */
export function readBody(text: string): { id: string | undefined; subscription: Subscription } {
  return readSubscriber(readJson(text, 'invalid subscription request: '), SUBSCRIPTION);
}

/** The known fields of one, as JSON, read again for a webhook. @throws {RequestError} */
export function readKept(text: string): Subscription {
  return readSubscriber(readJson(text, 'invalid subscription request: ')).subscription;
}

/**
 * A subscription that is said once, as it stands.
 * @returns also its known fields as they came, but for where it begins: read again, they say the same
 * @throws {RequestError}
 */
export function readSubscriber(json: unknown, said = STANDING) {
  const head = envelope.safeParse(json);
  if (!head.success) throw new RequestError(`invalid subscription request: ${firstIssue(head.error)}`);
  const id = head.data.id ?? undefined;
  const subscription = readSubscription(json, NOTHING, id, said);
  if (subscription.name !== null) throw new RequestError('name is for WebSocket connections', id);
  const { id: _id, from_cursor: _cursor, from_mc_seqno: _seqno, from_utime: _utime, ...rest } = fields.parse(json);
  const { replay_existing: _existing, ...known } = rest;
  return { id, subscription, known };
}

/** A member that is null is as if it were left out. */
export function readJson(text: string, what: string): unknown {
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
    return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
  } catch (error) {
    if (error instanceof SyntaxError) throw new RequestError(`${what}${error.message}`);
    throw error;
  }
}

export function firstIssue(error: z.ZodError): string {
  const [issue] = error.issues;
  const path = echoed(issue.path.join('.'));
  return path === '' ? issue.message : `${path}: ${issue.message}`;
}

function readUnsubscribe(json: unknown, id: string | undefined): Request {
  const parsed = unsubscribeFields.safeParse(json);
  if (!parsed.success) throw new RequestError(`invalid unsubscribe request: ${firstIssue(parsed.error)}`, id);
  const { addresses = [], trace_external_hash_norms: hashes = [] } = parsed.data;
  if (addresses.length + hashes.length === 0) {
    throw new RequestError('addresses or trace_external_hash_norms are required', id);
  }
  return { operation: 'unsubscribe', id, addresses: readAddresses(addresses, id), traceHashes: readTraces(hashes, id) };
}

/**
 * What is said of a subscription that cannot be followed: of a message, of a body, and of what is kept for a webhook, which
 * is no stream of the protocol.
 */
const SUBSCRIBE = { what: 'invalid subscribe request', suffix: '', isStream: true };
const SUBSCRIPTION = { what: 'invalid subscription request', suffix: ' for subscription', isStream: true };
const STANDING = { ...SUBSCRIPTION, isStream: false };

function readSubscription(
  json: unknown,
  before: Subscription,
  id: string | undefined,
  { what, suffix, isStream }: typeof SUBSCRIBE,
): Subscription {
  const parsed = fields.safeParse(json);
  if (!parsed.success) throw new RequestError(`${what}: ${firstIssue(parsed.error)}`, id);
  const asked = parsed.data;
  const minFinality = asked.min_finality ?? before.minFinality;
  const start = startOf(asked, id);
  const byTrace = minFinality !== 'finalized' || (isStream && isPlain(asked, before));
  const types = readTypes(asked, byTrace, id, suffix);
  const filter = readFilter(asked, id);
  const addresses = readAddresses(asked.addresses ?? [], id);
  const hashes = readTraces(asked.trace_external_hash_norms ?? [], id);
  const hasTrace = types.has('trace');
  if (!hasTrace && hashes.length > 0) {
    throw new RequestError('trace_external_hash_norms requires type "trace"', id);
  }
  if (hasTrace && hashes.length === 0) {
    throw new RequestError('trace_external_hash_norms are required for trace subscription', id);
  }
  // The type that nothing is subscribed by is of addresses, too, where it stands alone.
  const isOfAddresses = types.size === 0 || [...types].some(needsAddress);
  if (addresses.length === 0 && !filter.everything && isOfAddresses) {
    throw new RequestError(`addresses are required${suffix}`, id);
  }
  if (
    filter.bodyHash !== null &&
    !(asked.types?.includes('transactions') && (addresses.length > 0 || filter.everything))
  ) {
    throw new RequestError('msg_body_hash requires addresses and type "transactions"', id);
  }
  return {
    types,
    statesBack: asked.types?.includes(STATES_BACK_TYPE) ?? false,
    addresses,
    traceHashes: new Set(hashes),
    minFinality,
    addressBook: asked.include_address_book ?? before.addressBook,
    metadata: asked.include_metadata ?? before.metadata,
    actionTypes: sticky(asked.action_types, before.actionTypes),
    supportedActionTypes: sticky(asked.supported_action_types, before.supportedActionTypes),
    filter,
    cursors: asked.with_cursor ?? (before.cursors || goesOn(start) || asked.name !== undefined),
    headSeconds: asked.head_seconds ?? before.headSeconds,
    onLag: asked.on_lag ?? before.onLag,
    start,
    name: asked.name ?? null,
    typesOf: null,
    isV1: false,
  };
}

/** Blocks have no address; all of them are told of unless the workchain is given. */
function needsAddress(type: EventType): boolean {
  return type !== 'trace' && type !== 'block';
}

/** An empty list does not clear what was said before. */
export function sticky(asked: readonly string[] | undefined, before: readonly string[]): readonly string[] {
  return asked === undefined || asked.length === 0 ? before : asked;
}

/** What the protocol has itself, beside the types. */
const OF_PROTOCOL: ReadonlySet<string> = new Set<keyof Fields>([
  'id',
  'types',
  'addresses',
  'trace_external_hash_norms',
  'min_finality',
  'include_address_book',
  'include_metadata',
  'action_types',
  'supported_action_types',
  'msg_body_hash',
  'replay_existing',
]);

/** Nothing is asked for that the protocol does not have. */
function isPlain(asked: Fields, before: Subscription): boolean {
  const isKnown = (type: string): boolean => type === IMPLICIT_TYPE || V2_TYPES.some((name) => name === type);
  return (
    !before.cursors && Object.keys(asked).every((name) => OF_PROTOCOL.has(name)) && asked.types?.every(isKnown) === true
  );
}

/**
 * The types, as they are told of: with `finality_scope` `trace` the transactions of a trace are told together, at last
 * when it has ended, else each at its own level. Who says nothing hears traces, as the protocol has it: its clients
 * replace what they knew of one. But who asks for more than that, and for nothing below `finalized`, hears each
 * transaction when it is final.
 */
function readTypes(
  { types: asked = [], finality_scope: said }: Fields,
  byTrace: boolean,
  id: string | undefined,
  suffix: string,
): Set<EventType> {
  if (asked.length === 0) throw new RequestError(`types are required${suffix}`, id);
  const scope = said ?? (byTrace ? 'trace' : 'transaction');
  const types = new Set<EventType>();
  for (const type of asked) {
    if (type === IMPLICIT_TYPE || type === STATES_BACK_TYPE) continue;
    const known = [...V2_TYPES, ...OWN_TYPES].find((name) => name === type);
    if (known === undefined) throw new RequestError(`invalid event type: ${echoed(type)}`, id);
    types.add(known === 'transactions' && scope === 'trace' ? GROUPED_TYPE : known);
  }
  if (asked.includes(STATES_BACK_TYPE) && !STATE_TYPES.some((type) => types.has(type))) {
    throw new RequestError(`${STATES_BACK_TYPE} requires type "account_state_change" or "jettons_change"`, id);
  }
  return types;
}

export function readAddresses(asked: readonly string[], id: string | undefined): Address[] {
  const found = new Map<string, Address>();
  for (const text of asked) {
    const address = parseAddress(text.trim());
    if (address === null) throw new RequestError(`invalid address: ${echoed(text)}`, id);
    found.set(address.toString('latin1'), address);
  }
  return [...found.values()];
}

/** As standard base64. What is no hash is no error, as in the protocol: no trace has it. */
function readTraces(asked: readonly string[], id: string | undefined): string[] {
  const hashes = asked.map((text) => text.trim());
  if (hashes.includes('')) throw new RequestError('trace_external_hash_norms contains empty value', id);
  return hashes.map((text) => parseHash(text)?.toString('base64') ?? text);
}

function readFilter(asked: Fields, id: string | undefined): Filter {
  return {
    everything: asked.everything ?? false,
    workchain: asked.workchain ?? null,
    opcodes: asked.opcodes ? new Set(asked.opcodes.map((text) => readOpcode(text, id))) : null,
    codeHashes: asked.code_hashes ? new Set(asked.code_hashes.map((text) => readHash(text, id))) : null,
    minValue: asked.min_value ?? null,
    maxValue: asked.max_value ?? null,
    direction: asked.direction ?? null,
    jettonMasters: readKeys(asked.jetton_masters, id),
    nftCollections: readKeys(asked.nft_collections, id),
    bodyHash: readBodyHash(asked.msg_body_hash, id),
  };
}

function readBodyHash(asked: string | undefined, id: string | undefined): string | null {
  if (asked === undefined) return null;
  const hash = parseHash(asked.trim());
  if (hash === null) throw new RequestError('invalid msg_body_hash', id);
  return hashKey(hash);
}

function readKeys(asked: readonly string[] | undefined, id: string | undefined): Set<string> | null {
  return asked === undefined ? null : new Set(readAddresses(asked, id).map(hashKey));
}

/** `0x` and hex digits, or a decimal number; 32 bits. */
function readOpcode(text: string, id: string | undefined): number {
  const value = /^(0x[0-9a-fA-F]{1,8}|\d{1,10})$/.test(text) ? Number(text) : Number.NaN;
  if (!(value < 2 ** 32)) throw new RequestError(`invalid opcode: ${echoed(text)}`, id);
  return value;
}

function readHash(text: string, id: string | undefined): string {
  const hash = parseHash(text);
  if (hash === null) throw new RequestError(`invalid hash: ${echoed(text)}`, id);
  return hash.toString('latin1');
}

function startOf(asked: Fields, id: string | undefined): Start {
  const { from_cursor: cursor, from_mc_seqno: mcSeqno, from_utime: utime } = asked;
  const existing = asked.replay_existing === true ? true : undefined;
  const given = [cursor, mcSeqno, utime, existing].filter((value) => value !== undefined).length;
  if (given > 1) throw new RequestError('give one of from_cursor, from_mc_seqno, from_utime and replay_existing', id);
  if (cursor !== undefined) return { cursor };
  if (mcSeqno !== undefined) return { mcSeqno };
  if (utime !== undefined) return { utime };
  return existing === undefined ? null : { existing };
}
