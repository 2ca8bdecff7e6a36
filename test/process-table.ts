/** What runs on this machine, as `ps` shows it. */
import { execFileSync } from 'node:child_process';

export interface ListedProcess {
  pid: number;
  parent: number;
  /** The command with its arguments. */
  command: string;
}

export function listProcesses(): ListedProcess[] {
  const text = execFileSync('ps', ['-ww', '-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return text.split('\n').flatMap((line) => {
    const match = /^ *(\d+) +(\d+) +(.*)$/.exec(line);
    return match === null ? [] : [{ pid: Number(match[1]), parent: Number(match[2]), command: match[3] }];
  });
}

/** Processes that a process has started itself; none of one that did not start. */
export function childrenOf(parent: number | undefined): ListedProcess[] {
  return listProcesses().filter((one) => one.parent === parent);
}
