import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { z } from 'zod';

const Owner = z.object({ pid: z.number().int().positive(), started: z.string().nullable() });
type Owner = z.infer<typeof Owner>;

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/**
 * What tells a process from a later one with the same id: boot and start time (proc(5), field 22 of `stat`).
 * Null for a dead process, and for all where the system has no /proc.
 */
async function processStart(pid: number): Promise<string | null> {
  const stat = await readIfThere(`/proc/${pid}/stat`).catch(() => null);
  const boot = await readIfThere('/proc/sys/kernel/random/boot_id');
  if (stat === null || boot === null) return null;
  // The command name in field 2 may hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // Killed, and its parent has not looked yet: as good as gone.
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  return `${boot.trim()}:${fields[19]}`;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Folders supervised by this very process, where the id alone proves nothing without /proc. */
const ownFolders = new Set<string>();

/** Process id of the living supervisor recorded in the file, or null. */
export async function livingOwner(ownerFile: string): Promise<number | null> {
  if (ownFolders.has(ownerFile)) return process.pid;
  const text = await readIfThere(ownerFile);
  if (text === null) return null;
  const owner = parseOwner(text);
  if (owner === null || owner.pid === process.pid || !isAlive(owner.pid)) return null;
  const started = await processStart(owner.pid);
  return started === owner.started ? owner.pid : null;
}

/** A torn file is the mark of a crash while it was written: nobody owns the folder then. */
function parseOwner(text: string): Owner | null {
  try {
    return Owner.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Records this process as the supervisor of the folder. The engine's own lock stays the last word. */
export async function takeOwnership(ownerFile: string): Promise<void> {
  ownFolders.add(ownerFile);
  const owner: Owner = { pid: process.pid, started: await processStart(process.pid) };
  // Put in place as a whole: whoever looks meanwhile must not find that nobody owns the folder.
  const temporary = `${ownerFile}.${process.pid}`;
  await writeFile(temporary, JSON.stringify(owner));
  await rename(temporary, ownerFile);
}

export async function dropOwnership(ownerFile: string): Promise<void> {
  ownFolders.delete(ownerFile);
  const text = await readIfThere(ownerFile);
  // Of two processes that start at once the winner's name stays.
  if (text !== null && parseOwner(text)?.pid === process.pid) await rm(ownerFile, { force: true });
}

/**
 * The port of the last start while it is free, so that the URL stays the same; else a new one, recorded.
 * New ports lie below the range from which systems take the ports of outgoing connections.
 */
export async function choosePort(portFile: string): Promise<number> {
  const recorded = Number(await readIfThere(portFile));
  if (Number.isInteger(recorded) && recorded > 1023 && recorded < 65536 && (await isFree(recorded))) return recorded;
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = 12_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) {
      await writeFile(portFile, String(port));
      return port;
    }
  }
  throw new Error('found no free port on 127.0.0.1 between 12000 and 32000');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
