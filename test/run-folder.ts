/**
 * Where the tests of a run keep their files: in memory where there is plenty, for ClickHouse makes and removes so many
 * that a disk's file system takes a third of all CPU time; a kill -9 loses nothing there either. The long run, and
 * machines with less memory, take the disk.
 */
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = '/dev/shm';
const NEEDED_BYTES = 12 * 1024 ** 3;
const NAME = /^tonstream-tests-(\d+)-/;

/** A new folder; what runs that were killed have left in memory goes. */
export function runFolder(): string {
  const parent = process.env.TEST_LONG !== '1' && isRoomy() ? IN_MEMORY : tmpdir();
  for (const name of readdirSync(parent)) {
    const pid = NAME.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const folder = mkdtempSync(join(parent, `tonstream-tests-${process.pid}-`));
  // Passed by other users, too: a test starts a program as one.
  chmodSync(folder, 0o711);
  return folder;
}

function isRoomy(): boolean {
  if (!existsSync(IN_MEMORY)) return false;
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return Math.min(bavail * bsize, freemem()) > NEEDED_BYTES;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // One of another user runs.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
