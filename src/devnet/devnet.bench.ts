/**
 * CPU time of a chain under simple transfers, one block of both chains a second with 150 transfers each: a wallet's
 * external message and the message it sends, two transactions. Prints transfers a second of one core.
 */
import { createTestWallet } from '../../test/devnet-wallets.ts';
import { createChain } from './chain.ts';

const WALLETS = 300;
const STEPS = Number(process.argv[2] ?? 20);
const TRANSFERS = 150;

const start = 1_700_000_000;
const wallets = Array.from({ length: WALLETS }, (_, i) => createTestWallet(i));
const chain = await createChain({
  folder: null,
  seed: 'bench',
  genesis: wallets.map((wallet) => wallet.genesis(1_000_000_000_000n)),
  blockTimeMs: 1000,
  startUtime: start,
});
chain.produce(start);

/** Signed before the clock runs: signing is the sender's work. */
const messages = Array.from({ length: STEPS }, (_, step) =>
  Array.from({ length: TRANSFERS }, (_, i) => {
    const from = (step * TRANSFERS + i) % WALLETS;
    const to = (from * 7 + step + 1) % WALLETS;
    return wallets[from].pay({ to: wallets[to].address, value: 10_000_000n, comment: `transfer ${i}` });
  }),
);

interface Share {
  checkMs: number;
  blockMs: number;
  bytes: number;
  transactions: number;
  longestMs: number;
}

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const total: Share = { checkMs: 0, blockMs: 0, bytes: 0, transactions: 0, longestMs: 0 };
messages.forEach((batch, step) => {
  const before = cpuMs();
  for (const boc of batch) {
    const result = chain.submit(boc);
    if (!result.accepted) throw new Error(result.reason);
  }
  const checked = cpuMs();
  const { shards, mc } = chain.produce(start + step);
  const made = cpuMs();
  total.checkMs += checked - before;
  total.blockMs += made - checked;
  total.longestMs = Math.max(total.longestMs, made - before);
  for (const block of [...shards, mc]) {
    total.bytes += block.bytes.length;
    total.transactions += block.transactions;
  }
});
chain.close();

const transfers = STEPS * TRANSFERS;
const each = (ms: number): string => (ms / transfers).toFixed(2);
process.stdout.write(
  [
    `${STEPS} steps of ${TRANSFERS} transfers: ${total.transactions} transactions, ${Math.round(total.bytes / STEPS / 1024)} KiB a step`,
    `check ${each(total.checkMs)} ms, blocks ${each(total.blockMs)} ms of CPU a transfer; longest step ${Math.round(total.longestMs)} ms`,
    `${Math.round(transfers / ((total.checkMs + total.blockMs) / 1000))} transfers a second of one core`,
    '',
  ].join('\n'),
);
