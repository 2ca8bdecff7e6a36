/**
 * The log's file is mapped into memory, and each page that was read counts as memory of the process until the kernel
 * wants it for something else: projecting half a million transactions showed 1.3 GB where 0.5 GB were the process's
 * own (`npm run bench:project`). A reader that has passed through many megabytes gives them back.
 */
import { readFileSync, realpathSync } from 'node:fs';
import { DataType, load, open } from 'ffi-rs';

/** `MADV_PAGEOUT` of linux/mman.h, from Linux 5.4 on: takes pages out of memory and loses none. */
const MADV_PAGEOUT = 21;
const LIBC = 'libc';
let available = process.platform === 'linux';
let opened = false;

/**
 * Takes the pages of a mapped file out of this process's memory. Only a matter of how much memory is seen in use: where
 * the system has no such call, nothing happens.
 */
export function releaseMappedPages(file: string): void {
  if (!available) return;
  try {
    if (!opened) open({ library: LIBC, path: 'libc.so.6' });
    opened = true;
    for (const { from, bytes } of mappings(realpathSync(file))) {
      load({
        library: LIBC,
        funcName: 'madvise',
        retType: DataType.I32,
        paramsType: [DataType.I64, DataType.I64, DataType.I32],
        paramsValue: [from, bytes, MADV_PAGEOUT],
      });
    }
  } catch {
    // A libc of another name, or no /proc: the kernel takes the pages when it needs them.
    available = false;
  }
}

/** Where a file is mapped (proc(5), `maps`: `from-to permissions offset device inode path`). */
function mappings(path: string): { from: number; bytes: number }[] {
  const lines = readFileSync('/proc/self/maps', 'latin1').split('\n');
  return lines
    .filter((line) => line.endsWith(` ${path}`))
    .map((line) =>
      line
        .split(' ', 1)[0]
        .split('-')
        .map((hex) => Number.parseInt(hex, 16)),
    )
    .map(([from, to]) => ({ from, bytes: to - from }));
}
