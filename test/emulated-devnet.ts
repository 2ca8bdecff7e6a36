/** Emulation on a devnet in memory as it stands. */
import { workchainOf } from '../src/chain/address.ts';
import { parseBoc, toBoc } from '../src/chain/builder.ts';
import { readExternalMessage } from '../src/chain/external-message.ts';
import { configurationOf } from '../src/devnet/liteserver/settings.ts';
import type { Chain } from '../src/devnet/model.ts';
import { type AccountBefore, EMULATION_LIMITS, emulate, type Surroundings } from '../src/emulation/trace.ts';
import { type TvmPool, tvmConfig } from '../src/tvm/pool.ts';

const SIGNAL = new AbortController().signal;
const NOBODY: AccountBefore = { boc: null, lastTransactionHash: Buffer.alloc(32), lastTransactionLt: '0' };

function surroundingsOf(chain: Chain, pool: TvmPool): Surroundings {
  const { mc, shards } = chain.head();
  const state = chain.state(mc);
  if (state === null) throw new Error('the devnet keeps its newest state');
  const config = tvmConfig(configurationOf(state, () => undefined));
  return {
    pool,
    view: { config, prevBlocks: null, library: async () => null },
    tops: [mc, ...shards].map((place) => ({ ...place, endLt: place.endLt.toString() })),
    async account(address) {
      const found = chain.account(workchainOf(address), address.subarray(4));
      if (found === null) return NOBODY;
      const { account, lastTransactionHash, lastTransactionLt } = found;
      return { boc: toBoc(account), lastTransactionHash, lastTransactionLt: lastTransactionLt.toString() };
    },
  };
}

/** What becomes of a message from outside in the next block, a second later, and what it was emulated on. */
export async function emulateSent(chain: Chain, pool: TvmPool, boc: Buffer, limits = EMULATION_LIMITS) {
  const surroundings = surroundingsOf(chain, pool);
  const nowMs = (chain.head().mc.genUtime + 1) * 1000;
  const { destination } = readExternalMessage(boc);
  const beginning = { message: parseBoc(boc), destination, createdLt: null, hop: 0, depth: 0 };
  const options = { nowMs, randSeed: Buffer.alloc(32), signal: SIGNAL, limits };
  return { ...(await emulate([beginning], surroundings, options)), surroundings, nowMs };
}
