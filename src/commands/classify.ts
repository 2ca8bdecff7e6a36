import { createReadStream } from 'node:fs';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ZodError, z } from 'zod';
import { classify } from '../chain/actions/classify.ts';
import { exactJson } from '../chain/actions/content.ts';
import { printAction } from '../chain/actions/print.ts';
import { readTraceFile } from '../chain/actions/trace-file.ts';
import { errorMessage } from '../chain/errors.ts';
import type { ImportIo } from './import.ts';

/** Of a file as it stands, and of what it is unpacked to: a trace of 4,000 transactions takes some 20 MB of JSON. */
const MAX_FILE_BYTES = 256 << 20;

const unpack = promisify(gunzip);

/**
 * `tonstream classify FILE…`: tells what the traces in files (`.json`, `.json.gz`) did, one JSON line a file.
 * @returns the exit code: 0 when every file was read, 1 otherwise, with a line on stderr for each that was not
 */
export async function runClassify(
  files: readonly string[],
  { print, stderr = process.stderr }: Pick<ImportIo, 'print' | 'stderr'>,
  maxBytes = MAX_FILE_BYTES,
): Promise<number> {
  if (files.length === 0) {
    stderr.write('tonstream classify: name the trace files\n');
    return 1;
  }
  let failed = 0;
  for (const file of files) {
    try {
      print(classifyFile(await readTrace(file, maxBytes)));
    } catch (error) {
      stderr.write(`tonstream classify: ${file}: ${reasonOf(error)}\n`);
      failed = 1;
    }
  }
  return failed;
}

async function readTrace(file: string, maxBytes: number): Promise<unknown> {
  const bytes = await readAtMost(file, maxBytes);
  const text = file.endsWith('.gz') ? await unpackAtMost(bytes, maxBytes) : bytes;
  return JSON.parse(text.toString('utf8'));
}

/** A pipe tells no size, and a file may grow: what is read counts. */
async function readAtMost(file: string, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of createReadStream(file)) {
    const bytes: Buffer = chunk;
    size += bytes.length;
    if (size > maxBytes) throw new Error(tooLarge(maxBytes));
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function unpackAtMost(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  return unpack(bytes, { maxOutputLength: maxBytes }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ERR_BUFFER_TOO_LARGE' ? new Error(tooLarge(maxBytes), { cause: error }) : error;
  });
}

const tooLarge = (maxBytes: number): string => `more than ${maxBytes} bytes`;

function classifyFile(json: unknown): string {
  const { name, trace, known } = readTraceFile(json);
  const { state, actions } = classify(trace, known);
  const told = actions.map((action) =>
    exactJson({
      ...printAction(action, trace),
      accounts: action.accounts,
      _parent_action_id: action.parentId,
      _ancestor_type: action.ancestors,
    }),
  );
  return `{"name":${JSON.stringify(name)},"classification_state":"${state}","actions":[${told}]}`;
}

function reasonOf(error: unknown): string {
  if (error instanceof ZodError) return z.prettifyError(error).replaceAll(/\s+/g, ' ');
  return errorMessage(error);
}
