import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import { errorMessage } from '../../src/chain/errors.ts';
import type { BlockIdExt } from '../../src/chain/model.ts';
import { MAX_VALUE_BYTES } from '../framing.ts';
import { type FilePosition, IngestError } from './check.ts';

export type FileKind = 'boc' | 'ndjson' | 'ndjson.gz';

export interface BlockFile {
  path: string;
  kind: FileKind;
  /** Bytes on the disk. */
  size: number;
}

/** A block as a file gives it, not yet opened. */
export interface FileBlock {
  place: FilePosition;
  bytes: Buffer;
  /** The id the file gives it; null in `.boc` files. */
  id: BlockIdExt | null;
  /** The masterchain seqno that commits it according to the file. */
  mcSeqno: number | null;
}

/** A line of base64 for the largest block, once more for its proof, and the rest. */
const MAX_LINE_BYTES = 3 * MAX_VALUE_BYTES;

const hash = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, 'not 64 hex digits')
  .transform((text) => Buffer.from(text, 'hex'));
const seqno = z.int().min(0).max(0xffff_ffff);
const LINE = z.object({
  workchain: z.int().min(-0x8000_0000).max(0x7fff_ffff),
  shard: z
    .string()
    .regex(/^[0-9a-fA-F]{16}$/, 'not 16 hex digits')
    .transform((text) => text.toLowerCase()),
  seqno,
  root_hash: hash,
  file_hash: hash,
  mc_seqno: seqno.nullish(),
  boc: z.base64('not base64').transform((text) => Buffer.from(text, 'base64')),
});

/**
 * The block files of paths in order: files as they are, folders with all below them by name. In a folder only
 * `.boc`, `.ndjson` and `.ndjson.gz` files are taken; `*.facts.*` (what recorded data holds beside its blocks) not.
 * @throws {IngestError} `unreadable`
 */
export async function listBlockFiles(paths: readonly string[]): Promise<BlockFile[]> {
  const files: BlockFile[] = [];
  for (const path of paths) {
    const found = await listPath(path);
    if (found.length === 0) throw unreadable(path, 'holds no .boc, .ndjson or .ndjson.gz file');
    files.push(...found);
  }
  return files;
}

async function listPath(path: string): Promise<BlockFile[]> {
  const facts = await attempt(path, () => stat(path));
  if (!facts.isDirectory()) {
    const kind = kindOf(path);
    if (kind === null) throw unreadable(path, 'is not a .boc, .ndjson or .ndjson.gz file');
    return [{ path, kind, size: facts.size }];
  }
  const files: BlockFile[] = [];
  const entries = await attempt(path, () => readdir(path, { withFileTypes: true }));
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const below = join(path, entry.name);
    if (entry.isDirectory() || (kindOf(entry.name) !== null && !/\.facts\./.test(entry.name))) {
      files.push(...(await listPath(below)));
    }
  }
  return files;
}

function kindOf(path: string): FileKind | null {
  if (path.endsWith('.boc')) return 'boc';
  if (path.endsWith('.ndjson')) return 'ndjson';
  return path.endsWith('.ndjson.gz') ? 'ndjson.gz' : null;
}

/**
 * The blocks of a file in its order; a sequence is read line by line.
 * @param onBytes told of the bytes read from the disk
 * @throws {IngestError} `unreadable` or `bad_block`, with the line
 */
export async function* readBlockFile(
  file: BlockFile,
  onBytes: (count: number) => void,
  signal: AbortSignal,
): AsyncGenerator<FileBlock> {
  if (file.kind === 'boc') {
    if (file.size > MAX_VALUE_BYTES) throw unreadable(file.path, `is larger than ${MAX_VALUE_BYTES} bytes`);
    const bytes = await attempt(file.path, () => readFile(file.path, { signal }));
    onBytes(bytes.length);
    yield { place: { file: file.path, line: null }, bytes, id: null, mcSeqno: null };
    return;
  }
  let line = 0;
  try {
    for await (const text of readLines(file, onBytes, signal)) {
      const place = { file: file.path, line: ++line };
      if (text.length > MAX_LINE_BYTES) throw new IngestError('bad_block', place, 'the line is too long for a block');
      if (text.toString('latin1', 0, 64).trim() !== '' || text.length > 64) yield parseLine(text, place);
    }
  } catch (error) {
    if (error instanceof IngestError || signal.aborted) throw error;
    const what = errorMessage(error);
    throw new IngestError('unreadable', { file: file.path, line: line + 1 }, `cannot be read: ${what}`, {
      cause: error,
    });
  }
}

function parseLine(text: Buffer, place: FilePosition): FileBlock {
  let json: unknown;
  try {
    json = JSON.parse(text.toString());
  } catch (error) {
    throw new IngestError('bad_block', place, 'the line is not JSON', { cause: error });
  }
  const parsed = LINE.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new IngestError('bad_block', place, `${issue.path.join('.') || 'the line'}: ${issue.message}`);
  }
  const { workchain, shard, root_hash: rootHash, file_hash: fileHash, mc_seqno: mcSeqno = null, boc } = parsed.data;
  if (boc.length > MAX_VALUE_BYTES) throw new IngestError('bad_block', place, `larger than ${MAX_VALUE_BYTES} bytes`);
  return { place, bytes: boc, id: { workchain, shard, seqno: parsed.data.seqno, rootHash, fileHash }, mcSeqno };
}

/** Lines without their end; one that exceeds the limit comes as far as it was read. */
async function* readLines(
  file: BlockFile,
  onBytes: (count: number) => void,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const source = createReadStream(file.path, { highWaterMark: 256 * 1024 });
  source.on('data', (chunk) => onBytes(chunk.length));
  const out = new PassThrough({ highWaterMark: 256 * 1024 });
  const stages = file.kind === 'ndjson.gz' ? [createGunzip({ chunkSize: 256 * 1024 }), out] : [out];
  const flow = pipeline([source, ...stages], { signal });
  // A failure reaches the reader through `out`; here it only must not go unhandled.
  flow.catch(() => undefined);
  let parts: Buffer[] = [];
  let held = 0;
  for await (const chunk of out as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, end)]);
      parts = [];
      held = 0;
      from = end + 1;
    }
    parts.push(chunk.subarray(from));
    held += chunk.length - from;
    if (held > MAX_LINE_BYTES) yield Buffer.concat(parts);
  }
  if (held > 0) yield Buffer.concat(parts);
}

function unreadable(path: string, reason: string, cause?: unknown): IngestError {
  return new IngestError('unreadable', { file: path, line: null }, reason, { cause });
}

async function attempt<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const reason = error instanceof Error && 'code' in error && error.code === 'ENOENT' ? 'does not exist' : null;
    throw unreadable(path, reason ?? `cannot be read: ${errorMessage(error)}`, error);
  }
}
