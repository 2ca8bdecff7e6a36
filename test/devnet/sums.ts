/** What must come out even on a chain at rest: transactions and traces, supplies and balances, actions and balances. */
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { readV3 } from '../stack.ts';

const transaction = z.object({ hash: z.string(), trace_id: z.string(), mc_block_seqno: z.number() });
const trace = z.object({
  trace_id: z.string(),
  is_incomplete: z.boolean(),
  transactions_order: z.array(z.string()),
  transactions: z.record(z.string(), z.object({ trace_id: z.string() })),
});
const action = z.object({
  type: z.string(),
  success: z.boolean(),
  trace_mc_seqno_end: z.number(),
  details: z.record(z.string(), z.unknown()),
});
const master = z.object({ address: z.string(), total_supply: z.string() });
const wallet = z.object({ address: z.string(), owner: z.string(), jetton: z.string(), balance: z.string() });

const point = z.object({ mc_seqno: z.number(), balance: z.string().nullable() });
const account = z.object({ address: z.string(), balance: z.string() });

/** What one side of a trade gave. */
const leg = z.object({
  asset: z.string().nullable(),
  source: z.string(),
  destination: z.string(),
  amount: z.string(),
});

const PAGE = 200;

/** A wallet of the zero state. */
export interface FirstWallet {
  address: string;
  owner: string;
  master: string;
  balance: bigint;
}

export interface SumsSubject {
  url: string;
  /** Jetton wallets that were there before the first block. */
  first: readonly FirstWallet[];
  /** A step in the middle, at which nothing is on its way. */
  rest: number;
  /** The mintless jetton: what is claimed was part of the supply before, and no action tells of it. */
  mintless: { master: string; unclaimed(): Promise<bigint> };
}

export function describeSums(subject: () => SumsSubject): void {
  const get = (path: string) => readV3(subject().url, path, z.looseObject({}));

  /** The newest first. */
  async function history(owner: string, jetton: string | null, limit: number) {
    const of = jetton === null ? '' : `&jetton=${jetton}`;
    const { points } = await get(`balanceHistory?address=${owner}${of}&limit=${limit}`);
    return z.array(point).parse(points);
  }

  async function walk<T>(endpoint: string, key: string, row: z.ZodType<T>, paging: 'cursor' | 'offset'): Promise<T[]> {
    const all: T[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const place = paging === 'cursor' ? `sort=asc&cursor=${cursor}` : `offset=${all.length}`;
      const body = z
        .looseObject({ next_cursor: z.string().nullish() })
        .parse(await get(`${endpoint}&limit=${PAGE}&${place}`));
      const rows = z.array(row).parse(body[key]);
      all.push(...rows);
      if (paging === 'cursor') cursor = body.next_cursor ?? null;
      else if (rows.length < PAGE) cursor = null;
    }
    return all;
  }

  let actions: z.infer<typeof action>[];
  let wallets: z.infer<typeof wallet>[];
  beforeAll(async () => {
    actions = await walk('actions?x_no_address_book=1', 'actions', action, 'cursor');
    wallets = await walk('jetton/wallets?x_no_address_book=1', 'jetton_wallets', wallet, 'offset');
  });

  it('every transaction is in exactly one trace', async () => {
    const transactions = await walk('transactions?x_no_address_book=1', 'transactions', transaction, 'cursor');
    const traces = await walk('traces?x_no_address_book=1', 'traces', trace, 'cursor');
    expect(traces.filter((one) => one.is_incomplete)).toEqual([]);
    const byTrace = new Map<string, string[]>();
    for (const { hash, trace_id } of transactions) {
      const own = byTrace.get(trace_id);
      if (own) own.push(hash);
      else byTrace.set(trace_id, [hash]);
    }
    expect(transactions.length).toBeGreaterThan(500);
    expect(traces.map((one) => one.trace_id).sort()).toEqual([...byTrace.keys()].sort());
    for (const { trace_id, transactions_order: order, transactions: own } of traces) {
      expect(order.toSorted(), trace_id).toEqual(byTrace.get(trace_id)?.sort());
      expect(Object.keys(own).sort()).toEqual(order.toSorted());
      for (const { trace_id: of } of Object.values(own)) expect(of).toBe(trace_id);
    }
  });

  /** Wallets of a jetton with what they have, those included that nothing has happened to. */
  function holders(jetton: string): Map<string, bigint> {
    const untouched = subject().first.filter((one) => one.master === jetton);
    return new Map([
      ...untouched.map(({ owner, balance }) => [owner, balance] as const),
      ...wallets.filter((one) => one.jetton === jetton).map(({ owner, balance }) => [owner, BigInt(balance)] as const),
    ]);
  }

  it('balances come to the supply of each jetton', async () => {
    const masters = await walk('jetton/masters?x_no_address_book=1', 'jetton_masters', master, 'offset');
    expect(masters.length).toBeGreaterThan(1);
    const { mintless } = subject();
    expect(masters.map(({ address }) => address)).toContain(mintless.master);
    for (const { address, total_supply: supply } of masters) {
      const unclaimed = address === mintless.master ? await mintless.unclaimed() : 0n;
      const sum = [...holders(address).values()].reduce((total, balance) => total + balance, unclaimed);
      expect(sum.toString(), address).toBe(supply);
    }
  });

  it('a history of balances ends with what there is', async () => {
    for (const { owner, jetton, balance } of wallets) {
      const [point] = await history(owner, jetton, 1);
      expect(point.balance, owner).toBe(balance);
    }
    const owners = [...new Set(wallets.map((one) => one.owner))];
    const path = `accountStates?include_boc=false&${owners.map((owner) => `address=${owner}`).join('&')}`;
    const { accounts } = z.object({ accounts: z.array(account) }).parse(await get(path));
    for (const { address, balance } of accounts) {
      const [point] = await history(address, null, 1);
      expect(point?.balance, address).toBe(balance);
    }
  });

  it('what actions tell of a jetton is what its balances have changed by', async () => {
    const told = new Map<string, bigint>();
    const owners = new Map(wallets.map(({ address, owner }) => [address, owner]));
    const add = (jetton: unknown, owner: unknown, amount: bigint): void => {
      if (typeof jetton !== 'string' || typeof owner !== 'string') return;
      const key = `${jetton} ${owner}`;
      told.set(key, (told.get(key) ?? 0n) + amount);
    };
    for (const { type, success, details, trace_mc_seqno_end: step } of actions) {
      if (!success || step <= subject().rest) continue;
      const { asset, sender, receiver, owner, stake_holder: holder } = details;
      const units = (name: string): bigint => BigInt(z.string().nullish().parse(details[name]) ?? 0);
      if (type === 'jetton_transfer') {
        // Of a governed jetton the master may send what is another's.
        const from = z.string().nullish().parse(details.sender_jetton_wallet);
        add(asset, (from && owners.get(from)) ?? sender, -units('amount'));
        add(asset, receiver, units('amount'));
      } else if (type === 'jetton_swap') {
        for (const side of [details.dex_incoming_transfer, details.dex_outgoing_transfer]) {
          const { asset, source, destination, amount } = leg.parse(side);
          add(asset, source, -BigInt(amount));
          add(asset, destination, BigInt(amount));
        }
      } else if (type === 'jetton_mint') add(asset, receiver, units('amount'));
      else if (type === 'jetton_burn') add(asset, owner, -units('amount'));
      else if (type === 'stake_deposit') add(asset, holder, units('tokens_minted'));
      else if (type === 'stake_withdrawal') add(asset, holder, -units('tokens_burnt'));
    }
    const changes: [string, bigint][] = [];
    for (const { address, owner, jetton, balance } of wallets) {
      if (jetton === subject().mintless.master) continue;
      const before = (await history(owner, jetton, 1_000)).find((point) => point.mc_seqno <= subject().rest);
      // What a wallet of the zero state had is not in its history before something happens to it.
      if (before === undefined && subject().first.some((one) => one.address === address)) continue;
      changes.push([`${jetton} ${owner}`, BigInt(balance) - BigInt(before?.balance ?? 0)]);
    }
    expect(changes.filter(([, change]) => change !== 0n).length).toBeGreaterThan(4);
    expect(changes.map(([key]) => [key, told.get(key) ?? 0n])).toEqual(changes);
  });
}
