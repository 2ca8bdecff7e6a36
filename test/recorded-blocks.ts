import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createGunzip, gunzipSync } from 'node:zlib';
import { requireShelf } from './shelf.ts';

/** A recorded block with what other decoders read in it (format: README of the recorded data). */
export interface RecordedBlock {
  /** File, and line in a sequence. */
  name: string;
  bytes: Buffer;
  facts: Facts;
  /** Proof that came with the block. */
  proof: Buffer | null;
}

export type Fact = null | boolean | number | string | Fact[] | { [key: string]: Fact };
export interface Facts {
  block: { [key: string]: Fact };
  transactions: { [key: string]: Fact }[];
}

function folder(): string {
  return join(requireShelf(), 'data', 'blocks');
}

/** Path of a recorded single block by the end of its name (`0_8000000000000000_71398501`). */
export function blockFile(end: string): string {
  const name = readdirSync(folder()).find((file) => file.endsWith(`${end}.boc`));
  if (name === undefined) throw new Error(`no recorded block ${end}`);
  return join(folder(), name);
}

/** Every recorded block, the single ones first. */
export async function* recordedBlocks(): AsyncGenerator<RecordedBlock> {
  const files = readdirSync(folder()).sort();
  for (const file of files.filter((name) => name.endsWith('.boc'))) {
    const facts = gunzipSync(readFileSync(join(folder(), file.replace(/boc$/, 'facts.json.gz'))));
    yield {
      name: file,
      bytes: readFileSync(join(folder(), file)),
      facts: JSON.parse(facts.toString()),
      proof: null,
    };
  }
  for (const file of files.filter((name) => /^seq_.*(?<!\.facts)\.ndjson\.gz$/.test(name))) yield* sequence(file);
}

async function* sequence(file: string): AsyncGenerator<RecordedBlock> {
  const facts = lines(file.replace(/ndjson/, 'facts.ndjson'))[Symbol.asyncIterator]();
  let line = 0;
  for await (const text of lines(file)) {
    const block: { boc: string; proof?: string; prooflink?: string } = JSON.parse(text);
    const proof = block.proof ?? block.prooflink;
    yield {
      name: `${file}:${++line}`,
      bytes: Buffer.from(block.boc, 'base64'),
      facts: JSON.parse((await facts.next()).value ?? 'null'),
      proof: proof === undefined ? null : Buffer.from(proof, 'base64'),
    };
  }
}

function lines(file: string): AsyncIterable<string> {
  return createInterface({ input: createReadStream(join(folder(), file)).pipe(createGunzip()) });
}
