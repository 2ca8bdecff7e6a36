import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ZodError, z } from 'zod';
import { classify } from '../chain/actions/classify.ts';
import { printAction } from '../chain/actions/print.ts';
import { readTraceFile } from '../chain/actions/trace-file.ts';
import type { ImportIo } from './import.ts';

/** A trace of 4,000 transactions takes some 20 MB of JSON. */
const MAX_FILE_BYTES = 256 << 20;

const unpack = promisify(gunzip);

/**
 * `tonstream classify FILE…`: tells what the traces in files (`.json`, `.json.gz`) did, one JSON line a file.
 * @returns the exit code: 0 when every file was read, 1 otherwise, with a line on stderr for each that was not
 */
export async function runClassify(
  files: readonly string[],
  { print, stderr = process.stderr }: Pick<ImportIo, 'print' | 'stderr'>,
): Promise<number> {
  if (files.length === 0) {
    stderr.write('tonstream classify: name the trace files\n');
    return 1;
  }
  let failed = 0;
  for (const file of files) {
    try {
      print(classifyFile(await readTrace(file)));
    } catch (error) {
      stderr.write(`tonstream classify: ${file}: ${reasonOf(error)}\n`);
      failed = 1;
    }
  }
  return failed;
}

async function readTrace(file: string): Promise<unknown> {
  const bytes = await readFile(file);
  const text = file.endsWith('.gz') ? await unpack(bytes, { maxOutputLength: MAX_FILE_BYTES }) : bytes;
  return JSON.parse(text.toString('utf8'));
}

function classifyFile(json: unknown): string {
  const { name, trace, known } = readTraceFile(json);
  const { state, actions } = classify(trace, known);
  return JSON.stringify({
    name,
    classification_state: state,
    actions: actions.map((action) => ({
      ...printAction(action, trace),
      accounts: action.accounts,
      _parent_action_id: action.parentId,
      _ancestor_type: action.ancestors,
    })),
  });
}

function reasonOf(error: unknown): string {
  if (error instanceof ZodError) return z.prettifyError(error).replaceAll(/\s+/g, ' ');
  return error instanceof Error ? error.message : String(error);
}
