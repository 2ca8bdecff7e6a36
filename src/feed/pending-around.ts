/** What is beside the events of pending traces: names and tokens of their addresses. */
import { type TokenInfos, tokenInfos } from '../api/v3/render/metadata.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { Address } from '../chain/model.ts';
import type { BookRecord, MessageRecord, QueryContext } from '../chain/records.ts';
import type { OpenTrace } from '../pending/store.ts';
import { accountKey } from './hearing.ts';
import type { Surroundings } from './notification.ts';
import { partsOf } from './pending-events.ts';
import { transactionAddresses } from './step.ts';

export interface PendingSurroundings extends Surroundings {
  /** Reads what is asked for, once. */
  load(what: { addressBook: boolean; metadata: boolean }, context: QueryContext): Promise<void>;
}

export function pendingSurroundings(one: OpenTrace, source: ChainSource): PendingSurroundings {
  const hash = one.trace.hashNorm.toString('base64');
  let book: Map<string, BookRecord> | null = null;
  let tokens: TokenInfos | null = null;

  async function readBook(context: QueryContext): Promise<Map<string, BookRecord>> {
    const { records, wallets, actions } = partsOf(one);
    const mentioned = actions.flatMap(({ mentions }) => [...mentions.values()]);
    const owned = [...wallets.values()].flatMap(({ owner, jetton }) => [owner, jetton]);
    const addresses = [...records.flatMap(transactionAddresses), ...mentioned, ...owned];
    const accounts = new Map(addresses.map((account) => [accountKey(account), account]));
    const found = await source.book([...accounts.values()], context);
    return new Map(found.map((record) => [accountKey(record.account), record]));
  }

  return {
    async load({ addressBook, metadata }, context) {
      if (!addressBook && !metadata) return;
      book ??= await readBook(context);
      if (!metadata || tokens !== null) return;
      tokens = await tokenInfos([...book.values()], source.contracts, context);
    },
    traceHash: () => hash,
    messageRecord(): MessageRecord {
      throw new Error('messages are told of when they are final');
    },
    bookRecords: (accounts: readonly Address[]) => accounts.flatMap((account) => book?.get(accountKey(account)) ?? []),
    metadata: (accounts) => tokens?.json(accounts) ?? '{}',
  };
}
