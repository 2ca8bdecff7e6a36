import { Address } from '@ton/core';
import { createQueryGate } from '../../clickhouse/gate.ts';
import type { Head } from '../../clickhouse/queries/head.ts';
import { createClickHouseSource } from '../../clickhouse/queries/source.ts';
import { topicNames } from '../../streams/topics.ts';
import { faucetApi } from '../api/faucet.ts';
import type { DevnetThread, FaucetDoor } from '../devnet/thread.ts';
import { askLiteservers } from '../node/liteservers.ts';
import { httpUrl, listen, serve } from '../service.ts';
import { createDispatcher } from '../workers/dispatcher.ts';
import type { GiftQuestion } from '../workers/messages.ts';
import { startWorkerPool } from '../workers/pool.ts';
import { shareOf, workerCount } from '../workers/share.ts';
import type { AskLiteservers } from './liteservers.ts';
import type { Parts } from './parts.ts';
import type { Running } from './running.ts';
import type { WindowRole } from './window.ts';

export interface HttpParts extends Parts {
  head: Head;
  window: WindowRole;
  devnet: DevnetThread | null;
  askLite: AskLiteservers;
}

/** Answers HTTP requests until the shutdown, in this process or in workers of it. Gives the URL. */
export async function openHttp(running: Running, parts: HttpParts): Promise<string> {
  const count = workerCount(running.config);
  return count === 1 ? openHere(running, parts) : openWorkers(running, parts, count);
}

async function openHere({ config, logger, shutdown }: Running, parts: HttpParts): Promise<string> {
  const { window, devnet } = parts;
  const service = await serve({
    ...parts,
    config,
    logger,
    blocksTopic: topicNames(config.topicPrefix).blocks,
    apis: devnet ? [faucetApi(devnet.faucet)] : [],
    answerFrom: window.source,
    windowHead: window.head,
    shown: window.shown,
    liteservers: askLiteservers(parts.askLite),
  });
  shutdown.onClose('HTTP server', () => service.close());
  return service.url;
}

/** This process writes the window, and the workers read it. */
async function openWorkers(
  { config, logger, shutdown }: Running,
  { clickhouse, clickhouseUrl, head, metrics, window, devnet, askLite }: HttpParts,
  count: number,
): Promise<string> {
  const gate = createQueryGate({ maxConcurrent: config.concurrentQueries, maxQueued: config.queuedQueries });
  window.source(createClickHouseSource(clickhouse, gate, head));
  const shown = window.shown() ?? head;
  const dispatcher = createDispatcher(metrics.registry);
  const url = httpUrl(config.host, await listen(dispatcher.server, config.host, config.port));
  const faucet = devnet && { address: devnet.faucet.address.toRawString(), limits: devnet.faucet.limits };
  const pool = await startWorkerPool({
    count,
    head: { known: () => ({ mcSeqno: shown.seqno, globalId: head.globalId }), onAdvance: shown.onAdvance },
    startOf: (index) => ({
      config: shareOf(config, index, count),
      url,
      clickhouseUrl,
      faucet,
    }),
    answer: (question, signal) =>
      question.kind === 'gift' ? give(devnet?.faucet ?? null, question) : askLite(question, signal),
    dispatcher,
    registry: metrics.registry,
    logger: logger.child({ part: 'http' }),
    onGivenUp: (error) => shutdown.stop('the HTTP workers cannot be kept running', error),
  });
  shutdown.onClose('HTTP workers', pool.close);
  return url;
}

async function give(faucet: FaucetDoor | null, { to, nanotons }: GiftQuestion): Promise<Uint8Array> {
  if (faucet === null) throw new Error('there is no faucet');
  return (await faucet.give(Address.parse(to), nanotons)).messageHash;
}
