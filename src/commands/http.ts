import { Address } from '@ton/core';
import type { Head } from '../../clickhouse/queries/head.ts';
import type { DevnetThread, FaucetDoor } from '../devnet/thread.ts';
import { httpUrl, listen } from '../listen.ts';
import type { Metrics } from '../metrics.ts';
import { createDispatcher } from '../workers/dispatcher.ts';
import type { GiftQuestion } from '../workers/messages.ts';
import { startWorkerPool } from '../workers/pool.ts';
import { shareOf, workerCount } from '../workers/share.ts';
import type { AskLiteservers } from './liteservers.ts';
import type { Pending } from './pending.ts';
import type { Running } from './running.ts';

export interface HttpParts {
  clickhouseUrl: string;
  metrics: Metrics;
  /** Up to where the host answers; the workers are told of each advance. */
  head: Pick<Head, 'seqno' | 'onAdvance'>;
  /** Of the network; null before there is a step. */
  globalId: () => number | null;
  devnet: DevnetThread | null;
  askLite: AskLiteservers;
  pending: Pick<Pending, 'onTold'>;
  /** Takes accounts that answers mention and nothing is known of. */
  onMentioned: (accounts: readonly Uint8Array[]) => void;
}

/** Answers HTTP requests in workers of this process until the shutdown. Gives the URL. */
export async function openHttp({ config, logger, shutdown }: Running, parts: HttpParts): Promise<string> {
  const { clickhouseUrl, metrics, head, globalId, devnet, askLite, pending, onMentioned } = parts;
  const count = workerCount(config);
  const dispatcher = createDispatcher(metrics.registry);
  const url = httpUrl(config.host, await listen(dispatcher.server, config.host, config.port));
  const faucet = devnet && { address: devnet.faucet.address.toRawString(), limits: devnet.faucet.limits };
  const starting = startWorkerPool({
    count,
    head: { known: () => ({ mcSeqno: head.seqno, globalId: globalId() }), onAdvance: head.onAdvance },
    startOf: (index) => ({ config: shareOf(config, index, count), url, clickhouseUrl, faucet }),
    answer: (question, signal) =>
      question.kind === 'gift' ? give(devnet?.faucet ?? null, question) : askLite(question, signal),
    onPending: pending.onTold,
    onMentioned,
    dispatcher,
    registry: metrics.registry,
    logger: logger.child({ part: 'http' }),
    onGivenUp: (error) => shutdown.stop('the HTTP workers cannot be kept running', error),
  });
  // Before they have started: should all end meanwhile, they end before what they ask, as later. One that could not start
  // is told of below.
  shutdown.onClose('HTTP workers', async () => (await starting.catch(() => null))?.close());
  await starting;
  return url;
}

async function give(faucet: FaucetDoor | null, { to, nanotons }: GiftQuestion): Promise<Uint8Array> {
  if (faucet === null) throw new Error('there is no faucet');
  return (await faucet.give(Address.parse(to), nanotons)).messageHash;
}
