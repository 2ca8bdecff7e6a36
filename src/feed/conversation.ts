/** What a client says to its line and what it is answered, whatever carries it. */
import type { Address } from '../chain/model.ts';
import { type Admitted, RefusedError, refusalOfEverything } from './admission.ts';
import type { Feed } from './feed.ts';
import { accountKey } from './hearing.ts';
import type { Line } from './line.ts';
import { loadOf, loadOfBoth } from './load.ts';
import type { Named, Names } from './names.ts';
import { CursorError } from './place.ts';
import { type Request, RequestError } from './protocol.ts';
import { goesOn, type Subscription } from './subscription.ts';
import type { Pauses } from './turns.ts';

/** Of an answer; fields that are undefined are not printed. */
interface Reply {
  id?: string | undefined;
  status?: string;
  /** Behind which it begins. */
  cursor?: string | undefined;
  error?: string;
  oldest_cursor?: string | undefined;
}

export interface ConversationOptions {
  feed: Feed;
  line: Line;
  admitted: Admitted;
  signal: AbortSignal;
}

/** Where names are remembered. */
export interface TalkOptions extends ConversationOptions {
  /** The protocol that is spoken. @throws {RequestError} */
  readRequest: (text: string, before: Subscription) => Request;
  names: Names;
  /** What a client supports that does not say: `X-Actions-Version` of its connection, where a gateway sets one. */
  supportedActionTypes: readonly string[];
  /** Key whose names they are. */
  owner: string;
  /** Acknowledgements that wait to be noted; more wait to be heard. */
  maxUnnoted: number;
  /** Of all who talk: a few bytes may change a subscription to many addresses. */
  pauses: Pauses;
}

/**
 * Subscribes a line.
 * @param begins called when it is subscribed, before it is told anything
 * @param behind gives the cursor to begin behind in place of where the subscription says, once it is admitted
 * @returns what went wrong, in the words of the protocol; null when it is subscribed
 */
export async function subscribe(
  options: ConversationOptions,
  subscription: Subscription,
  begins?: () => void,
  behind?: () => Promise<string>,
): Promise<Reply | null> {
  const { feed, line, admitted, signal } = options;
  const refusal = refusalOfEverything(subscription, admitted.most);
  if (refusal !== null) return { error: refusal };
  try {
    await admitted.listens(loadOfBoth(line.subscription, subscription));
    try {
      const start = behind === undefined ? subscription.start : { cursor: await behind() };
      await feed.subscribe(line, { ...subscription, start }, signal, begins);
    } finally {
      await admitted.listens(loadOf(line.subscription));
    }
  } catch (error) {
    return refusalOf(error);
  }
  return null;
}

/** What a client is told of an error that is its own; others are thrown on. */
function refusalOf(error: unknown): Reply {
  if (error instanceof RefusedError) return { error: error.message };
  if (error instanceof CursorError) return { error: error.message, oldest_cursor: error.oldest ?? undefined };
  throw error;
}

/** One message after the other: each is answered before the next is looked at, and that once there is room for more. */
export function createConversation(options: TalkOptions) {
  const { feed, line, names, owner, signal } = options;
  let last: Promise<void> = Promise.resolve();
  const unnoted = new Set<Promise<void>>();

  /** That it has the name of its subscription. */
  let named: Named | null = null;

  /** From where the name was acknowledged, unless the client says where; a new name begins here. */
  async function subscribeNamed(subscription: Subscription, begins: () => void): Promise<Reply | null> {
    const { name, start } = subscription;
    if (name === null) return subscribe(options, subscription, begins);
    try {
      // What it has acknowledged itself counts.
      await Promise.all(unnoted);
      const known = await names.find(owner, name, signal);
      if (known.cursor === null) await names.checkRoom(owner, signal);
      const goesOnBehind = goesOn(start) ? null : known.cursor;
      // Who cannot begin there takes it from nobody.
      const cursor = await feed.cursorAt(goesOnBehind === null ? start : { cursor: goesOnBehind }, signal);
      const from = (acknowledged: string | null) => (goesOn(start) ? cursor : (acknowledged ?? cursor));
      let taken = null as Named | null;
      const failure = await subscribe(options, subscription, begins, async () => {
        taken = await names.take(owner, name, known, from, signal);
        return taken.cursor;
      });
      // Where it failed it goes on as it was, perhaps under another name.
      if (line.subscription.name === name) named = taken ?? named;
      return failure;
    } catch (error) {
      return refusalOf(error);
    }
  }

  /** Answered once it is noted; the next message does not wait for that. */
  async function acknowledge(id: string | undefined, cursor: string): Promise<void> {
    const { name } = line.subscription;
    if (name === null || named === null) return line.say({ id, error: 'ack requires a subscription with a name' });
    try {
      await feed.cursorAt({ cursor }, signal);
    } catch (error) {
      if (!(error instanceof CursorError)) throw error;
      return line.say({ id, error: error.message });
    }
    const noted = names.acknowledge(owner, name, { ...named, cursor }).then(
      () => line.say({ id, status: 'acked' }),
      (error: unknown) => {
        const refused = error instanceof RefusedError ? error.message : null;
        line.say({ id, error: refused ?? 'the position cannot be noted now: try again' });
      },
    );
    unnoted.add(noted);
    void noted.finally(() => unnoted.delete(noted));
    if (unnoted.size >= options.maxUnnoted) await Promise.all(unnoted);
  }

  /**
   * Nobody who is cut off before his first event misses what comes meanwhile. Who has said where it begins may say so
   * again, and of a name it is noted.
   */
  function beginning(): string | undefined {
    const { cursors, start, name } = line.subscription;
    return cursors && !goesOn(start) && name === null && line.place.mcSeqno > 0 ? feed.cursorOf(line) : undefined;
  }

  function before(): Subscription {
    const { supportedActionTypes } = line.subscription;
    if (supportedActionTypes.length > 0) return line.subscription;
    return { ...line.subscription, supportedActionTypes: options.supportedActionTypes };
  }

  async function answer(text: string): Promise<void> {
    try {
      const request = options.readRequest(text, before());
      const { id } = request;
      if (request.operation === 'ping') return line.say({ id, status: 'pong' });
      if (request.operation === 'unsubscribe') {
        feed.narrow(line, without(line.subscription, request.addresses, request.traceHashes));
        await options.admitted.listens(loadOf(line.subscription));
        return line.say({ id, status: 'unsubscribed' });
      }
      if (request.operation === 'ack') return await acknowledge(id, request.cursor);
      const { subscription, status } = request;
      const failure = await subscribeNamed(subscription, () => line.say({ id, status, cursor: beginning() }));
      if (failure !== null) line.say({ id, ...failure });
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      line.say({ id: error.id, error: error.message });
    }
  }

  return {
    /** Rejects only when the service itself failed. */
    hear(text: string): Promise<void> {
      last = last.then(async () => {
        if (!(await feed.room(line, signal))) return;
        await options.pauses.next();
        await answer(text);
      });
      return last;
    },
  };
}

function without(subscription: Subscription, addresses: readonly Address[], hashes: readonly string[]): Subscription {
  const gone = new Set(addresses.map(accountKey));
  const goneHashes = new Set(hashes);
  return {
    ...subscription,
    addresses: subscription.addresses.filter((address) => !gone.has(accountKey(address))),
    traceHashes: new Set([...subscription.traceHashes].filter((hash) => !goneHashes.has(hash))),
  };
}
