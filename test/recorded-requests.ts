/** Recorded requests to the reference service, divided by chance between what is asked. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { groupBy } from './api/network.ts';
import { drawn, isLong } from './chance.ts';

/** The name that the comparer expects. */
const FILE = 'cases.ndjson.gz';

/** Requests of an endpoint that are in every part, however many others there are. */
const IN_EVERY_PART = 4;

const request = z.looseObject({ endpoint: z.string() });

type Counts = Record<string, number>;

export interface DividedRequests {
  /** All of them, by endpoint. */
  cases: Counts;
  /** The folder of each part, and what is in it by endpoint. */
  parts: { folder: string; cases: Counts }[];
  remove(): void;
}

/** Each request is in one part at least; in the long run every part has all of them. */
export function divideRequests(recording: string, count: number): DividedRequests {
  const lines = gunzipSync(readFileSync(join(recording, FILE)))
    .toString()
    .trim()
    .split('\n');
  const endpoints = groupBy(lines, (line) => request.parse(JSON.parse(line)).endpoint);
  const numbers = Array.from({ length: count }, (_, number) => number);
  const divided = numbers.map((): { cases: Counts; lines: string[] } => ({ cases: {}, lines: [] }));
  const cases: Counts = {};
  for (const [endpoint, all] of endpoints) {
    cases[endpoint] = all.length;
    const owners = drawn(numbers, all.length);
    for (const [number, part] of divided.entries()) {
      const own = all.filter((_, i) => isLong || i < IN_EVERY_PART || owners[i] === number);
      part.cases[endpoint] = own.length;
      part.lines.push(...own);
    }
  }
  const home = mkdtempSync(join(tmpdir(), 'tonstream-requests-'));
  const parts = divided.map((part, number) => {
    const folder = join(home, String(number));
    mkdirSync(folder);
    writeFileSync(join(folder, FILE), gzipSync(`${part.lines.join('\n')}\n`, { level: 1 }));
    return { folder, cases: part.cases };
  });
  return { cases, parts, remove: () => rmSync(home, { recursive: true }) };
}
