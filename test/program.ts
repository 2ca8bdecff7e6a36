import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const RUN = fileURLToPath(new URL('./run.js', import.meta.url));

/** Starts a TypeScript program in a process of its own; what it prints can be read. */
export function startProgram(file: string, ...words: string[]): ChildProcessByStdio<null, Readable, null> {
  return spawn(process.execPath, [RUN, file, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
}
