import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { startEmbeddedClickHouse } from '../clickhouse/server.ts';
import { testServerOptions } from '../clickhouse/test-server.ts';
import { expectAgreement } from './agreement.ts';
import { drawn, random, rounds, seed } from './chance.ts';
import {
  CLICKHOUSE,
  devnetFlags,
  devnetOptions,
  ended,
  home,
  isOpen,
  killAll,
  killChild,
  leftBehind,
  PATIENCE_MS,
  positionOf,
  report,
  run,
  small,
  TEST_TIMEOUT_MS,
  WORKER,
  WORKERS,
} from './live-crash.ts';
import { type Run, waitFor } from './processes.ts';

/** `starting`: the service again, at any moment of its start. */
const VICTIMS = ['service', 'starting', 'ClickHouse', 'worker'] as const;
const ROUNDS = rounds(VICTIMS.length, 3 * VICTIMS.length);

afterAll(killAll);

/** Waits until blocks behind `seqno` are in the tables; the log's end by then. */
async function movedOn(service: Run, seqno: number): Promise<number> {
  let logged = 0;
  const check = async (): Promise<boolean> => {
    const position = await positionOf(service);
    logged = position?.logged ?? 0;
    return position !== null && position.projected > seqno;
  };
  await waitFor(`masterchain block ${seqno + 1} in the tables`, service, check, PATIENCE_MS);
  return logged;
}

it('kill -9 of a whole service under traffic: chain, log and tables agree', { timeout: TEST_TIMEOUT_MS }, async () => {
  const dataDir = join(home, 'whole');
  const devnet = devnetOptions(10, 20);
  const flags = [...devnetFlags(devnet), ...WORKERS];
  const words = ['start', '--network', 'devnet', ...flags, '--data-dir', dataDir, '--port', '0'];
  const start = (): Run => run(...words, ...small());
  const victims = drawn(VICTIMS, ROUNDS);
  let service = start();
  let logged = 0;
  for (const victim of victims) {
    if (victim === 'starting') {
      await service.kill();
      service = start();
      await sleep(random(6_000));
    } else {
      logged = await movedOn(service, logged);
      await sleep(random(1_000));
    }
    if (victim === 'ClickHouse') {
      killChild(service, CLICKHOUSE);
    } else if (victim === 'worker') {
      killChild(service, WORKER);
    } else {
      await service.kill();
      service = start();
    }
  }
  await movedOn(service, await movedOn(service, logged));
  await ended(service);
  expect(leftBehind()).toEqual([]);
  const server = await startEmbeddedClickHouse(testServerOptions(join(dataDir, 'clickhouse')));
  try {
    const tables = { clickhouseUrl: server.url, database: 'tonstream' };
    report('the whole service', victims, await expectAgreement({ dataDir, devnet, seed, ...tables }));
  } finally {
    await server.stop();
  }
});

it('a second devnet in a folder is refused', { timeout: TEST_TIMEOUT_MS }, async () => {
  const words = ['devnet', '--data-dir', join(home, 'twice'), '--port', '0', '--block-time', '100ms'];
  const first = run(...words);
  await waitFor('the first devnet', first, async () => isOpen(first), PATIENCE_MS);
  const second = run(...words);
  const hasEnded = async () => second.child.exitCode !== null || isOpen(second);
  await waitFor('the second devnet', null, hasEnded, PATIENCE_MS);
  expect(second.output()).toContain(`twice/devnet is in use by process ${first.child.pid}:`);
  expect(await second.ended).toBe(1);
  await ended(first);
  // One that was killed does not count.
  const third = run(...words);
  await waitFor('the third devnet', third, async () => isOpen(third), PATIENCE_MS);
  await third.kill();
  const fourth = run(...words);
  await waitFor('the fourth devnet', fourth, async () => isOpen(fourth), PATIENCE_MS);
  await ended(fourth);
});
