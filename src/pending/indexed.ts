import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { QueryContext, TransactionRecord } from '../chain/records.ts';
import { hashNormOf } from './merge.ts';

const PAGE = 1000;
/** Messages that are asked for together. */
const ASKED = 200;

/** All transactions of a step, by lt. */
export async function transactionsIn(
  mcSeqno: number,
  source: ChainSource,
  context: QueryContext,
): Promise<TransactionRecord[]> {
  const records: TransactionRecord[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const filter = { mcSeqno, accounts: [], excludeAccounts: [], hashes: [], utime: {}, ltWindow: {}, cursor };
    const page = { limit: PAGE, offset: 0 };
    const found = await source.transactions({ ...filter, sort: 'asc', page }, context);
    records.push(...found.rows);
    cursor = found.nextCursor;
  }
  return records;
}

/** Whether a message has been received. */
export async function isReceived(hashNorm: Hash, source: ChainSource, context: QueryContext): Promise<boolean> {
  const page = { limit: 1, offset: 0 };
  const found = await source.transactionsByMessage({ messageHashes: [hashNorm], sort: 'desc', page }, context);
  return found.length > 0;
}

/** Which of these messages have been received, by `hashKey`. */
export async function receivedAmong(
  messages: readonly { hashNorm: Hash }[],
  source: ChainSource,
  context: QueryContext,
): Promise<Set<string>> {
  const received = new Set<string>();
  for (let i = 0; i < messages.length; i += ASKED) {
    const messageHashes = messages.slice(i, i + ASKED).map(({ hashNorm }) => hashNorm);
    const page = { limit: PAGE, offset: 0 };
    const found = await source.transactionsByMessage({ messageHashes, sort: 'desc', page }, context);
    for (const { transaction } of found) {
      const { inMsg } = transaction;
      if (inMsg !== null) received.add(hashKey(hashNormOf(inMsg)));
    }
    // Accounts that take a message again and again may have filled the page.
    if (found.length < PAGE) continue;
    for (const hash of messageHashes) if (await isReceived(hash, source, context)) received.add(hashKey(hash));
  }
  return received;
}
