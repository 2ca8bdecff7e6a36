/** What the main process and its HTTP workers tell each other. All of it can be cloned. */
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { CallMessage, ReplyMessage } from '../calls.ts';
import type { Config } from '../config.ts';
import { FaucetError, type FaucetErrorCode, type FaucetLimits } from '../devnet/actors/faucet.ts';
import type { MostTaken, Taken } from '../feed/key-counts.ts';
import {
  type LiteQuestion,
  type LiteReply,
  type PackedLiteError,
  packLiteError,
  unpackLiteError,
} from '../node/liteservers.ts';

/** The newest step that workers may show, 0 before there is one, and the network. */
export interface KnownHead {
  mcSeqno: number;
  globalId: number | null;
}

/** What a worker is started with. */
export interface WorkerStart {
  /** With this worker's share of the limits. */
  config: Config;
  /** Of the port that all answer on. */
  url: string;
  clickhouseUrl: string;
  head: KnownHead;
  /** The devnet's faucet, which is in the main process; null without one. Raw address. */
  faucet: { address: string; limits: FaucetLimits } | null;
}

export type MetricsOfProcess = MetricObjectWithValues<MetricValue<string>>[];

/** A gift of the faucet; answered with the message hash. Raw address. */
export interface GiftQuestion {
  kind: 'gift';
  to: string;
  nanotons: bigint;
}

/** What a key takes of the feed; answered with null, or with what it has when that is too much. */
export interface KeyQuestion {
  kind: 'key';
  key: string;
  change: Taken;
  most: MostTaken;
}

/** What a worker asks the main process for: the text of the metrics of all processes, and what only that one has. */
export type Question = { kind: 'metrics' } | KeyQuestion | GiftQuestion | LiteQuestion;

export type Reply = string | Taken | LiteReply;

export type ToWorker =
  | { type: 'start'; start: WorkerStart }
  | ({ type: 'head' } & KnownHead)
  /** There is more in the topic of pending traces. */
  | { type: 'pending' }
  /** Comes with its socket. */
  | { type: 'connection'; id: number }
  /** Asks for the metrics of this process. */
  | { type: 'metrics'; id: number }
  | ReplyMessage<Reply, PackedError>
  | { type: 'stop' };

export type FromWorker =
  /** The process runs and waits for `start`. */
  | { type: 'ready' }
  /** It answers connections. */
  | { type: 'listening' }
  | { type: 'taken'; id: number }
  /** It cannot open what it needs; it ends. */
  | { type: 'failed'; reason: string }
  | { type: 'metrics'; id: number; metrics: MetricsOfProcess }
  /** Accounts that answers mention and nothing is known of. */
  | { type: 'mentioned'; accounts: readonly Uint8Array[] }
  | CallMessage<Question>;

/** What can be thrown for a question, as it travels. */
export type PackedError = PackedLiteError | { kind: 'faucet'; code: FaucetErrorCode; message: string };

export function packError(error: unknown): PackedError {
  if (!(error instanceof FaucetError)) return packLiteError(error);
  return { kind: 'faucet', code: error.code, message: error.message };
}

export function unpackError(packed: PackedError): Error {
  return packed.kind === 'faucet' ? new FaucetError(packed.code, packed.message) : unpackLiteError(packed);
}
