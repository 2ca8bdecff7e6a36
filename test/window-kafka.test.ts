/** A window that follows a topic of steps on a real broker. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClickHouse, createClickHouse } from '../clickhouse/client.ts';
import { MIGRATED, startMigratedServer } from '../clickhouse/test-schema.ts';
import { silent, type TestServer } from '../clickhouse/test-server.ts';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import { createWindowFollower } from '../src/window/follow.ts';
import { openWindow, type Window } from '../src/window/window.ts';
import { importFiles } from '../streams/ingest/import.ts';
import { openKafkaLog } from '../streams/kafka.ts';
import type { EventLog } from '../streams/log.ts';
import { rounds, seed } from './chance.ts';
import { createKafkaLocal, type KafkaLocal, kafkaMissing } from './kafka-local.ts';
import { waitFor } from './processes.ts';
import { readSequence, sequenceFile, writeSequence } from './recorded-sequence.ts';
import { differences, sampledRequests } from './window-agreement.ts';
import { projectAll, stepsOf, tablesOf, topics } from './windowed.ts';

const missing = kafkaMissing();
const REQUESTS = rounds(20, 80);
/** Last masterchain blocks of what is imported one after another. */
const PARTS = [40, 70, 120, 132];
const MB = 1024 ** 2;
/** Room in the topic for a few steps only. */
const FEW_STEPS_BYTES = 60_000;

describe.skipIf(missing !== null)('a window over a real broker', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-window-kafka-'));
  let broker: KafkaLocal;
  let server: TestServer;
  let log: EventLog;
  let clickhouse: ClickHouse;
  const open = (): Window => openWindow({ folder: join(folder, 'window'), maxBytes: 64 * MB, form: transactionForm });

  beforeAll(async () => {
    broker = await createKafkaLocal();
    await broker.start();
    server = await startMigratedServer();
    log = openKafkaLog({ brokers: [broker.address], clientId: 'test', onRecreated: () => undefined });
    clickhouse = createClickHouse({ url: server.server.url, database: MIGRATED, logger: silent });
  });

  afterAll(async () => {
    await clickhouse?.close();
    await log?.close();
    await server?.remove();
    await broker?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The blocks behind one masterchain block, up to another, into the log and the tables. */
  async function bring(after: number, upTo: number, retainBytes?: number): Promise<void> {
    const lines = readSequence(sequenceFile('mainnet-genesis_a'));
    const wanted = lines.filter(({ mc_seqno }) => mc_seqno !== null && mc_seqno > after && mc_seqno <= upTo);
    await importFiles(log, topics, [writeSequence(join(folder, `${upTo}.ndjson`), wanted)]);
    await projectAll(log, clickhouse, retainBytes);
  }

  /** Follows to this step; gives the steps that the follower told of. */
  async function follow(window: Window, to: number, meanwhile?: () => Promise<void>): Promise<number[]> {
    const abort = new AbortController();
    const seen: number[] = [];
    const follower = createWindowFollower({
      window,
      log,
      topic: topics.steps,
      clickhouse: await tablesOf(clickhouse),
      logger: silent,
      continuous: true,
      onSteps: (steps) => seen.push(...steps.map(({ step }) => step.mcSeqno)),
    });
    const running = follower.run(abort.signal);
    await meanwhile?.();
    await waitFor(`step ${to} in the window`, null, async () => window.state?.head === to);
    abort.abort();
    await running;
    return seen;
  }

  async function compare(window: Window): Promise<void> {
    const paths = sampledRequests(await stepsOf(log), REQUESTS, seed);
    const where = { clickhouseUrl: server.server.url, database: MIGRATED };
    expect(await differences({ view: window.view(), ...where, paths })).toEqual([]);
  }

  const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

  it('follows what is published, and answers as the tables do', async () => {
    await bring(0, PARTS[0]);
    const window = open();
    const more = async (): Promise<void> => {
      await waitFor('the first steps', null, async () => window.state?.head === PARTS[0]);
      await bring(PARTS[0], PARTS[0] + 5);
    };
    expect(await follow(window, PARTS[0] + 5, more)).toEqual(range(1, PARTS[0] + 5));
    await compare(window);
    await window.close();
  });

  it('goes on where it was when it is opened again', async () => {
    await bring(PARTS[0] + 5, PARTS[1]);
    const window = open();
    expect(await follow(window, PARTS[1])).toEqual(range(PARTS[0] + 6, PARTS[1]));
    expect(window.state?.first).toBe(1);
    await compare(window);
    await window.close();
  });

  it('is filled anew when the topic was trimmed above it', async () => {
    await bring(PARTS[1], PARTS[2], FEW_STEPS_BYTES);
    const window = open();
    const low = await log.low(topics.steps);
    expect(low).toBeGreaterThan(window.state?.nextOffset ?? Number.POSITIVE_INFINITY);
    const [oldest] = await stepsOf(log);
    await follow(window, PARTS[2]);
    expect(window.state?.first).toBe(oldest.step.mcSeqno);
    expect(window.state?.first).toBeGreaterThan(PARTS[1] + 1);
    // With a boundary in the middle, and nothing missing below it.
    await compare(window);
    await window.close();
  });

  it('goes on when the broker was killed while it followed', async () => {
    const window = open();
    const first = window.state?.first;
    const killed = async (): Promise<void> => {
      await broker.kill();
      await broker.start();
      await bring(PARTS[2], PARTS[3]);
    };
    expect(await follow(window, PARTS[3], killed)).toEqual(range(PARTS[2] + 1, PARTS[3]));
    expect(window.state?.first).toBe(first);
    await compare(window);
    await window.close();
  });
});
