import { createChain } from '../src/devnet/chain.ts';
import { type OpenLiteserver, type OpenLiteserverOptions, openLiteserver } from '../src/devnet/liteserver/open.ts';
import type { Chain, ChainOptions, ProducedStep } from '../src/devnet/model.ts';
import { createTestWallet, type TestWallet } from './devnet-wallets.ts';

export const COIN = 1_000_000_000n;

export interface ServedDevnet {
  chain: Chain;
  steps: readonly ProducedStep[];
  /** v3r2, v4r2 and v5r1 in turn; the first two in the masterchain. */
  wallets: readonly TestWallet[];
  server: OpenLiteserver;
  /** Another step, a second later. */
  produce(): ProducedStep;
  /** Another liteserver over the chain. */
  open(options: Partial<OpenLiteserverOptions>): Promise<OpenLiteserver>;
  close(): Promise<void>;
}

const START = 1_700_000_000;
const WALLETS = 12;

/** Ten million each: with less than 2^56 nanotons in all, ton-lite-client misreads the configuration. */
const BALANCE = 10_000_000n * COIN;
const PAYMENTS = 4;

/**
 * A chain of 14 steps, one each second, with payments in all but the first, the basechain split from step 6 to step 10,
 * and its liteserver on the loopback.
 */
export async function serveDevnet(
  options: Partial<OpenLiteserverOptions> = {},
  changed: Partial<ChainOptions> = {},
): Promise<ServedDevnet> {
  const wallets = Array.from({ length: WALLETS }, (_, i) => createTestWallet(i, i < 2 ? -1 : 0));
  const chain = await createChain({
    folder: null,
    seed: 'served devnet',
    genesis: wallets.map((wallet) => wallet.genesis(BALANCE)),
    blockTimeMs: 1000,
    startUtime: START,
    splitAt: 6,
    mergeAt: 10,
    limits: { keepStates: 1000 },
    ...changed,
  });
  const steps: ProducedStep[] = [];
  const produce = (): ProducedStep => {
    const step = chain.produce(START + chain.head().mc.seqno + 1);
    steps.push(step);
    return step;
  };
  for (let n = 1; n <= 14; n++) {
    if (n > 1) pay(chain, wallets, n);
    produce();
  }
  const open = (more: Partial<OpenLiteserverOptions>): Promise<OpenLiteserver> =>
    openLiteserver(chain, { host: '127.0.0.1', port: 0, seed: 'served devnet', ...more });
  const server = await open(options);
  return {
    chain,
    steps,
    wallets,
    server,
    produce,
    open,
    close: async () => {
      await server.close();
      chain.close();
    },
  };
}

function pay(chain: Chain, wallets: readonly TestWallet[], n: number): void {
  for (let k = 0; k < PAYMENTS; k++) {
    const from = wallets[(n * PAYMENTS + k) % WALLETS];
    const to = wallets[(n * 3 + k * 5) % WALLETS];
    const result = chain.submit(from.pay({ to: to.address, value: COIN / 10n, comment: `${n}.${k}` }));
    if (!result.accepted) throw new Error(`payment ${n}.${k}: ${result.reason}`);
  }
}
