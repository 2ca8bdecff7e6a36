import { compareDecimal } from '../../src/chain/decimal.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Decimal, Hash, Message, Transaction } from '../../src/chain/model.ts';
import type { OpenMessage } from './packed.ts';
import { type PackedMessage, packMessage, unpackMessage } from './packed.ts';

export interface TraceLink {
  traceId: Hash;
  externalHash: Hash | null;
  /** The message as it was sent, when the sender is known. */
  sent: OpenMessage | null;
}

/** `-1:00..00`, the source of messages that the system itself makes. */
const SYSTEM = Buffer.concat([Buffer.from([0x7f, 0xff, 0xff, 0xff]), Buffer.alloc(32)]);

type SentMessage = Pick<Message, 'hash' | 'createdLt'>;

export type OpenMessages = ReturnType<typeof createOpenMessages>;

/**
 * Messages on their way, by hash, newest last. Bounded: above `limit` the oldest are dropped and looked up in the
 * tables when they arrive after all, which is also how a restarted projector finds the messages sent before it.
 * Only what the tables have is dropped, so the bound gives way to the batches that are being written.
 */
export function createOpenMessages(limit: number, onDrop: () => void) {
  const open = new Map<string, { message: PackedMessage; batch: number }>();
  let written = 0;
  let newestLt = '0';
  let droppedLt = '0';

  /** Not called by `written`: a batch that is being assembled counts on what was there when it began. */
  function dropOldest(): void {
    for (const [key, { batch }] of open) {
      if (open.size <= limit || batch > written) return;
      open.delete(key);
      droppedLt = newestLt;
      onDrop();
    }
  }

  return {
    /** `batch`: the batch that writes the message. */
    put({ hash, createdLt }: SentMessage, message: OpenMessage, batch: number): void {
      open.set(hashKey(hash), { message: packMessage(message), batch });
      if (createdLt !== null && compareDecimal(createdLt, newestLt) > 0) newestLt = createdLt;
      dropOldest();
    },
    /** A message is received once. */
    take(hash: Hash): OpenMessage | null {
      const key = hashKey(hash);
      const found = open.get(key);
      if (found === undefined) return null;
      open.delete(key);
      return unpackMessage(found.message);
    },
    has: (hash: Hash): boolean => open.has(hashKey(hash)),
    /** Every table has the batch now, and those before it. */
    written(batch: number): void {
      written = batch;
    },
    /** No message of a later `created_lt` was dropped; 0 when none was. */
    get droppedLt(): Decimal {
      return droppedLt;
    },
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
