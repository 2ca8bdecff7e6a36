/** Emulation on the states of the chain as of a step. */
import { randomBytes } from 'node:crypto';
import type { Boc } from '../chain/boc.ts';
import { Builder, type Cell, parseBoc, toBoc } from '../chain/builder.ts';
import { DecodeError } from '../chain/errors.ts';
import { checkSent, openSent, writeExternalMessage } from '../chain/external-message.ts';
import { decodeMessage } from '../chain/message.ts';
import type { Decimal, Hash } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import type { StateSource } from '../state/source.ts';
import type { Step } from '../state/steps.ts';
import type { ViewOf } from '../state/view.ts';
import { globalVersion } from '../tvm/config.ts';
import type { TvmPool } from '../tvm/pool.ts';
import {
  type AccountBefore,
  type Beginning,
  EMULATION_LIMITS,
  type Emulation,
  type EmulationLimits,
  emulate,
  NotAccepted,
  type ShardTop,
  type Surroundings,
} from './trace.ts';

/** A message that can be emulated: from outside, or from one account to another. */
export interface ReadMessage {
  cell: Cell;
  hash: Hash;
  /** The normalised hash of one from outside, null for an internal one. */
  hashNorm: Hash | null;
  destination: Buffer;
  createdLt: Decimal | null;
}

/**
 * Reads a bag of cells that is one message.
 * @throws {DecodeError} also for a message that leaves the chain, and for what the executor cannot be given
 */
export function readMessage(boc: Buffer): ReadMessage {
  const bag = openSent(boc);
  const { hash, destination, kind, createdLt, hashNorm } = opened(bag);
  if (destination === null) throw new DecodeError(`a message of kind ${kind}, which no account receives`);
  return { cell: parseBoc(boc), hash, hashNorm, destination, createdLt };
}

function opened(bag: Boc) {
  const message = decodeMessage(bag, bag.roots[0]);
  checkSent(bag, message);
  return { ...message, hash: message.hash, hashNorm: message.hashNorm() };
}

export interface Emulated extends Emulation {
  step: Step;
  surroundings: Surroundings;
  randSeed: Hash;
  nowMs: number;
  /** Of the configuration: how messages are shown. */
  globalVersion: number;
}

/** What signed blocks leave that no step has yet: goes on from there. */
export interface Behind {
  /** Unix seconds: when the newest of them was made; 0 for none. */
  genUtime: number;
  /** A shard's newest block, by its top in the step. */
  top(inStep: ShardTop): ShardTop;
  /** An account, by its state in the step. */
  account(address: Buffer, inStep: AccountBefore): AccountBefore;
}

export interface EmulateHow {
  ignoreSignatures?: boolean;
  limits?: EmulationLimits;
  /** Unix milliseconds at which the next block is made; now unless given. */
  nowMs?: number;
  /** Accounts as earlier messages leave them, in the place of the step's; undefined for all others. */
  ahead?: (address: Buffer) => AccountBefore | undefined;
  behind?: Behind;
  /** Told of each account that is asked for, as it is before the first message. */
  onAccount?: (address: Buffer, before: AccountBefore) => void;
}

export interface Emulator {
  /**
   * What begins with these messages, on the states of a step.
   * @throws {NotAccepted} @throws {TvmError} @throws {NodeError} @throws {NoNetworkError}
   */
  run(beginnings: readonly Beginning[], step: Step, how: EmulateHow, context: QueryContext): Promise<Emulated>;
  /** What the first message behind a step would wait for: the step's surroundings, the configuration in the executor. */
  warm(step: Step, context: QueryContext): Promise<void>;
}

export interface EmulatorOptions {
  states: Pick<StateSource, 'accountCell'>;
  viewOf: ViewOf;
  pool: TvmPool;
  /** Unix milliseconds. */
  clock?: () => number;
}

const NOTHING_BEHIND: Behind = { genUtime: 0, top: (inStep) => inStep, account: (_address, inStep) => inStep };

/** An account that is not there, to which something is sent that it does not take. */
const NOBODY: AccountBefore = { boc: null, lastTransactionHash: Buffer.alloc(32), lastTransactionLt: '0' };
const NOWHERE = Buffer.concat([Buffer.from([0x80, 0, 0, 0]), Buffer.alloc(32)]);
const EMPTY = new Builder().cell();

export function createEmulator({ states, viewOf, pool, clock = Date.now }: EmulatorOptions): Emulator {
  /** Of the configuration that the executor has seen last. */
  let warmed = '';
  return {
    async warm(step, context) {
      const view = await viewOf(step, context);
      if (view.config.key === warmed) return;
      warmed = view.config.key;
      const surroundings: Surroundings = { pool, view, tops: [step.header], account: async () => NOBODY };
      const options = { nowMs: step.header.genUtime * 1000, randSeed: randomBytes(32), signal: context.signal };
      const message = readMessage(toBoc(writeExternalMessage({ address: NOWHERE, body: EMPTY, init: null })));
      await emulate([beginningOf(message)], surroundings, options).catch((error: unknown) => {
        if (!(error instanceof NotAccepted)) throw error;
      });
    },
    async run(beginnings, step, how, context) {
      const { ignoreSignatures = false, ahead, behind = NOTHING_BEHIND, onAccount, limits = EMULATION_LIMITS } = how;
      const view = await viewOf(step, context);
      const nowMs = Math.max(how.nowMs ?? clock(), step.header.genUtime * 1000, behind.genUtime * 1000);
      const surroundings: Surroundings = {
        pool,
        view,
        tops: (step.tops ?? [step.header]).map(behind.top),
        async account(address) {
          const before = ahead?.(address) ?? behind.account(address, await states.accountCell(address, step, context));
          onAccount?.(address, before);
          return before;
        },
      };
      const randSeed = randomBytes(32);
      const options = { nowMs, randSeed, ignoreSignatures, limits, signal: context.signal };
      const emulation = await emulate(beginnings, surroundings, options);
      const { version } = globalVersion(view.config.root);
      return { ...emulation, step, surroundings, randSeed, nowMs, globalVersion: version };
    },
  };
}

/** The message as what begins in the next block. */
export function beginningOf({ cell, destination, createdLt }: ReadMessage): Beginning {
  return { message: cell, destination, createdLt, hop: 0, depth: 0 };
}

/** An account as an emulated transaction leaves it. */
export function accountLeft({ left, transaction }: Pick<Emulation['transactions'][number], 'left' | 'transaction'>) {
  const [account] = parseBoc(Buffer.from(left, 'base64')).refs;
  return { boc: toBoc(account), lastTransactionHash: transaction.hash, lastTransactionLt: transaction.lt };
}
