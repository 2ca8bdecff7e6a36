/** Where an event stands in the stream: one total order for all who listen, the same after every restart and rebuild. */

/** Compared in the order of the fields. */
export interface Place {
  /** Masterchain step. */
  mcSeqno: number;
  /** Of the transaction among those of its step, by lt and account; {@link BLOCKS} behind all of them. */
  index: number;
  /** Among the events of one transaction. */
  rank: number;
}

/** Index of a step's blocks: they are told when all their transactions have been. */
export const BLOCKS = 0xffff_fffe;
/** Behind everything of a step. */
const END = 0xffff_ffff;

const VERSION = 1;
/** In cursors that are given while there is no step yet. */
export const NO_NETWORK = 0;
const CURSOR_BYTES = 15;

/** A cursor that cannot be gone on from. The text says why, and what to do. */
export class CursorError extends Error {
  override name = 'CursorError';
  /** The oldest cursor that can be used, where the one given is older. */
  readonly oldest: string | null;

  constructor(message: string, oldest: string | null = null) {
    super(message);
    this.oldest = oldest;
  }
}

/** Behind the last event of a step; of step 0 for the beginning. */
export function endOf(mcSeqno: number): Place {
  return { mcSeqno, index: END, rank: 0 };
}

/** Below 0 when `a` comes first. */
export function comparePlaces(a: Place, b: Place): number {
  return a.mcSeqno - b.mcSeqno || a.index - b.index || a.rank - b.rank;
}

/** Opaque text of a place in the chain of a network. */
export function encodeCursor(globalId: number, { mcSeqno, index, rank }: Place): string {
  const bytes = Buffer.allocUnsafe(CURSOR_BYTES);
  bytes[0] = VERSION;
  bytes.writeInt32BE(globalId, 1);
  bytes.writeUInt32BE(mcSeqno, 5);
  bytes.writeUInt32BE(index, 9);
  bytes.writeUInt16BE(rank, 13);
  return bytes.toString('base64url');
}

/** The cursor that is given while there is no step, so that no network is known: before the first one, of whichever. */
export const beginning = (): string => encodeCursor(NO_NETWORK, endOf(0));

/** @throws {CursorError} for text that is no cursor, or one of another network */
export function decodeCursor(text: string, globalId: number): Place {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== CURSOR_BYTES || bytes.toString('base64url') !== text) {
    throw new CursorError('cursor is not one of this service: give it as it came');
  }
  if (bytes[0] !== VERSION) throw new CursorError('cursor is of another version of this service: begin anew');
  if (bytes.readInt32BE(1) !== globalId && text !== beginning()) throw new CursorError('cursor is of another network');
  return { mcSeqno: bytes.readUInt32BE(5), index: bytes.readUInt32BE(9), rank: bytes.readUInt16BE(13) };
}

/** Whether a cursor stands behind another one of the same network: their bytes compare as the places do. */
export function isFurther(cursor: string, than: string): boolean {
  return Buffer.from(cursor, 'base64url').compare(Buffer.from(than, 'base64url')) > 0;
}
