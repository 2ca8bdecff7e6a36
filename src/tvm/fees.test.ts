import { afterAll, describe, expect, test } from 'vitest';
import { BUSY_BLOCK, readReplaySet, replaySets } from '../../test/replay-set.ts';
import { shelf } from '../../test/shelf.ts';
import { openBoc } from '../chain/boc.ts';
import { Builder, type Cell, parseBoc } from '../chain/builder.ts';
import { findLeaf } from '../chain/dictionary.ts';
import type { Transaction } from '../chain/model.ts';
import { decodeTransaction } from '../chain/transaction.ts';
import { createGenesis } from '../devnet/genesis.ts';
import { type Account, EMPTY, readAccount } from './account.ts';
import type { ChainView } from './contract.ts';
import { textCell } from './executor.ts';
import { EstimateError, estimateFees, type FeeQuery } from './fees.ts';
import { createTvmPool, tvmConfig } from './pool.ts';
import { forwardFee, forwardPrices, gasFee, gasPrices, sizeBelow, storageFee } from './prices.ts';
import { address, assembled } from './test-contracts.ts';

const NOW = 1_700_000_000;
const pool = createTvmPool({ workers: 1, maxQueued: 1000, timeoutMs: 60_000 });
afterAll(() => pool.close());
const signal = AbortSignal.timeout(200_000);

/** Accounts before a recorded external message, with the transaction that it led to. */
function recordedExternals(file: string) {
  const { accounts, ...set } = readReplaySet(file);
  const cases = accounts.flatMap(({ shard_account_boc: bag, transactions: [first] }) => {
    const boc = openBoc(Buffer.from(first.boc, 'base64'));
    const transaction = decodeTransaction(boc, boc.roots[0], 0);
    const account = readAccount(textCell(bag).refs[0]);
    const isCase = transaction.inMsg?.kind === 'external_in' && transaction.inMsg.init === null;
    return isCase && account?.status.type === 'active' ? [{ account, transaction }] : [];
  });
  const library = async (hash: Buffer) => findLeaf(set.libraries, 256, hash)?.ref() ?? null;
  const view: ChainView = { config: tvmConfig(set.config), prevBlocks: null, library };
  return { view, cases };
}

function queryOf(account: Account, transaction: Transaction): FeeQuery {
  const body = parseBoc(transaction.inMsg?.bodyBoc() ?? Buffer.alloc(0));
  return { address: account.address, account, now: transaction.now, body, init: null, ignoreSignatures: false };
}

describe.skipIf(shelf === null)('recorded external messages cost what was estimated', () => {
  test.each([BUSY_BLOCK, 'mainnet_0_8000000000000000_56703839.json.gz'])('%s', async (file) => {
    expect(replaySets.map((set) => set.file)).toContain(file);
    const { view, cases } = recordedExternals(file);
    expect(cases.length).toBeGreaterThan(3);
    let asPredicted = 0;
    for (const { account, transaction } of cases) {
      const { storage, compute, action } = transaction.description;
      if (compute === null || compute.skipped) throw new Error('an external message that ran has a compute phase');
      const fees = await estimateFees(pool, view, queryOf(account, transaction), signal).catch((error: unknown) => {
        if (error instanceof EstimateError) return null;
        throw error;
      });
      if (fees === null) continue;
      expect(fees.gas).toBe(BigInt(compute.gasFees));
      expect(fees.storage).toBe(BigInt(storage?.collected ?? 0) - account.storage.due);
      if (!action?.success) continue;
      // The node lays some messages out anew before it counts them, and leaves out what it cannot send.
      if (fees.forward === BigInt(action.totalFwdFees ?? 0)) asPredicted++;
    }
    expect(asPredicted / cases.length).toBeGreaterThan(0.7);
  });
});

describe('by the rules', () => {
  const { config } = createGenesis('fees', [], NOW);
  const view: ChainView = { config: tvmConfig(config), prevBlocks: null, library: async () => null };
  const account = (code: Cell | null, balance = '1000000000'): Account => ({
    address,
    storage: { usedCells: 10n, usedBits: 1000n, lastPaid: NOW - 1_000_000, due: 0n },
    balance,
    extraCurrencies: {},
    status: code === null ? { type: 'uninit' } : { type: 'active', code, data: EMPTY },
  });
  const estimate = (more: Partial<FeeQuery>) =>
    estimateFees(
      pool,
      view,
      { address, account: null, now: NOW, body: EMPTY, init: null, ignoreSignatures: true, ...more },
      signal,
    );
  const flat = gasPrices(config, false).flatPrice;

  // As ton-http-api 2.0.68 says (`npm run compare:v2`): what stands in the root itself is not counted.
  test('the message counts without its root, each cell once', async () => {
    const leaf = new Builder().u(1, 20).cell();
    const body = new Builder()
      .u(7, 100 - 52)
      .ref(leaf)
      .ref(leaf)
      .cell();
    const { inForward } = await estimate({ body });
    expect(inForward).toBe(forwardFee(forwardPrices(config, false), { cells: 1n, bits: 20n }));
    const init = { code: assembled.accepts, data: leaf };
    const deployed = await estimate({ body, init });
    const size = { cells: 2n, bits: 20n + BigInt(assembled.accepts.bits) };
    expect(deployed.inForward).toBe(forwardFee(forwardPrices(config, false), size));
  });

  test('storage is paid up to now', async () => {
    const { storage } = await estimate({ account: account(null) });
    expect(storage).toBe(storageFee(config, false, { cells: 10n, bits: 1000n }, NOW - 1_000_000, NOW));
    expect(storage).toBeGreaterThan(0n);
    expect((await estimate({})).storage).toBe(0n);
  });

  test('nothing to run shows the flat price, nothing accepted no price', async () => {
    expect((await estimate({})).gas).toBe(flat);
    expect((await estimate({ account: account(null) })).gas).toBe(flat);
    expect((await estimate({ account: account(assembled.accepts, '0') })).gas).toBe(flat);
    expect(await estimate({ account: account(assembled.refuses) })).toMatchObject({ gas: 0n, forward: 0n });
  });

  test('signatures count only when they are asked for', async () => {
    const signed = account(assembled.checksSignature);
    expect((await estimate({ account: signed, ignoreSignatures: true })).gas).toBeGreaterThan(0n);
    expect((await estimate({ account: signed, ignoreSignatures: false })).gas).toBe(0n);
  });

  test('given code runs in the place of the account’s own', async () => {
    const init = { code: assembled.accepts, data: EMPTY };
    expect((await estimate({ account: account(assembled.refuses), init })).gas).toBeGreaterThan(0n);
  });

  test('the contract sees its balance as it stands', async () => {
    const balance = 50_000_000;
    const seen = (nanotons: number) =>
      estimate({ account: account(assembled.acceptsBalance(nanotons), balance.toString()) });
    expect((await seen(balance)).gas).toBeGreaterThan(0n);
    expect((await seen(balance - 1)).gas).toBe(0n);
  });

  test('a failure after accepting costs its gas and sends nothing', async () => {
    const { gas, forward } = await estimate({ account: account(assembled.fails) });
    expect(gas).toBeGreaterThan(0n);
    expect(forward).toBe(0n);
  });

  test('what is sent costs by its destination', async () => {
    const body = new Builder().ref(new Builder().u(5, 40).cell()).cell();
    const size = sizeBelow(new Builder().ref(body).cell());
    const base = await estimate({ account: account(assembled.sends([assembled.messageTo(0, body)])) });
    expect(base.forward).toBe(forwardFee(forwardPrices(config, false), size));
    const message = assembled.messageTo(-1, body);
    const master = await estimate({ account: account(assembled.sends([message, message])) });
    expect(master.forward).toBe(2n * forwardFee(forwardPrices(config, true), size));
  });

  test('what cannot be estimated is told', async () => {
    await expect(estimate({ account: account(assembled.setsCode) })).rejects.toThrow(
      'estimate_fee: action_set_code unsupported',
    );
    const many = Array(21).fill(assembled.messageTo(0, EMPTY));
    await expect(estimate({ account: account(assembled.sends(many)) })).rejects.toThrow('more than 20 actions');
  });

  test('gas costs the flat price up to the flat limit', () => {
    const prices = { flatLimit: 100n, flatPrice: 40_000n, price: 65_536n * 10n + 1n, limit: 1_000_000n };
    expect([0n, 100n, 101n].map((gas) => gasFee(prices, gas))).toEqual([40_000n, 40_000n, 40_011n]);
  });
});
