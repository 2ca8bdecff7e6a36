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
