/** What the main process and its HTTP workers tell each other. All of it can be cloned. */
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Config } from '../config.ts';
import type { FaucetErrorCode, FaucetLimits } from '../devnet/actors/faucet.ts';

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

/** What a worker asks the main process for. */
export type Question =
  /** Text of the metrics of all processes. */
  | { kind: 'metrics' }
  /** A gift of the faucet; answered with the message hash. Raw address. */
  | { kind: 'gift'; to: string; nanotons: bigint };

export type ToWorker =
  | { type: 'start'; start: WorkerStart }
  | ({ type: 'head' } & KnownHead)
  /** Comes with its socket. */
  | { type: 'connection'; id: number }
  /** Asks for the metrics of this process. */
  | { type: 'metrics'; id: number }
  | { type: 'answer'; id: number; answer: string | Uint8Array }
  | { type: 'refusal'; id: number; reason: string; code: FaucetErrorCode | null }
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
  | { type: 'question'; id: number; question: Question };
