/** The steps in which one of some accounts has a transaction: history of a few accounts without reading all of it. */

import type { ChainSource } from '../chain/chain-source.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { QueryContext, TransactionFilter } from '../chain/records.ts';

export interface AccountSteps {
  /**
   * The first step from this one on, up to the newest one that was there when this was made; null when there is none.
   * To be asked with rising numbers.
   */
  next(from: number, signal: AbortSignal): Promise<number | null>;
}

export interface AccountStepsOptions {
  source: Pick<ChainSource, 'transactions'>;
  accounts: readonly Address[];
  /** Of the step before the first that is asked for, Unix seconds. */
  utime: number;
  context: (signal: AbortSignal) => QueryContext;
}

/** A block is committed within minutes after it was made; what was made so long before a step is of earlier ones. */
const MARGIN_SECONDS = 3_600;
const PAGE = 500;

export function createAccountSteps(options: AccountStepsOptions): AccountSteps {
  const ways = options.accounts.map((account) => createWay(account, options));
  return {
    async next(from, signal) {
      const nexts = await Promise.all(ways.map((way) => way.next(from, signal)));
      const found = nexts.filter((step) => step !== null);
      return found.length === 0 ? null : Math.min(...found);
    },
  };
}

/** One account's: in the order of its lt, which is that of the steps. */
function createWay(account: Address, { source, utime, context }: AccountStepsOptions): AccountSteps {
  let steps: number[] = [];
  let cursor: string | null = '';
  return {
    async next(from, signal) {
      for (;;) {
        steps = steps.slice(firstIndex(steps, from));
        if (steps.length > 0) return steps[0];
        if (cursor === null) return null;
        const filter = filterOf(account, Math.max(0, utime - MARGIN_SECONDS), cursor);
        const page = await source.transactions(filter, context(signal));
        steps = page.rows.map(({ mcSeqno }) => mcSeqno);
        cursor = page.nextCursor;
      }
    },
  };
}

function firstIndex(steps: readonly number[], from: number): number {
  const at = steps.findIndex((step) => step >= from);
  return at < 0 ? steps.length : at;
}

function filterOf(account: Address, start: number, cursor: string): TransactionFilter {
  const hashes: Hash[] = [];
  const page = { limit: PAGE, offset: 0 };
  const rest = { excludeAccounts: [], hashes, ltWindow: {}, page, cursor };
  return { accounts: [account], utime: { start }, sort: 'asc', ...rest };
}
