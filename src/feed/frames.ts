/**
 * Text frames of a WebSocket server (RFC 6455, 5.2), many in one write: a frame by itself costs more in the writing than
 * in the making.
 */
import type { Pieces } from './notification.ts';

export interface Frames {
  add(text: Pieces): void;
  /** Writes what was added since. */
  flush(): void;
  /** Bytes that were added and not written. */
  readonly waiting: number;
}

const SLAB_BYTES = 128 * 1024;
/** FIN and the opcode of text; of a server nothing is masked. */
const TEXT = 0x81;
const [TWO_BYTES, EIGHT_BYTES] = [126, 127];
const LONGEST_HEADER = 10;

/** Slabs that nobody fills: one is enough as long as whoever fills one does so without a pause. */
const free: Buffer[] = [];
const MOST_FREE = 4;

export function createFrames(write: (bytes: Buffer) => void): Frames {
  let slab: Buffer | null = null;
  let at = 0;

  function flush(): void {
    if (slab === null) return;
    // In memory of its own size: it may wait for a long time.
    write(Buffer.from(slab.subarray(0, at)));
    if (slab.length === SLAB_BYTES && free.length < MOST_FREE) free.push(slab);
    slab = null;
    at = 0;
  }

  return {
    flush,
    get waiting() {
      return at;
    },
    add(text) {
      let size = 0;
      for (const piece of text) size += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;
      if (at + LONGEST_HEADER + size > SLAB_BYTES) flush();
      slab ??= roomFor(LONGEST_HEADER + size);
      at = writeHeader(slab, at, size);
      for (const piece of text) at += typeof piece === 'string' ? slab.write(piece, at) : piece.copy(slab, at);
    },
  };
}

function roomFor(bytes: number): Buffer {
  return bytes > SLAB_BYTES ? Buffer.allocUnsafeSlow(bytes) : (free.pop() ?? Buffer.allocUnsafeSlow(SLAB_BYTES));
}

/** Gives the place behind it. */
function writeHeader(slab: Buffer, start: number, size: number): number {
  let at = start;
  slab[at++] = TEXT;
  if (size < TWO_BYTES) {
    slab[at++] = size;
    return at;
  }
  if (size <= 0xffff) {
    slab[at++] = TWO_BYTES;
    return slab.writeUInt16BE(size, at);
  }
  slab[at++] = EIGHT_BYTES;
  return slab.writeBigUInt64BE(BigInt(size), at);
}
