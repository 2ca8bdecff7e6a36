/** Recorded sequences for the tests of ingest: reading, changing and writing their blocks. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import { crc32c } from '../src/chain/crc.ts';
import { blockKey } from '../streams/envelope.ts';
import { checkBlock } from '../streams/ingest/check.ts';
import type { EventLog } from '../streams/log.ts';
import { readSteps, type Step } from '../streams/steps.ts';
import { requireShelf } from './shelf.ts';

const LINE = z.looseObject({
  workchain: z.number(),
  shard: z.string(),
  seqno: z.number(),
  root_hash: z.string(),
  file_hash: z.string(),
  mc_seqno: z.number().nullable(),
  boc: z.string(),
});

export type SequenceLine = z.infer<typeof LINE>;

export function sequenceFile(name: string): string {
  return join(requireShelf(), 'data', 'blocks', `seq_${name}.ndjson.gz`);
}

export function readSequence(file: string): SequenceLine[] {
  const lines = gunzipSync(readFileSync(file)).toString().trim().split('\n');
  return lines.map((line) => LINE.parse(JSON.parse(line)));
}

/** Gzipped when the name says so. */
export function writeSequence(file: string, lines: readonly unknown[]): string {
  const text = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  writeFileSync(file, file.endsWith('.gz') ? gzipSync(text) : text);
  return file;
}

/** Another block under the same id, with hashes that fit it: one byte behind a mark in its cells is changed. */
export function changeBlock(line: SequenceLine, what: 'seed' | 'network'): SequenceLine {
  const bytes = Buffer.from(line.boc, 'base64');
  const mark = what === 'seed' ? decodeBlock(openBoc(bytes)).randSeed : Buffer.from('11ef55aa', 'hex');
  bytes[bytes.indexOf(mark) + (what === 'seed' ? 0 : 7)] ^= 1;
  return rehashed(line, bytes);
}

/** A masterchain block that commits another seqno of a shard, under the hashes of its top. */
export function changeTop(line: SequenceLine, rootHash: Buffer, seqno: number): SequenceLine {
  const bits = (bytes: Buffer): string => [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const all = bits(Buffer.from(line.boc, 'base64'));
  // Between them stand the masterchain seqno and two logical times (block.tlb, ShardDescr).
  const at = all.indexOf(bits(rootHash)) - 64 - 64 - 32 - 32;
  const changed = all.slice(0, at) + seqno.toString(2).padStart(32, '0') + all.slice(at + 32);
  return rehashed(line, Buffer.from((changed.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))));
}

function rehashed(line: SequenceLine, bytes: Buffer): SequenceLine {
  bytes.writeUInt32LE(crc32c(bytes.subarray(0, -4)), bytes.length - 4);
  const { id } = checkBlock(bytes, null, { file: 'changed block', line: null });
  const hashes = { root_hash: id.rootHash.toString('hex'), file_hash: id.fileHash.toString('hex') };
  return { ...line, ...hashes, boc: bytes.toString('base64') };
}

export async function allSteps(log: EventLog, topic: string): Promise<Step[]> {
  const steps: Step[] = [];
  const options = { signal: new AbortController().signal, stopAtEnd: true };
  for await (const batch of readSteps(log, topic, 0, options)) steps.push(...batch);
  return steps;
}

/** What of the log does not depend on when it was written. */
export async function logContent(log: EventLog, topic: string): Promise<string[]> {
  const content: string[] = [];
  const options = { signal: new AbortController().signal, stopAtEnd: true };
  for await (const batch of log.read(topic, 0, options)) {
    for (const { key, headers } of batch) content.push(`${key} ${JSON.stringify({ ...headers, rx: null })}`);
  }
  return content;
}

/** Block key to step. */
export function stepOfBlocks(steps: readonly Step[]): Map<string, number> {
  return new Map(steps.flatMap(({ mcSeqno, blocks }) => blocks.map(({ id }) => [blockKey(id), mcSeqno] as const)));
}
