/** Liteservers over a devnet's chain that tell the truth or change some of their answers. */
import { randomBytes } from 'node:crypto';
import { createLiteserver } from '../src/devnet/liteserver.ts';
import type { Chain } from '../src/devnet/model.ts';
import { publicKeyOf } from '../src/node/adnl-keys.ts';
import type { LiteServerAddress } from '../src/node/global-config.ts';
import { type LiteHandlers, serveLite } from '../src/node/lite-server.ts';
import type { Executor } from '../src/tvm/executor.ts';

export interface LyingServer {
  address: LiteServerAddress;
  close(): Promise<void>;
}

const noExecutor = new Proxy({} as Executor, {
  get: () => () => {
    throw new Error('these tests run no get-methods');
  },
});

/** @param lie gets the true handlers and returns those that are different */
export async function serveLies(
  chain: Chain,
  lie: (truth: LiteHandlers) => LiteHandlers = () => ({}),
): Promise<LyingServer> {
  const served = createLiteserver({ chain, executor: noExecutor });
  const seed = randomBytes(32);
  const handlers = { ...served.handlers, ...lie(served.handlers) };
  const listener = await serveLite({ host: '127.0.0.1', port: 0, seed }, handlers, served.options);
  return {
    address: { host: '127.0.0.1', port: listener.port, publicKey: publicKeyOf(seed) },
    close: async () => {
      served.close();
      await listener.close();
    },
  };
}
