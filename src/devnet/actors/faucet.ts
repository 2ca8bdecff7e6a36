import type { Address } from '@ton/core';
import { errorMessage } from '../../chain/errors.ts';
import type { Ledger, Moment } from './ledger.ts';
import type { Sender } from './sender.ts';
import type { OutMessage } from './wallets.ts';

export interface FaucetLimits {
  /** Nanotons of one gift. */
  most: bigint;
  /** Gifts to one address within a minute of chain time. */
  giftsPerMinute: number;
  /** Gifts that wait. */
  queue: number;
}

const FAUCET_LIMITS: FaucetLimits = { most: 1_000_000_000_000n, giftsPerMinute: 10, queue: 1_000 };

export type FaucetErrorCode =
  /** The amount is none, or above the limit. */
  | 'amount'
  /** Too many gifts to this address. */
  | 'rate'
  /** Too many gifts wait. */
  | 'full'
  /** The faucet has no coins left. */
  | 'empty'
  /** The chain does not take the faucet's messages, or the faucet was closed. */
  | 'unavailable';

export class FaucetError extends Error {
  constructor(
    readonly code: FaucetErrorCode,
    message: string,
  ) {
    super(message);
    this.name = 'FaucetError';
  }
}

export interface Gift {
  /** Hash of the faucet's external message, which may carry other gifts too. */
  messageHash: Buffer;
}

export interface Faucet {
  readonly address: Address;
  readonly limits: FaucetLimits;
  /** Sends coins; resolves when the chain took the message in. @throws {FaucetError} */
  give(to: Address, nanotons: bigint): Promise<Gift>;
  /** After each block. */
  step(now: Moment): Promise<void>;
  /** Refuses the gifts that wait, and all later ones. */
  close(): void;
}

interface Waiting {
  message: OutMessage;
  resolve: (gift: Gift) => void;
  reject: (error: Error) => void;
}

const MOST_IN_ONE = 100;
const MINUTE_MS = 60_000;
/** Refusals in a row after which the gifts that wait are refused too. */
const PATIENCE = 3;
/** What the faucet keeps for fees, in nanotons. */
const RESERVE = 1_000_000_000n;

/** Gifts are sent at once when the faucet's wallet is free, else together behind the message that is under way. */
export function createFaucet({
  sender,
  ledger,
  now,
  limits = FAUCET_LIMITS,
}: {
  sender: Sender;
  ledger: Ledger;
  now: () => Moment;
  limits?: FaucetLimits;
}): Faucet {
  const waiting: Waiting[] = [];
  const recent = new Map<string, number[]>();
  let refusals = 0;
  let closed = false;
  let flushing: Promise<void> | null = null;

  function admit(to: Address, nanotons: bigint): void {
    if (closed) throw new FaucetError('unavailable', 'the faucet is closed');
    if (nanotons <= 0n) throw new FaucetError('amount', 'the amount must be more than 0');
    if (nanotons > limits.most) throw new FaucetError('amount', `the faucet gives at most ${limits.most} nanotons`);
    if (waiting.length >= limits.queue) throw new FaucetError('full', 'too many gifts wait; try again soon');
    const key = to.toRawString();
    const since = now().nowMs - MINUTE_MS;
    const times = (recent.get(key) ?? []).filter((time) => time > since);
    if (times.length >= limits.giftsPerMinute) {
      throw new FaucetError('rate', `at most ${limits.giftsPerMinute} gifts a minute go to one address`);
    }
    recent.set(key, [...times, now().nowMs]);
  }

  /** The first that wait, as far as the coins go; the others of them are refused. */
  async function nextBatch(): Promise<Waiting[]> {
    const batch = waiting.splice(0, MOST_IN_ONE);
    let left = ((await ledger.account(sender.wallet.address))?.balance ?? 0n) - RESERVE;
    return batch.filter(({ message, reject }) => {
      left -= message.value;
      if (left >= 0n) return true;
      left += message.value;
      reject(new FaucetError('empty', 'the faucet has not enough coins left'));
      return false;
    });
  }

  /** Sends one batch. False when the chain refused it. */
  async function send(batch: Waiting[]): Promise<boolean> {
    const messages = batch.map(({ message }) => message);
    const result = await sender.send(messages, now());
    if (result.sent) {
      refusals = 0;
      for (const { resolve } of batch) resolve({ messageHash: result.message.hash() });
      return true;
    }
    waiting.unshift(...batch);
    if (++refusals >= PATIENCE) {
      refusals = 0;
      refuseAll(`the chain does not take the faucet's message: ${result.reason}`);
    }
    return false;
  }

  /** Sends as long as the wallet is free. The end is one turn, so that no gift comes between looking and leaving. */
  async function flush(): Promise<void> {
    try {
      while (waiting.length > 0 && (await sender.ready(now()))) {
        const batch = await nextBatch();
        if (batch.length > 0 && !(await send(batch))) break;
      }
    } catch (error) {
      refuseAll(errorMessage(error));
    } finally {
      flushing = null;
    }
  }

  function refuseAll(reason: string): void {
    for (const { reject } of waiting.splice(0)) reject(new FaucetError('unavailable', reason));
  }

  /** One at a time: between looking and sending nobody else may send. */
  function tryFlush(): Promise<void> {
    if (waiting.length === 0) return Promise.resolve();
    flushing ??= flush();
    return flushing;
  }

  return {
    address: sender.wallet.address,
    limits,
    async give(to, value) {
      admit(to, value);
      const given = new Promise<Gift>((resolve, reject) => {
        waiting.push({ message: { to, value, bounce: false }, resolve, reject });
      });
      void tryFlush();
      return given;
    },
    async step({ nowMs }) {
      for (const [key, times] of recent) {
        if (times.every((time) => time <= nowMs - MINUTE_MS)) recent.delete(key);
      }
      await tryFlush();
    },
    close() {
      closed = true;
      refuseAll('the faucet is closed');
    },
  };
}
