import type { Config } from '../config.ts';

/** How many HTTP processes to run: as asked, but every one has a query to run at least. */
export function workerCount({ workers, concurrentQueries }: Config): number {
  return Math.min(workers, concurrentQueries);
}

/** Bounds that hold over all workers together. */
const DIVIDED = [
  'concurrentQueries',
  'queuedQueries',
  'cachedAnswersBytes',
  'cachedRenderingsBytes',
  'keptRunsBytes',
  'feedConnections',
  'feedSubscribedBytes',
  'sqlQueries',
  'sqlQueued',
  'exportBytes',
] as const;
/** Of these every worker has one at least, for it cannot give a request to another. */
const ONE_EACH: ReadonlySet<string> = new Set<keyof Config>(['sqlQueries']);

/** The configuration of worker `index` of `count`: what is left over by dividing goes to the first ones. */
export function shareOf(config: Config, index: number, count: number): Config {
  const share = { ...config, workers: count };
  for (const name of DIVIDED) {
    const part = Math.floor(config[name] / count) + (index < config[name] % count ? 1 : 0);
    share[name] = ONE_EACH.has(name) ? Math.max(1, part) : part;
  }
  return share;
}
