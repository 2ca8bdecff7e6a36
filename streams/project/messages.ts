import { hashKey } from '../../src/chain/hash.ts';
import type { Message, Transaction } from '../../src/chain/model.ts';
import type { DecodedBlock, DecodedStep } from './decode.ts';
import type { OpenMessage } from './packed.ts';
import type { OpenMessages, TraceLink } from './traces.ts';

/**
 * Messages of one batch on their way: those that are sent in it and not received stay open. `earlier` is what the
 * tables know of messages that memory does not.
 */
export function createBatchMessages(openMessages: OpenMessages, earlier: Map<string, OpenMessage>, batch: number) {
  const leaving = new Map<string, { message: Message; open: OpenMessage }>();
  return {
    /** What is known of the sending side of a message that arrives; from then on it is no longer on its way. */
    receive(message: Message): OpenMessage | null {
      if (message.kind !== 'internal') return null;
      const key = hashKey(message.hash);
      const inBatch = leaving.get(key);
      if (inBatch) {
        leaving.delete(key);
        return inBatch.open;
      }
      return openMessages.take(message.hash) ?? earlier.get(key) ?? null;
    },
    /** Notes what a transaction sends. */
    send(transaction: Transaction, { record }: DecodedBlock, trace: TraceLink): void {
      for (const message of transaction.outMsgs) {
        if (message.kind !== 'internal') continue;
        // Views, not copies: what is kept beyond the batch is packed.
        const open: OpenMessage = {
          traceId: trace.traceId,
          externalHash: trace.externalHash,
          outTxHash: transaction.hash,
          outLt: transaction.lt,
          outMcSeqno: record.mcSeqno,
          globalVersion: record.header.genSoftware?.version ?? 0,
        };
        leaving.set(hashKey(message.hash), { message, open });
      }
    },
    /** What has not arrived with the batch is remembered. */
    end(): void {
      for (const { message, open } of leaving.values()) openMessages.put(message, open, batch);
    },
  };
}

/** Internal messages received in these steps and sent neither in them nor by one that is remembered. */
export function unknownMessages(steps: DecodedStep[], openMessages: OpenMessages): Message[] {
  const received = new Map<string, Message>();
  for (const transaction of transactionsOf(steps)) {
    const { inMsg } = transaction;
    if (inMsg?.kind === 'internal' && !openMessages.has(inMsg.hash)) received.set(hashKey(inMsg.hash), inMsg);
  }
  if (received.size === 0) return [];
  for (const { outMsgs } of transactionsOf(steps)) for (const { hash } of outMsgs) received.delete(hashKey(hash));
  return [...received.values()];
}

function* transactionsOf(steps: readonly DecodedStep[]): Generator<Transaction> {
  for (const { blocks } of steps) for (const { transactions } of blocks) yield* transactions;
}
