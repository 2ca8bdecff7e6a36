import { type SpawnOptions, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { engineFile, openEngine } from './engine.ts';

it.each([false, true])(
  'a batch that is not on the disk is told of once, to who wrote it, and is no end of the process (lasting: %s)',
  async (lasting) => {
    const folder = mkdtempSync(join(tmpdir(), 'tonstream-engine-'));
    const program = `
    import { openEngine } from ${JSON.stringify(new URL('./engine.ts', import.meta.url).href)};
    const engine = openEngine(${JSON.stringify(folder)}, [{ name: 'rows' }, { name: 'others' }], { lasting: ${lasting} });
    const value = Buffer.alloc(100_000);
    const write = (n) =>
      engine.commit(engine.note(), (batch) => {
        for (const name of ['a', 'b']) batch.append('rows', Buffer.from(String(n).padStart(4, '0') + name), value);
        batch.put('others', Buffer.from('c' + n), value);
        batch.delete('others', Buffer.from('d'));
        return Buffer.from(String(n));
      });
    let failure = null;
    for (let n = 0; n < 40 && failure === null; n++) failure = await write(n).then(() => null, (error) => error);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await engine.close();
    process.stdout.write(failure.message + ', closed');
    process.exit();`;
    const args = ['--import', 'tsx', '--input-type=module', '--eval', program];
    // No file above 1 MB: what cannot be tried here is a disk that is full.
    const limited = ['-c', 'ulimit -f 2048\nexec "$0" "$@"', process.execPath, ...args];
    const child = spawn('sh', limited, { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      expect(await text(child.stdout)).toMatch(
        /^the store in .* cannot be written: (?:File too large|Input\/output error, as where the disk is full), closed$/,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

/** What a process of its own is told that opens a store. @param limit what a shell does before */
function refusal(folder: string, limit: string, as: Pick<SpawnOptions, 'uid' | 'env'> = {}): Promise<string> {
  const program = `
    import { openEngine } from ${JSON.stringify(new URL('./engine.ts', import.meta.url).href)};
    try {
      openEngine(${JSON.stringify(folder)}, [{ name: 'rows' }]);
    } catch (error) {
      process.stdout.write(error.message);
    }
    process.exit();`;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', program];
  const limited = ['-c', `${limit}\nexec "$0" "$@"`, process.execPath, ...args];
  return text(spawn('sh', limited, { ...as, stdio: ['ignore', 'pipe', 'ignore'] }).stdout);
}

it('a folder in which the system refuses files is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-engine-'));
  try {
    // Refused like this by a disk that is full, lmdb ends the process.
    expect(await refusal(folder, 'ulimit -f 1')).toBe(
      `cannot open the store in ${dirname(engineFile(folder))}: EFBIG: file too large, write`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('a file that may not be written is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-engine-'));
  const lock = join(dirname(engineFile(folder)), 'lock.mdb');
  try {
    await openEngine(folder, [{ name: 'rows' }]).close();
    chmodSync(folder, 0o777);
    chmodSync(engineFile(folder), 0o666);
    chmodSync(lock, 0o444);
    const other = process.getuid?.() === 0 ? { uid: 65_534 } : {};
    // Refused the lock, lmdb ends the process.
    expect(await refusal(folder, '', { ...other, env: { ...process.env, TMPDIR: folder } })).toBe(
      `cannot open the store in ${dirname(lock)}: EACCES: permission denied, access '${lock}'`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('files that are damaged are begun anew', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-engine-'));
  const open = () => openEngine(folder, [{ name: 'rows' }]);
  const written = async () => {
    const engine = open();
    expect(engine.note()).toBeNull();
    expect(await engine.commit(null, () => Buffer.from('note'))).toBe(true);
    await engine.close();
  };
  try {
    await written();
    truncateSync(engineFile(folder), 3 * 4096);
    await written();
    writeFileSync(engineFile(folder), Buffer.alloc(100_000));
    await written();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
