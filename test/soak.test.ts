/**
 * The soak of `npm run soak` with a kill of each part of a service, for as long as that takes; for half an hour in the
 * long run. When all has stopped, chain, log, tables and windows say the same.
 */
import { expect, it } from 'vitest';
import { type AgreedFigures, expectAgreement } from './agreement.ts';
import { drawn, isLong, random, rounds, seed } from './chance.ts';
import type { DevnetFolderOptions } from './devnet-folder.ts';
import { soak } from './soak/run.ts';
import { VICTIMS, type Victim } from './soak/service.ts';

const GB = 1024 ** 3;
/** Of the window's file, whose steps take half a megabyte at most. */
const MOST_FILE_MB = 100;
const devnet: DevnetFolderOptions = {
  seed: 'crash',
  blockTimeMs: rounds(1000, 250),
  splitAt: rounds(6, 25),
  mergeAt: rounds(14, 50),
};
/** One of those that no other test kills under `start` with a small window; all there are in the long run. */
const DYING: readonly Victim[] = isLong ? VICTIMS : ['writer', 'ClickHouse', 'starting'];

it(
  'a devnet under traffic with a small window and kills: each step once, no request that fails',
  async () => {
    const victims = drawn(DYING, rounds(1, DYING.length));
    const agreed: AgreedFigures[] = [];
    const report = await soak({
      minutes: rounds(0.1, 30),
      killSeconds: rounds(1, 60),
      auditedTraces: rounds(0, 50_000),
      leastKills: victims.length,
      leastTurnovers: 1,
      firstSteps: rounds(8, 20),
      clients: rounds(2, 3),
      mostSteps: rounds(8, 50),
      comparedLive: rounds(8, 25),
      pauseMs: rounds(250, 0),
      ...(isLong ? { subscribers: { sockets: 20, streams: 20, webhooks: 5 } } : {}),
      victims,
      seed,
      settings: {
        blockTimeMs: devnet.blockTimeMs,
        rate: rounds(2, 12),
        // A few seconds of steps.
        windowBytes: rounds(256, 512) * 1024,
        // In the short run all that was published is still there at the end.
        stepsBytes: rounds(GB, 1024 ** 2),
        // On a machine that runs other tests beside this one queries may take long.
        queryTimeoutMs: 60_000,
        flags: [
          ...['--devnet-seed', devnet.seed, '--split-at', String(devnet.splitAt), '--merge-at', String(devnet.mergeAt)],
          ...['--batch-steps', String(1 + random(20)), '--batch-bytes', '64k', '--batch-ms', '20'],
        ],
      },
      async compareStopped(stopped) {
        agreed.push(await expectAgreement({ ...stopped, devnet, forgotten: isLong, isVerified: !isLong, seed }));
      },
    });
    expect(report.failures).toEqual([]);
    expect(report.wrongs).toEqual([]);
    expect(report.verify).toMatch(/^\d+ steps compared .*: 0 differences, 0 gaps$/);
    expect(Object.keys(report.kills)).toEqual([...victims].sort());
    expect(report.turnovers).toBeGreaterThan(0);
    // A read that is never ended keeps all that is written from then on.
    expect(Math.max(...report.windowFileMb)).toBeLessThan(MOST_FILE_MB);
    expect(report.requests).toBeGreaterThan(50);
    expect(report.counts['heads asked for']).toBeGreaterThan(rounds(3, 10));
    expect(report.counts['events "chain"']).toBeGreaterThan(rounds(3, 10));
    expect(report.statuses['POST /devnet/faucet 200']).toBeGreaterThan(0);
    expect(report.counts['steps compared with the log']).toBeGreaterThan(rounds(3, 10));
    if (isLong) {
      expect(report.counts['subscribers compared with the log']).toBe(45);
      expect(report.counts['events that subscribers heard']).toBeGreaterThan(1000);
    }
    const { seconds, requests, turnovers, kills } = report;
    process.stdout.write(`soak: ${JSON.stringify({ seconds, requests, turnovers, kills, ...agreed[0] })}\n`);
  },
  rounds(1_500_000, 3_600_000),
);
