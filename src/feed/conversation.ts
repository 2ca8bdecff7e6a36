/** What a client says to its line and what it is answered, whatever carries it. */
import type { Address } from '../chain/model.ts';
import { type Admitted, RefusedError } from './admission.ts';
import type { Feed } from './feed.ts';
import { accountKey } from './hearing.ts';
import type { Line } from './line.ts';
import { CursorError } from './place.ts';
import { RequestError, readRequest, type Subscription } from './protocol.ts';

/** Of an answer; fields that are undefined are not printed. */
interface Reply {
  id?: string | undefined;
  status?: string;
  error?: string;
  oldest_cursor?: string | undefined;
}

/** Types that are accepted and not told of yet. */
const LATER = ['trace', 'actions', 'jettons_change'] as const;

export interface ConversationOptions {
  feed: Feed;
  line: Line;
  admitted: Admitted;
  signal: AbortSignal;
  /** Sees a subscription to what this service does not tell of yet. */
  onLater: (types: string[]) => void;
}

/** Subscribes a line. @returns what went wrong, in the words of the protocol; null when it is subscribed */
export async function subscribe(options: ConversationOptions, subscription: Subscription): Promise<Reply | null> {
  const { feed, line, admitted, signal, onLater } = options;
  try {
    admitted.addresses(subscription.addresses.length);
    await feed.subscribe(line, subscription, signal);
  } catch (error) {
    if (error instanceof RefusedError) return { error: error.message };
    if (error instanceof CursorError) return { error: error.message, oldest_cursor: error.oldest ?? undefined };
    throw error;
  }
  const later = LATER.filter((type) => subscription.types.has(type));
  if (later.length > 0) onLater(later);
  return null;
}

/** One message after the other: each is answered before the next is looked at. */
export function createConversation(options: ConversationOptions) {
  const { feed, line } = options;
  let last: Promise<void> = Promise.resolve();

  async function answer(text: string): Promise<void> {
    try {
      const request = readRequest(text, line.subscription);
      const { id } = request;
      if (request.operation === 'ping') return line.say({ id, status: 'pong' });
      if (request.operation === 'unsubscribe') {
        feed.narrow(line, without(line.subscription, request.addresses, request.traceHashes));
        options.admitted.addresses(line.subscription.addresses.length);
        return line.say({ id, status: 'unsubscribed' });
      }
      const error = await subscribe(options, request.subscription);
      line.say({ id, ...(error ?? { status: 'subscribed' }) });
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      line.say({ id: error.id, error: error.message });
    }
  }

  return {
    /** Rejects only when the service itself failed. */
    hear(text: string): Promise<void> {
      last = last.then(() => answer(text));
      return last;
    },
  };
}

function without(subscription: Subscription, addresses: readonly Address[], hashes: readonly string[]): Subscription {
  const gone = new Set(addresses.map(accountKey));
  return {
    ...subscription,
    addresses: subscription.addresses.filter((address) => !gone.has(accountKey(address))),
    traceHashes: new Set([...subscription.traceHashes].filter((hash) => !hashes.includes(hash))),
  };
}
