import { readFileSync } from 'node:fs';

/** CPU time and memory of a process as Linux counts them; benchmarks only. */
export interface ProcessUsage {
  /** User and system time of all threads, milliseconds. */
  cpuMs: number;
  /** Highest and present resident size, bytes. */
  peakBytes: number;
  residentBytes: number;
  /** The part of it that is the process's own: without pages of mapped files, such as the log's. */
  ownBytes: number;
}

/** Length of a clock tick in `/proc/<pid>/stat`: 1/100 s on every Linux in use. */
const TICK_MS = 10;

export function processUsage(pid: number): ProcessUsage {
  // The name in parentheses may hold spaces; utime and stime are the 12th and 13th field behind it.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const size = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024;
  return {
    cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
    peakBytes: size('VmHWM'),
    residentBytes: size('VmRSS'),
    ownBytes: size('RssAnon'),
  };
}

/**
 * Bytes of files that a process has made dirty and not taken back since: what goes to a disk; nothing on a file system in
 * memory.
 */
export function writtenBytes(pid: number): number {
  const io = readFileSync(`/proc/${pid}/io`, 'utf8');
  const bytes = (name: string): number => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(io)?.[1] ?? 0);
  return bytes('write_bytes') - bytes('cancelled_write_bytes');
}
