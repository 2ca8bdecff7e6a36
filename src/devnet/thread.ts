import { Address } from '@ton/core';
import type { Config } from '../config.ts';
import { startThread, type Thread } from '../thread.ts';
import type { DemoWallet } from './actors/actors.ts';
import { type Faucet, FaucetError, type FaucetErrorCode, type FaucetLimits } from './actors/faucet.ts';

/** What the thread is started with. */
export interface DevnetThreadData {
  folder: string;
  seed: string;
  blockTimeMs: number;
  rate: number;
  /** Let messages race, and shard blocks be replaced after they were signed. */
  races?: boolean;
  /** 0: never. */
  splitAt: number;
  mergeAt: number;
  host: string;
  litePort: number;
  logLevel: Config['logLevel'];
}

/** What is known once the chain is open. */
export interface DevnetReady {
  /** `host:port` of the liteserver. */
  liteserver: string;
  /** Text of the global config that leads clients to it. */
  globalConfig: string;
  demo: DemoWallet[];
  /** Raw form. */
  faucetAddress: string;
  faucetLimits: FaucetLimits;
}

export interface GiftRequest {
  id: number;
  /** Raw form. */
  to: string;
  nanotons: bigint;
}

export type DevnetMessage =
  /** An external message that the chain took in. */
  | { type: 'external'; boc: Uint8Array }
  | { type: 'ready'; ready: DevnetReady }
  | { type: 'given'; id: number; messageHash: Uint8Array }
  | { type: 'refused'; id: number; code: FaucetErrorCode; reason: string };

/** The faucet as it is spoken to from another thread. */
export type FaucetDoor = Pick<Faucet, 'address' | 'limits' | 'give'>;

export interface DevnetThread {
  readonly thread: Thread<GiftRequest>;
  readonly ready: DevnetReady;
  readonly faucet: FaucetDoor;
  /** Has every external message told that the chain takes in from now on, a bag of cells: its mempool. One listener. */
  onExternal(listener: (boc: Buffer) => void): void;
}

/**
 * Runs the devnet of a folder, with its liteserver, in a worker thread: it runs contracts.
 * @throws Error when the chain cannot be opened, with the reason
 */
export async function startDevnetThread(data: DevnetThreadData): Promise<DevnetThread> {
  let heard: (boc: Buffer) => void = () => undefined;
  const waiting = new Map<number, { resolve: (hash: Buffer) => void; reject: (error: Error) => void }>();
  let opened: (ready: DevnetReady) => void = () => undefined;
  const ready = new Promise<DevnetReady>((resolve) => {
    opened = resolve;
  });
  const onMessage = (message: DevnetMessage): void => {
    if (message.type === 'ready') {
      opened(message.ready);
      return;
    }
    if (message.type === 'external') {
      heard(Buffer.from(message.boc));
      return;
    }
    const gift = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.type === 'given') gift?.resolve(Buffer.from(message.messageHash));
    else gift?.reject(new FaucetError(message.code, message.reason));
  };
  const module = new URL('./worker.ts', import.meta.url);
  const thread = startThread<DevnetThreadData, GiftRequest, DevnetMessage>('devnet', module, data, onMessage);
  const refuseAll = (): void => {
    for (const { reject } of waiting.values()) reject(new FaucetError('unavailable', 'the devnet has ended'));
    waiting.clear();
  };
  thread.done.then(refuseAll, refuseAll);
  const first = await Promise.race([ready, thread.done]);
  if (first === undefined) throw new Error('the devnet ended before it was ready');
  return {
    thread,
    ready: first,
    faucet: openDoor(thread, first, waiting),
    onExternal(listener) {
      heard = listener;
    },
  };
}

function openDoor(
  thread: Thread<GiftRequest>,
  { faucetAddress, faucetLimits }: DevnetReady,
  waiting: Map<number, { resolve: (hash: Buffer) => void; reject: (error: Error) => void }>,
): FaucetDoor {
  let lastId = 0;
  return {
    address: Address.parse(faucetAddress),
    limits: faucetLimits,
    async give(to, nanotons) {
      if (waiting.size >= faucetLimits.queue) throw new FaucetError('full', 'too many gifts wait; try again soon');
      const id = ++lastId;
      const messageHash = await new Promise<Buffer>((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        thread.post({ id, to: to.toRawString(), nanotons });
      });
      return { messageHash };
    },
  };
}
