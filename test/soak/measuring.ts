/** Memory of the service's processes and the turns of its window, over time. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { engineFile } from '../../src/window/engine.ts';
import { metricOf } from '../metrics.ts';
import { processUsage } from '../process-usage.ts';
import { ask } from './asking.ts';
import type { Process, SoakedService } from './service.ts';
import { pause } from './traffic.ts';

/** One process at one moment, in bytes: all that is resident, and what of it is no mapped file. */
interface Sample {
  role: Process['role'];
  residentBytes: number;
  ownBytes: number;
}

/** Means of all processes of a role together. */
export interface MemoryOfRole {
  role: Process['role'];
  firstThird: Means;
  middleThird: Means;
  lastThird: Means;
}

export interface Means {
  residentMb: number;
  ownMb: number;
}

export interface Measured {
  memory: readonly MemoryOfRole[];
  /** How often everything in the window was replaced. */
  turnovers: number;
  windowFirst: number;
  windowHead: number;
  archiveFirst: number;
  archiveHead: number;
  /** Of the file: means of the first, middle and last third of the time, and at its largest. */
  windowFileMb: readonly number[];
}

export interface Measuring {
  run(signal: AbortSignal): Promise<void>;
  result(): Measured;
}

const EVERY_MS = 2_000;
const MB = 1024 * 1024;
const ROLES: readonly Process['role'][] = ['main', 'worker', 'clickhouse', 'other host'];

export function createMeasuring(service: SoakedService, dataDir: string): Measuring {
  const moments: Sample[][] = [];
  const window = { first: 0, head: 0, turnedAt: 0, turnovers: 0, fileBytes: [] as number[] };
  const archive = { first: 0, head: 0 };

  async function lookAtWindow(): Promise<void> {
    const { text } = await ask(`${service.url}/metrics`, 'new');
    window.first = metricOf(text, 'tonstream_window_first_mc_seqno');
    window.head = metricOf(text, 'tonstream_window_mc_seqno');
    archive.first = metricOf(text, 'tonstream_archive_first_mc_seqno');
    archive.head = metricOf(text, 'tonstream_archive_mc_seqno');
    if (window.turnedAt === 0) window.turnedAt = window.head;
    if (window.first > window.turnedAt) {
      window.turnovers++;
      window.turnedAt = window.head;
    }
    window.fileBytes.push(statSync(engineFile(join(dataDir, 'window'))).size);
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        const processes = service.processes();
        try {
          moments.push(processes.map(({ pid, role }) => ({ role, ...processUsage(pid) })));
          await lookAtWindow();
        } catch {
          // Between a kill and the next start there is nothing to look at; the clients notice what should not be.
        }
        await pause(EVERY_MS, signal);
      }
    },
    result: () => ({
      memory: ROLES.map((role) => memoryOf(role, moments)),
      turnovers: window.turnovers,
      windowFirst: window.first,
      windowHead: window.head,
      archiveFirst: archive.first,
      archiveHead: archive.head,
      windowFileMb: fileSizes(window.fileBytes),
    }),
  };
}

function fileSizes(bytes: readonly number[]): number[] {
  const third = Math.ceil(bytes.length / 3);
  const means = [0, 1, 2].map((part) => {
    const some = bytes.slice(part * third, (part + 1) * third);
    return some.reduce((a, b) => a + b, 0) / Math.max(1, some.length);
  });
  return [...means, Math.max(0, ...bytes)].map((size) => Math.round(size / MB));
}

function memoryOf(role: Process['role'], moments: readonly Sample[][]): MemoryOfRole {
  const third = Math.ceil(moments.length / 3);
  const means = (part: number): Means => {
    const some = moments.slice(part * third, (part + 1) * third);
    const mean = (pick: (sample: Sample) => number): number => {
      const sums = some.map((moment) =>
        moment.reduce((sum, sample) => sum + (sample.role === role ? pick(sample) : 0), 0),
      );
      return Math.round(sums.reduce((a, b) => a + b, 0) / Math.max(1, sums.length) / MB);
    };
    return { residentMb: mean((sample) => sample.residentBytes), ownMb: mean((sample) => sample.ownBytes) };
  };
  return { role, firstThird: means(0), middleThird: means(1), lastThird: means(2) };
}
