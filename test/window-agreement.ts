/** A window on the disk and the tables of a server, asked the same: what a client is told with the one and without. */
import fc from 'fast-check';
import { createClickHouse } from '../clickhouse/client.ts';
import { createQueryGate } from '../clickhouse/gate.ts';
import { createHead, type Head } from '../clickhouse/queries/head.ts';
import { type ClickHouseSource, createClickHouseSource } from '../clickhouse/queries/source.ts';
import { silent } from '../clickhouse/test-server.ts';
import { canonicalBoc } from '../src/chain/canonical.ts';
import { createWindowFollower } from '../src/window/follow.ts';
import { createWindowSource } from '../src/window/source.ts';
import type { WindowView } from '../src/window/view.ts';
import type { Window } from '../src/window/window.ts';
import type { EventLog } from '../streams/log.ts';
import type { PublishedStep } from '../streams/steps-topic.ts';
import { topicNames } from '../streams/topics.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from './api-server.ts';
import { waitFor } from './processes.ts';
import { type Answered, pages } from './window-answers.ts';
import { requests } from './window-requests.ts';

export interface Compared {
  /** A snapshot; ended here. There must be one. */
  view: WindowView | null;
  clickhouseUrl: string;
  database: string;
  paths: readonly string[];
  /** Ends the comparison before all was asked. */
  signal?: AbortSignal;
}

/** Paths whose answers differ, each with both; none when window and tables agree up to the head of the window. */
export async function differences(compared: Compared): Promise<string[]> {
  const { view, clickhouseUrl, database, paths, signal } = compared;
  if (view === null) throw new Error('the window does not answer');
  const clickhouse = createClickHouse({ url: clickhouseUrl, database, logger: silent });
  const gate = createQueryGate({ maxConcurrent: 4, maxQueued: 1_000 });
  const tables = createClickHouseSource(clickhouse, gate, headAt(createHead(clickhouse), view));
  const pinned = pin(view);
  const servers: ApiServer[] = [];
  try {
    for (const source of [createWindowSource({ view: () => pinned.view }, tables), tables]) {
      servers.push(await serveApi(source, { limits: PATIENT_LIMITS }));
    }
    const [merged, alone] = servers;
    const found: string[] = [];
    for (const path of paths) {
      if (signal?.aborted) break;
      const [one, other] = [await pages(merged.url, path), await pages(alone.url, path)];
      if (!isSame(one, other)) found.push(differenceText(path, one, other));
    }
    if (pinned.reads() === 0) throw new Error(`the window was asked nothing for ${paths.length} paths`);
    const failures = servers.flatMap(({ reported }) => reported.map((error) => `failed: ${error}`));
    return [...found, ...failures];
  } finally {
    for (const server of servers) await server.close();
    await clickhouse.close();
    view.done();
  }
}

/** The same moment for every request; not ended by them. */
function pin(view: WindowView): { view: WindowView; reads: () => number } {
  let reads = 0;
  const pinned = new Proxy(view, {
    get(target, name) {
      if (name === 'done') return () => undefined;
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== 'function') return found;
      reads++;
      return found.bind(target);
    },
  });
  return { view: pinned, reads: () => reads };
}

/**
 * A message that the tables know from its receiver's block, while this view has only its sender's, may have its cells
 * in another order there.
 */
function isSame(one: Answered[], other: Answered[]): boolean {
  if (JSON.stringify(one) === JSON.stringify(other)) return true;
  return JSON.stringify(inOneOrder(one)) === JSON.stringify(inOneOrder(other));
}

const BAG = /\bte6cc[\w+/=]+/g;

function inOneOrder(answers: Answered[]): Answered[] {
  const canonical = (bag: string): string => canonicalBoc(Buffer.from(bag, 'base64')).toString('base64');
  return answers.map((answer) => ({ ...answer, body: answer.body.replace(BAG, canonical) }));
}

const SHOWN = 300;

function differenceText(path: string, merged: unknown, alone: unknown): string {
  const [one, other] = [JSON.stringify(merged), JSON.stringify(alone)];
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  const around = (text: string): string => text.slice(Math.max(0, at - SHOWN / 2), at + SHOWN);
  return `${path}\n  window: …${around(one)}\n  tables: …${around(other)}`;
}

/** It stays where the view is, whatever comes. */
function headAt(head: Head, { head: seqno, globalId }: WindowView): Head {
  head.advance(seqno);
  return {
    ...head,
    get seqno() {
      return seqno;
    },
    get globalId() {
      return globalId;
    },
    advance: () => undefined,
  };
}

/** Follows the topic of steps to where the tables are, as a service that is started again does. */
export async function catchUp(window: Window, log: EventLog, clickhouse: ClickHouseSource): Promise<void> {
  const abort = new AbortController();
  const topic = topicNames().steps;
  const follower = createWindowFollower({ window, log, topic, clickhouse, logger: silent });
  const running = follower.run(abort.signal);
  try {
    await waitFor('the window where the tables are', null, async () => window.state?.head === clickhouse.head.seqno);
  } finally {
    abort.abort();
    await running;
  }
}

/** Of these the tables know only the newest, which moves on while both are asked. */
const MOVING = /^\/(accountStates|addressBook|metadata|topAccountsByBalance|jetton\/wallets)/;

/** Of these requests those whose answers stay while the chain goes on, without what is newest in them. */
export function resting(paths: readonly string[]): string[] {
  return paths
    .filter((path) => !MOVING.test(path))
    .map((path) => `${path}${path.includes('?') ? '&' : '?'}x_no_address_book=true&x_no_metadata=true`);
}

/** Random requests about these steps. */
export function sampledRequests(steps: readonly PublishedStep[], count: number, seed: number): string[] {
  return fc.sample(requests(steps), { numRuns: count, seed });
}
