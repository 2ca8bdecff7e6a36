import type { Logger } from 'pino';
import type { Cell } from '../../chain/builder.ts';
import type { BlockIdExt } from '../../chain/model.ts';
import { FULL_SHARD } from '../../chain/shard-ident.ts';
import { type LiteServerOptions, serveLite } from '../../node/lite-server.ts';
import { cellText, createExecutor } from '../../tvm/executor.ts';
import { deriveKeys } from '../actors/keys.ts';
import { createLiteserver, type LiteserverOptions } from '../liteserver.ts';
import type { Chain } from '../model.ts';
import { globalConfig } from './global-config.ts';
import { configurationOf } from './settings.ts';

export interface OpenLiteserverOptions
  extends Pick<LiteserverOptions, 'clock' | 'maxWaiters' | 'signatures' | 'nonfinal'> {
  /** Where to listen. */
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** The devnet's seed: the server's key follows from it. */
  seed: string;
  logger?: Logger;
  /** Limits of each connection. */
  limits?: Omit<LiteServerOptions, 'waitMasterchainSeqno' | 'onFault'>;
}

export interface OpenLiteserver {
  /** `host:port` for clients on this machine. */
  address: string;
  port: number;
  publicKey: Buffer;
  /** Text of the network's `global.config.json` for clients on this machine. */
  globalConfig: string;
  close(): Promise<void>;
}

/**
 * Opens a liteserver over a chain, with a TVM of its own for get-methods.
 * @throws {Error} when the port is taken
 */
export async function openLiteserver(chain: Chain, options: OpenLiteserverOptions): Promise<OpenLiteserver> {
  const { host, port: wanted, logger, limits } = options;
  const { secretSeed } = deriveKeys(options.seed, 'liteserver');
  const executor = await createExecutor(cellText(currentConfiguration(chain)));
  const served = createLiteserver({ ...options, chain, executor });
  const onFault = (error: unknown, method: string): void => logger?.error({ err: error, method }, 'a call failed');
  try {
    const address = { host, port: wanted, seed: secretSeed };
    const listener = await serveLite(address, served.handlers, { ...limits, ...served.options, onFault });
    const { port, publicKey } = listener;
    const reached = reachedAt(host);
    return {
      address: `${reached}:${port}`,
      port,
      publicKey,
      globalConfig: globalConfig({ host: reached, port, key: publicKey, ...trustedBlocks(chain) }),
      close: async () => {
        served.close();
        await listener.close();
        executor.close();
      },
    };
  } catch (error) {
    served.close();
    executor.close();
    throw error;
  }
}

/** Where a server that listens everywhere is found on this machine. */
function reachedAt(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? 'localhost' : host;
}

/** The first key block where there is one: not every client can begin at a zero state. */
function trustedBlocks(chain: Chain): { zeroState: BlockIdExt; initBlock: BlockIdExt } {
  const zeroState = chain.zeroState.mc;
  return { zeroState, initBlock: chain.lookup({ workchain: -1, shard: FULL_SHARD, seqno: 1 }) ?? zeroState };
}

function currentConfiguration(chain: Chain): Cell {
  const state = chain.state(chain.head().mc);
  if (state === null) throw new Error('the chain does not keep the state of its head');
  return configurationOf(state, () => undefined);
}
