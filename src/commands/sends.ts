import { Counter } from 'prom-client';
import { type EventLog, LogError } from '../../streams/log.ts';
import { createPendingWriter, type NoteOutcome } from '../../streams/pending.ts';
import { topicNames } from '../../streams/topics.ts';
import { readExternalMessage } from '../chain/external-message.ts';
import type { Config } from '../config.ts';
import type { DevnetThread } from '../devnet/thread.ts';
import type { Metrics } from '../metrics.ts';
import type { AskLiteservers } from './liteservers.ts';
import type { Pending } from './pending.ts';
import type { Running } from './running.ts';

type SendsOf = Pick<Running, 'logger'> & {
  config: Pick<Config, 'topicPrefix'>;
  shutdown: Pick<Running['shutdown'], 'onClose'>;
};

/**
 * Asks as `askLite` does; a message that a liteserver has taken is then put on the topic of pending ones, and so is
 * what the devnet's own people send.
 */
export function openSends(
  { config, logger, shutdown }: SendsOf,
  {
    log,
    metrics,
    askLite,
    devnet,
    pending,
  }: {
    log: EventLog;
    metrics: Metrics;
    askLite: AskLiteservers;
    devnet: Pick<DevnetThread, 'onExternal'> | null;
    /** Who tells what becomes of them. */
    pending: Pick<Pending, 'sending' | 'sent'>;
  },
): AskLiteservers {
  const sent = new Counter({
    name: 'tonstream_sent_messages_total',
    help: 'External messages that a liteserver has taken, by what became of them in the log: noted, known, late, failed',
    labelNames: ['log'],
    registers: [metrics.registry],
  });
  const writer = createPendingWriter({
    log,
    topic: topicNames(config.topicPrefix).pending,
    report(error) {
      // At the end of the process a devnet still sends: what comes of that is told by its steps.
      if (error instanceof LogError && error.code === 'closed') return;
      logger.warn({ err: error }, 'the topic of pending messages cannot be written');
    },
  });
  shutdown.onClose('pending messages', async () => writer.close());
  const note = async (boc: Buffer): Promise<NoteOutcome> => {
    const outcome = await writer.note({ ...readExternalMessage(boc), boc });
    if (outcome === 'noted') pending.sent();
    return outcome;
  };
  devnet?.onExternal((boc) => void note(boc));
  return async (question, signal) => {
    if (question.kind === 'send') pending.sending(Buffer.from(question.boc));
    const reply = await askLite(question, signal);
    if (question.kind === 'send') {
      sent.inc({ log: await note(Buffer.from(question.boc)) });
    }
    return reply;
  };
}
