import { isUtf8 } from 'node:buffer';
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import type { CellView } from '../layouts/cell-view.ts';
import { encryptedComment, textComment } from '../layouts/common.ts';
import { readSnake } from '../layouts/texts.ts';

export const TEXT_COMMENT = textComment.opcode;
export const ENCRYPTED_COMMENT = encryptedComment.opcode;

export interface Comment {
  /** Text, or base64 of the encrypted bytes; null when there is none or its cells cannot be read. */
  text: string | null;
  encrypted: boolean;
}

const NO_COMMENT: Comment = Object.freeze({ text: null, encrypted: false });

/** UTF-8 with every byte that is not part of a character written as `\xNN`, and without NUL. */
function commentText(bytes: Buffer): string {
  const text = isUtf8(bytes) ? bytes.toString('utf8') : escapedText(bytes);
  return text.includes('\0') ? text.replaceAll('\0', '') : text;
}

/** UTF-8 with U+FFFD for every byte that is not part of a character: as the text of an item's payload is printed. */
function plainText(bytes: Buffer): string {
  return isUtf8(bytes) ? bytes.toString('utf8') : escapedText(bytes, () => '\ufffd');
}

const hexEscape = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`;

function escapedText(bytes: Buffer, shown = hexEscape): string {
  let text = '';
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const size = characterSize(bytes, at);
    if (size > 0) {
      at += size;
      continue;
    }
    text += bytes.toString('utf8', from, at) + shown(bytes[at]);
    from = ++at;
  }
  return text + bytes.toString('utf8', from);
}

/** Bytes of the character that begins here, 0 when none does. */
function characterSize(bytes: Buffer, at: number): number {
  const first = bytes[at];
  const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return at + size <= bytes.length && isUtf8(bytes.subarray(at, at + size)) ? size : 0;
}

/**
 * Comment of a plain transfer (a body with opcode 0 or the encrypted one's). It needs at least one byte, all bytes
 * whole, and one reference at most.
 */
export function bodyComment(opcode: number | null, body: () => CellView): Comment {
  if (opcode !== TEXT_COMMENT && opcode !== ENCRYPTED_COMMENT) return NO_COMMENT;
  const encrypted = opcode === ENCRYPTED_COMMENT;
  try {
    const cursor = body().cursor();
    cursor.skip(32);
    if (cursor.bitsLeft < 8 || cursor.refsLeft > 1) return { text: null, encrypted };
    const bytes = wholeBytes(cursor);
    return { text: encrypted ? bytes.toString('base64') : commentText(bytes), encrypted };
  } catch (error) {
    if (error instanceof DecodeError) return { text: null, encrypted };
    throw error;
  }
}

/**
 * Comment of a token transfer's forward payload: there a text without a byte is a comment, too, and what cannot be read
 * is none, not even an encrypted one.
 */
export function payloadComment(payload: CellView | null): Comment {
  return forwardedComment(payload, wholeBytes, commentText);
}

/** The same of an item's transfer, whose text is told as it is, NUL included, and to its last bit. */
export function itemComment(payload: CellView): Comment {
  return forwardedComment(payload, readSnake, plainText);
}

const wholeBytes = (cursor: Cursor): Buffer => readSnake(cursor, true);

function forwardedComment(
  payload: CellView | null,
  bytesAt: (cursor: Cursor) => Buffer,
  textOf: (bytes: Buffer) => string,
): Comment {
  const opcode = payload === null ? null : payload.opcode;
  if (payload === null || (opcode !== TEXT_COMMENT && opcode !== ENCRYPTED_COMMENT)) return NO_COMMENT;
  const encrypted = opcode === ENCRYPTED_COMMENT;
  try {
    const cursor = payload.cursor();
    cursor.skip(32);
    const bytes = bytesAt(cursor);
    return { text: encrypted ? bytes.toString('base64') : textOf(bytes), encrypted };
  } catch (error) {
    if (error instanceof DecodeError) return NO_COMMENT;
    throw error;
  }
}
