// Loaded here as well: a library that only a thread has loaded is unloaded when the thread ends, and this one has the
// system call it at the thread's very end: a crash (Node 20).
import 'ffi-rs';
import type { Registry } from 'prom-client';
import { type CallMessage, createCalled, type ReplyMessage } from '../../calls.ts';
import type { Config } from '../../config.ts';
import { type LiteQuestion, type LiteReply, type PackedLiteError, packLiteError } from '../../node/liteservers.ts';
import { createPendingMetrics, type PendingMetrics } from '../../pending/metrics.ts';
import { startThread } from '../../thread.ts';

/** What the thread is started with. */
export interface PendingThreadData {
  config: Config;
  clickhouseUrl: string;
}

export type ToPending =
  /** The newest step that this host shows, and the network. */
  | { type: 'head'; mcSeqno: number; globalId: number | null }
  /** A message, which can be read, is given to liteservers. */
  | { type: 'sending'; boc: Uint8Array }
  /** A message was put on the topic of sent ones. */
  | { type: 'sent' }
  | ReplyMessage<LiteReply, PackedLiteError>;

/** A figure for the metrics of the process. */
export type Figure = {
  [K in keyof PendingMetrics]: { name: K; value: Parameters<PendingMetrics[K]>[0] };
}[keyof PendingMetrics];

export type FromPending =
  /** There is more in the topic of pending traces. */
  { type: 'told'; traces: number } | { type: 'figure'; figure: Figure } | CallMessage<LiteQuestion>;

export interface PendingThread {
  readonly done: Promise<void>;
  /** The host shows a newer step. */
  advance(mcSeqno: number, globalId: number | null): void;
  /** A message is given to liteservers. */
  sending(boc: Buffer): void;
  /** A message was put on the topic of sent ones. */
  sent(): void;
  stop(): Promise<void>;
}

export interface PendingThreadOptions {
  registry: Registry;
  askLite(question: LiteQuestion, signal: AbortSignal): Promise<LiteReply>;
  /** There is more in the topic of pending traces. */
  onTold(): void;
}

/** Tells of pending traces in a thread of its own: emulating them takes tens of milliseconds each. */
export function startPendingThread(data: PendingThreadData, options: PendingThreadOptions): PendingThread {
  const { registry, askLite, onTold } = options;
  let traces = 0;
  const metrics = createPendingMetrics(registry, () => traces);
  const called = createCalled<LiteQuestion, LiteReply, PackedLiteError>({
    answer: askLite,
    send: (message) => thread.post(message),
    pack: packLiteError,
  });
  const module = new URL('./worker.ts', import.meta.url);
  const thread = startThread<PendingThreadData, ToPending, FromPending>('pending', module, data, (message) => {
    if (message.type === 'told') {
      traces = message.traces;
      onTold();
    } else if (message.type === 'figure') count(metrics, message.figure);
    else called.receive(message);
  });
  return {
    done: thread.done,
    advance: (mcSeqno, globalId) => thread.post({ type: 'head', mcSeqno, globalId }),
    sending: (boc) => thread.post({ type: 'sending', boc }),
    sent: () => thread.post({ type: 'sent' }),
    async stop() {
      called.end();
      await thread.stop();
    },
  };
}

function count(metrics: PendingMetrics, figure: Figure): void {
  if (figure.name === 'message') metrics.message(figure.value);
  else if (figure.name === 'took') metrics.took(figure.value);
  else if (figure.name === 'compared') metrics.compared(figure.value);
  else if (figure.name === 'invalidated') metrics.invalidated(figure.value);
  else metrics[figure.name]();
}
