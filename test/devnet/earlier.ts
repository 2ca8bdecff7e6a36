/** Accounts of a running devnet as earlier steps left them, with data that only a liteserver has still. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { readV3, type Stack, until } from '../stack.ts';

/** Accounts that are looked at at a time, and of how many the data has to have changed. */
const ACCOUNTS = 10;
const CHANGED = 2;

const transactions = z.object({
  transactions: z.array(z.object({ account: z.string(), mc_block_seqno: z.number() })),
});
const state = z.looseObject({
  address: z.string(),
  data_hash: z.string().nullish(),
  data_boc: z.string().nullish(),
  last_transaction_lt: z.string(),
});
const states = z.object({ accounts: z.array(state) });
type State = z.output<typeof state>;

interface Seen {
  left: State;
  /** That left it so. */
  step: number;
}

export function describeEarlier(stack: () => Stack): void {
  const get = <T>(path: string, shape: z.ZodType<T>): Promise<T> => readV3(stack().url, path, shape);
  const stateOf = async (address: string, more = '') =>
    (await get(`accountStates?address=${address}${more}`, states)).accounts[0];
  const stepOf = async ({ address, last_transaction_lt: lt }: State) =>
    (await get(`transactions?account=${address}&lt=${lt}`, transactions)).transactions[0].mc_block_seqno;

  it('shows accounts as earlier steps left them, with the code and data they had', async () => {
    const seen = new Map<string, Seen>();
    const changed = new Map<string, Seen>();
    await until('data that has changed', async () => {
      const { transactions: newest } = await get('transactions?workchain=0&limit=100&sort=desc', transactions);
      for (const address of [...new Set(newest.map(({ account }) => account))].slice(0, ACCOUNTS)) {
        const left = await stateOf(address);
        const before = seen.get(address);
        if (before && before.left.data_hash !== left.data_hash) changed.set(address, before);
        else if (!before && left.data_boc) seen.set(address, { left, step: await stepOf(left) });
      }
      return changed.size >= CHANGED ? true : null;
    });
    for (const { left, step } of changed.values()) {
      expect(await stateOf(left.address, `&at_mc_seqno=${step}`)).toEqual(left);
    }
  });
}
