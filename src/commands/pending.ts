import type { Metrics } from '../metrics.ts';
import type { HostHead } from '../window/head.ts';
import { startPendingThread } from '../workers/pending/thread.ts';
import type { AskLiteservers } from './liteservers.ts';
import type { Running } from './running.ts';

/** Who tells of pending traces on this host. */
export interface Pending {
  /** A message, which can be read, is given to liteservers: what it does can be found out meanwhile. */
  sending(boc: Buffer): void;
  /** A message was put on the topic of sent ones. */
  sent(): void;
  /** There is more in the topic of pending traces. One listener. */
  onTold(listener: () => void): void;
}

export interface PendingParts {
  clickhouseUrl: string;
  metrics: Metrics;
  head: Pick<HostHead, 'seqno' | 'onAdvance'>;
  globalId: () => number | null;
  askLite: AskLiteservers;
}

/** Tells of pending traces until the shutdown; where no network is followed, or none are to be told, nobody does. */
export function openPending({ config, shutdown }: Running, parts: PendingParts): Pending {
  const { clickhouseUrl, metrics, head, globalId, askLite } = parts;
  if (config.network === 'none' || config.pendingTraces === 0) {
    return { sending: () => undefined, sent: () => undefined, onTold: () => undefined };
  }
  let told = (): void => undefined;
  const thread = startPendingThread(
    { config, clickhouseUrl },
    { registry: metrics.registry, askLite, onTold: () => told() },
  );
  thread.done.catch((error) => shutdown.stop('telling of pending traces failed', error));
  shutdown.onClose('pending traces', thread.stop);
  const advance = (): void => thread.advance(head.seqno, globalId());
  head.onAdvance(advance);
  advance();
  return {
    sending: thread.sending,
    sent: thread.sent,
    onTold(listener) {
      told = listener;
    },
  };
}
