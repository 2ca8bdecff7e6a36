// Loaded here as well: a library that only a thread has loaded is unloaded when the thread ends, and this one has the
// system call it at the thread's very end: a crash (Node 20).
import 'ffi-rs';
import { type CallMessage, createCalling, type ReplyMessage } from '../../src/calls.ts';
import type { Config } from '../../src/config.ts';
import { NodeError } from '../../src/node/chain-node.ts';
import {
  type LiteQuestion,
  type LiteReply,
  type PackedLiteError,
  unpackLiteError,
} from '../../src/node/liteservers.ts';
import { startThread, type Thread } from '../../src/thread.ts';
import type { IngestMetrics } from './follow.ts';
import type { ServerStates } from './pool.ts';

/** What the thread is started with. */
export interface IngestThreadData {
  config: Config;
  /** Text of the network's global config. */
  globalConfig: string;
  /** False: it only answers what others ask of the servers. */
  ingests: boolean;
}

/** A call of a metric, made in the thread and repeated where the registry is. */
export type MetricCall = { [K in keyof IngestMetrics]: [K, ...Parameters<IngestMetrics[K]>] }[keyof IngestMetrics];

export type ToIngest = CallMessage<LiteQuestion>;
export type FromIngest =
  | { type: 'metrics'; calls: MetricCall[]; servers: ServerStates }
  | ReplyMessage<LiteReply, PackedLiteError>;

export interface IngestThreadMetrics {
  ingest: IngestMetrics;
  /** How many servers are in which state. */
  servers(states: ServerStates): void;
}

/** The network's liteservers, asked by the ingester in its thread and by whoever calls `ask`. */
export interface IngestThread extends Pick<Thread<never>, 'done' | 'stop'> {
  /** @throws {NodeError} */
  ask(question: LiteQuestion, signal: AbortSignal): Promise<LiteReply>;
}

/** Above all time-outs of a pool's call. */
const ANSWER_MS = 30_000;
/** Questions of others than the ingester at a time; more are refused. */
const MAX_ASKED = 256;

/** Runs the pool of liteservers in a worker thread, and the ingester with it: hashing blocks is work, too. */
export function startIngestThread(data: IngestThreadData, metrics: IngestThreadMetrics): IngestThread {
  const module = new URL('./worker.ts', import.meta.url);
  const thread = startThread<IngestThreadData, ToIngest, FromIngest>('ingester', module, data, (message) => {
    if (message.type !== 'metrics') {
      calling.receive(message);
      return;
    }
    metrics.servers(message.servers);
    for (const call of message.calls) repeat(metrics.ingest, call);
  });
  const calling = createCalling<LiteQuestion, LiteReply, PackedLiteError>({
    send: thread.post,
    unpack: unpackLiteError,
    timeoutMs: ANSWER_MS,
    maxOpen: MAX_ASKED,
    tooMany: (open) => new NodeError('unavailable', `${open} questions wait for liteservers already`),
  });
  const end = (): void => calling.end(new NodeError('unavailable', 'the thread of the liteservers has ended'));
  thread.done.then(end, end);
  return { done: thread.done, stop: thread.stop, ask: calling.call };
}

function repeat(metrics: IngestMetrics, call: MetricCall): void {
  switch (call[0]) {
    case 'head':
      metrics.head(call[1]);
      break;
    case 'appended':
      metrics.appended(call[1], call[2], call[3]);
      break;
    case 'fetched':
      metrics.fetched(call[1], call[2]);
      break;
    case 'stepLatency':
      metrics.stepLatency(call[1]);
      break;
    case 'refetched':
      metrics.refetched(call[1]);
      break;
    case 'cells':
      metrics.cells(call[1]);
      break;
    case 'proven':
      metrics.proven(call[1], call[2]);
      break;
    case 'unproven':
      metrics.unproven();
      break;
    case 'serverFault':
      metrics.serverFault(call[1]);
      break;
  }
}
