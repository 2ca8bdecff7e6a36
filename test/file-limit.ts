import { execFileSync } from 'node:child_process';

/** Where the system has what it takes. */
export const canLimitFiles = process.platform === 'linux';

/** From now on a process can make no file longer than this: what a full disk is to it, wherever the disk is. */
export function limitFiles(pid: number, bytes: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}

export function unlimitFiles(pid: number): void {
  execFileSync('prlimit', ['--pid', String(pid), '--fsize=unlimited:unlimited']);
}

/** From now on a process can have so many files open. Gives back what lets it have as many as before. */
export function limitOpenFiles(pid: number, count: number): () => void {
  const prlimit = (...args: string[]): string =>
    execFileSync('prlimit', ['--pid', String(pid), ...args], { encoding: 'utf8' });
  const before = prlimit('--nofile', '--output=SOFT', '--noheadings', '--raw').trim();
  prlimit(`--nofile=${count}:`);
  return () => {
    prlimit(`--nofile=${before}:`);
  };
}
