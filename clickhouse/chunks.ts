import { RowWriter } from './rowbinary.ts';

const CHUNK_BYTES = 128 * 1024;
/** Those that are free at the same time: what two batches take. */
const MAX_FREE = 256;

export type Chunks = ReturnType<typeof createChunks>;

/**
 * Memory that rows are written to, used again once they are inserted. Memory outside the engine's heap makes it collect
 * garbage after each 64 MB, however little there is to collect, and that of written rows was a third of it.
 */
export function createChunks() {
  const free: Buffer[] = [];
  return {
    /** A writer whose rows are taken once. */
    writer: () => new RowWriter(CHUNK_BYTES, (bytes) => free.pop() ?? Buffer.allocUnsafeSlow(bytes)),
    /** What was taken of such writers, and nobody reads any more. */
    release(taken: readonly Buffer[]): void {
      for (const { buffer, byteOffset } of taken) {
        if (byteOffset === 0 && buffer.byteLength === CHUNK_BYTES && free.length < MAX_FREE)
          free.push(Buffer.from(buffer));
      }
    },
  };
}
