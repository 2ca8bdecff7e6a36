/** Accounts of a running devnet as earlier steps left them, with data that only a liteserver has still. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { type Stack, until } from '../stack.ts';

/** Accounts that are looked at at a time, and of how many the data has to have changed. */
const ACCOUNTS = 10;
const CHANGED = 2;

const transactions = z.object({
  transactions: z.array(z.object({ account: z.string(), mc_block_seqno: z.number() })),
});
const state = z.looseObject({
  address: z.string(),
  status: z.string(),
  data_hash: z.string().nullish(),
  data_boc: z.string().nullish(),
  code_boc: z.string().nullish(),
  last_transaction_lt: z.string(),
});
const states = z.object({ accounts: z.array(state) });
type State = z.output<typeof state>;

export function describeEarlier(stack: () => Stack): void {
  const get = async <T>(path: string, shape: z.ZodType<T>): Promise<T> => {
    const response = await fetch(`${stack().url}/api/v3/${path}`);
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return shape.parse(await response.json());
  };
  const stateOf = async (address: string, more = '') =>
    (await get(`accountStates?address=${address}${more}`, states)).accounts[0];

  const stepOf = async ({ address, last_transaction_lt: lt }: State) =>
    (await get(`transactions?account=${address}&lt=${lt}`, transactions)).transactions[0].mc_block_seqno;

  it('shows accounts as earlier steps left them, with the code and data they had', async () => {
    const seen = new Map<string, { left: State; step: number }>();
    const changed = new Map<string, { left: State; step: number }>();
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
