import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';

const place = z.object({ workchain: z.number(), seqno: z.number(), mc_seqno: z.number().nullable() });

/** Cuts a recorded sequence in two files, behind a masterchain block. */
export function cutSequence(file: string, behindMcSeqno: number, folder: string): [string, string] {
  const lines = gunzipSync(readFileSync(file)).toString().trim().split('\n');
  const step = (line: string): number => {
    const { workchain, seqno, mc_seqno } = place.parse(JSON.parse(line));
    return workchain === -1 ? seqno : (mc_seqno ?? Number.POSITIVE_INFINITY);
  };
  const write = (name: string, part: string[]): string => {
    writeFileSync(join(folder, name), part.map((line) => `${line}\n`).join(''));
    return join(folder, name);
  };
  return [
    write(
      'first.ndjson',
      lines.filter((line) => step(line) <= behindMcSeqno),
    ),
    write(
      'second.ndjson',
      lines.filter((line) => step(line) > behindMcSeqno),
    ),
  ];
}
