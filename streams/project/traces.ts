import type { Hash, Message, Transaction } from '../../src/chain/model.ts';

/** What is remembered of a message that was sent and not yet received. */
export interface OpenMessage {
  traceId: Hash;
  /** Hash of the in-message of the trace's root; null when the root has none. */
  externalHash: Hash | null;
  outTxHash: Hash;
  outLt: string;
  outMcSeqno: number;
  globalVersion: number;
}

export interface TraceLink {
  traceId: Hash;
  externalHash: Hash | null;
  /** The message as it was sent, when the sender is known. */
  sent: OpenMessage | null;
}

/** `-1:00..00`, the source of messages that the system itself makes. */
const SYSTEM = Buffer.concat([Buffer.from([0x7f, 0xff, 0xff, 0xff]), Buffer.alloc(32)]);

/** Key of a 32-byte hash in a Map. */
export const hashKey = (hash: Buffer): string => hash.toString('latin1');

export type OpenMessages = ReturnType<typeof createOpenMessages>;

/**
 * Messages on their way, by hash, newest last. Bounded: the oldest are dropped above `limit` and looked up in the
 * tables when they arrive after all, which is also how a restarted projector finds the messages sent before it.
 */
export function createOpenMessages(limit: number, onDrop: () => void) {
  const open = new Map<string, OpenMessage>();
  return {
    put(hash: Hash, message: OpenMessage): void {
      open.set(hashKey(hash), message);
      if (open.size <= limit) return;
      const oldest = open.keys().next().value;
      if (oldest !== undefined) open.delete(oldest);
      onDrop();
    },
    /** A message is received once. */
    take(hash: Hash): OpenMessage | null {
      const key = hashKey(hash);
      const message = open.get(key);
      if (message === undefined) return null;
      open.delete(key);
      return message;
    },
    has: (hash: Hash): boolean => open.has(hashKey(hash)),
    get size(): number {
      return open.size;
    },
  };
}

/** Whether this transaction begins a trace whatever was sent before (spec v3 semantics 3.1). */
export function startsTrace(inMsg: Message | null): boolean {
  if (inMsg === null || inMsg.kind === 'external_in') return true;
  return inMsg.source?.equals(SYSTEM) === true;
}

/**
 * The trace of a transaction (spec v3 semantics 3.1): the sender's when the message is known to be on its way; else a
 * new one, as it must be without in-message, with an external or a system one, and broken otherwise. A sender that is
 * known goes first: on some networks `-1:00..00` is a wallet as well.
 */
export function linkTrace(transaction: Transaction, sent: OpenMessage | null): TraceLink {
  const { inMsg } = transaction;
  if (sent !== null) return { traceId: sent.traceId, externalHash: sent.externalHash, sent };
  return { traceId: transaction.hash, externalHash: inMsg?.hash ?? null, sent };
}
