/**
 * A process that makes blocks until it is killed: opens the chain of a folder, pays from wallet to wallet, and prints
 * the seqno and root hash of every masterchain block. Argument: the folder.
 */
import { fileURLToPath } from 'node:url';
import { Slice } from '../src/chain/builder.ts';
import { createChain } from '../src/devnet/chain.ts';
import type { Chain } from '../src/devnet/model.ts';
import { createTestWallet, type TestWallet } from './devnet-wallets.ts';

const START = 1_700_000_000;

/** The chain of the folder, with wallets that know where they stand. */
export async function openProducer(folder: string): Promise<{ chain: Chain; wallets: TestWallet[] }> {
  // v4r2: the data begins with the seqno.
  const wallets = Array.from({ length: 6 }, (_, i) => createTestWallet(3 * i + 1));
  const chain = await createChain({
    folder,
    seed: 'crash',
    genesis: wallets.map((wallet) => wallet.genesis(1_000_000_000_000n)),
    blockTimeMs: 1000,
    startUtime: START,
    splitAt: 12,
    mergeAt: 40,
    limits: { checkpointSteps: 6, maxTransactions: 5 },
  });
  for (const wallet of wallets) {
    const account = chain.account(0, wallet.address.hash);
    if (account !== null) wallet.seqno = new Slice(account.account.refs[1]).u(32);
  }
  return { chain, wallets };
}

/** One step with two payments, as far as the wallets may pay. */
export function produceOne(chain: Chain, wallets: readonly TestWallet[]): { seqno: number; rootHash: string } {
  const { seqno } = chain.head().mc;
  for (const i of seqno === 0 ? [] : [seqno, 5 * seqno + 2]) {
    const wallet = wallets[i % wallets.length];
    const to = wallets[(i + 1) % wallets.length].address;
    const result = chain.submit(wallet.pay({ to, value: 1_000_000n }, { to, value: 2_000_000n }));
    if (!result.accepted) wallet.takeBack();
  }
  const { mc } = chain.produce(START + seqno);
  return { seqno: mc.seqno, rootHash: mc.rootHash.toString('hex') };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { chain, wallets } = await openProducer(process.argv[2]);
  for (;;) {
    const { seqno, rootHash } = produceOne(chain, wallets);
    process.stdout.write(`${seqno} ${rootHash}\n`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
