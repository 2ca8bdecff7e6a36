import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { threadId } from 'node:worker_threads';
import { z } from 'zod';

/** A process told apart from a later one with the same pid by the moment it started. */
export interface ProcessMark {
  pid: number;
  started: string;
}

const HOLDER = z.object({
  pid: z.int().positive(),
  started: z.string(),
  /** Threads of the process that use the lock; the last one to release removes the file. */
  threads: z.array(z.int()),
});

type Holder = z.infer<typeof HOLDER>;

/**
 * When a process started, in a form that only has to differ between processes: boot id and start in clock ticks on
 * Linux (proc(5), field 22 of `stat`), the date `ps` prints elsewhere. Null when there is no such process.
 */
export function processStart(pid: number): string | null {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it lives, under another user.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return null;
  }
  if (process.platform === 'linux') return linuxStart(pid);
  if (process.platform === 'win32') return 'unknown';
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null;
  } catch {
    // ps exits with 1 for a process that has just ended.
    return null;
  }
}

function linuxStart(pid: number): string | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // Ended since the signal was tried.
    return null;
  }
  // The second field is the program's name in parentheses and may hold spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const zombie = fields[0] === 'Z' || fields[0] === 'X';
  return zombie ? null : `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${fields[19]}`;
}

let own: ProcessMark | undefined;

function ownMark(): ProcessMark {
  own ??= { pid: process.pid, started: processStart(process.pid) ?? 'unknown' };
  return own;
}

function isMine({ pid, started }: ProcessMark): boolean {
  const mine = ownMark();
  return pid === mine.pid && started === mine.started;
}

function readHolder(file: string): Holder | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  try {
    const parsed = HOLDER.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    // Files are put in place whole by rename, so this is not one of ours half written: nobody can be named.
    return null;
  }
}

function writeHolder(file: string, holder: Holder): void {
  const temporary = `${file}.${process.pid}.${threadId}`;
  writeFileSync(temporary, JSON.stringify(holder));
  renameSync(temporary, file);
}

/** Another process, and one that lives. */
function isOther(holder: Holder): boolean {
  return !isMine(holder) && processStart(holder.pid) === holder.started;
}

/** The living process other than this one that has the lock. Needs no mutex: the file is replaced as a whole. */
export function otherWriter(file: string): ProcessMark | null {
  const holder = readHolder(file);
  return holder !== null && isOther(holder) ? holder : null;
}

/**
 * Takes the advisory lock of a topic for this process, or tells who has it. A lock whose process is gone is taken
 * over. Calls on one file must not overlap between processes: the caller holds the environment's write transaction.
 * Valid among processes of one host and one pid namespace, as the embedded log itself is.
 */
export function takeWriterLock(file: string): { taken: true } | { taken: false; holder: ProcessMark } {
  const holder = readHolder(file);
  if (holder !== null && isOther(holder)) return { taken: false, holder };
  const threads = holder !== null && isMine(holder) ? holder.threads : [];
  if (!threads.includes(threadId)) writeHolder(file, { ...ownMark(), threads: [...threads, threadId] });
  return { taken: true };
}

/** Gives the lock up for this thread; same rule about overlapping calls. Does nothing when another process has it. */
export function releaseWriterLock(file: string): void {
  const holder = readHolder(file);
  if (holder === null || !isMine(holder)) return;
  const threads = holder.threads.filter((thread) => thread !== threadId);
  if (threads.length > 0) writeHolder(file, { ...holder, threads });
  else rmSync(file, { force: true });
}
