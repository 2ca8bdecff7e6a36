import type { ChainSource } from '../chain/chain-source.ts';
import type { Hash } from '../chain/model.ts';
import type { QueryContext, TransactionRecord } from '../chain/records.ts';

const PAGE = 1000;

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
