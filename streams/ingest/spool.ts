import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Where a block lies in the spool. */
export interface Spot {
  position: number;
  length: number;
}

/** Bytes put aside between the two passes of an import: the first ones in memory, the rest in a file. */
export interface Spool {
  add(bytes: Buffer): Promise<Spot>;
  read(spot: Spot): Promise<Buffer>;
  close(): Promise<void>;
}

export interface SpoolOptions {
  /** Made when it is not there. Takes as many bytes as the blocks have beyond `memoryBytes`. */
  folder: string;
  memoryBytes: number;
}

/** The file has no name from the moment it is open: it goes with the process, however that ends. */
export function createSpool({ folder, memoryBytes }: SpoolOptions): Spool {
  const held = new Map<number, Buffer>();
  let end = 0;
  let file: FileHandle | null = null;
  let fileStart = 0;

  const openFile = async (): Promise<FileHandle> => {
    await mkdir(folder, { recursive: true });
    const path = join(folder, `import-${process.pid}.spool`);
    const handle = await open(path, 'w+');
    await unlink(path);
    return handle;
  };

  return {
    async add(bytes) {
      const spot = { position: end, length: bytes.length };
      if (file === null && end + bytes.length <= memoryBytes) {
        held.set(spot.position, bytes);
      } else {
        if (file === null) {
          file = await openFile();
          fileStart = end;
        }
        await writeAll(file, bytes, end - fileStart);
      }
      end += bytes.length;
      return spot;
    },
    async read({ position, length }) {
      const bytes = held.get(position);
      if (bytes !== undefined) return bytes;
      if (file === null) throw new RangeError(`nothing in the spool at ${position}`);
      return readAll(file, position - fileStart, length);
    },
    async close() {
      held.clear();
      await file?.close();
      file = null;
    },
  };
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

async function readAll(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length; ) {
    const { bytesRead } = await file.read(bytes, done, length - done, position + done);
    if (bytesRead === 0) throw new RangeError(`the spool ends before ${position + length}`);
    done += bytesRead;
  }
  return bytes;
}
