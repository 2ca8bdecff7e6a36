import { Address } from '@ton/core';
import { errorMessage } from '../chain/errors.ts';
import { createLogger } from '../logger.ts';
import { runInThread } from '../thread.ts';
import { FaucetError } from './actors/faucet.ts';
import { type Devnet, startDevnet } from './devnet.ts';
import { type OpenLiteserver, openLiteserver } from './liteserver/open.ts';
import type { DevnetMessage, DevnetReady, DevnetThreadData, GiftRequest } from './thread.ts';

/** The devnet's thread: makes blocks and serves them until it is told to stop. */
await runInThread<DevnetThreadData, GiftRequest, DevnetMessage>(async ({ data, signal, send, onMessage }) => {
  const { host, litePort, splitAt, mergeAt, ...options } = data;
  const logger = createLogger(data.logLevel).child({ part: 'devnet' });
  let liteserver: OpenLiteserver | null = null;
  const devnet = await startDevnet(
    {
      ...options,
      ...(splitAt > 0 ? { splitAt } : {}),
      ...(splitAt > 0 && mergeAt > 0 ? { mergeAt } : {}),
      logger,
      serve: async (chain) => {
        liteserver = await openLiteserver(chain, { host, port: litePort, seed: data.seed, logger });
        return liteserver;
      },
    },
    signal,
  );
  devnet.chain.onExternal((boc) => send({ type: 'external', boc }));
  onMessage((request) => void give(devnet, request, send));
  send({ type: 'ready', ready: readyOf(devnet, liteserver) });
  await devnet.done;
});

function readyOf({ demo, faucet }: Devnet, liteserver: OpenLiteserver | null): DevnetReady {
  if (liteserver === null) throw new Error('the devnet has no liteserver');
  return {
    liteserver: liteserver.address,
    globalConfig: liteserver.globalConfig,
    demo: [...demo],
    faucetAddress: faucet.address.toRawString(),
    faucetLimits: faucet.limits,
  };
}

async function give({ faucet }: Devnet, { id, to, nanotons }: GiftRequest, send: (message: DevnetMessage) => void) {
  try {
    const { messageHash } = await faucet.give(Address.parse(to), nanotons);
    send({ type: 'given', id, messageHash });
  } catch (error) {
    const code = error instanceof FaucetError ? error.code : 'unavailable';
    send({ type: 'refused', id, code, reason: errorMessage(error) });
  }
}
