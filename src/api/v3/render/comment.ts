/** Plain text comments: a body of 32 zero bits and text in snake form. */
import { openBoc } from '../../../chain/boc.ts';
import { Cursor } from '../../../chain/cursor.ts';
import { DecodeError } from '../../../chain/errors.ts';

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The text of a comment body, or null when the bytes are not whole or not UTF-8. The text goes on in the first
 * reference of each cell. `body` is a serialised bag with one root.
 */
export function commentOf(body: Buffer): string | null {
  try {
    const boc = openBoc(body);
    let cursor = new Cursor(boc, boc.roots[0]);
    if (cursor.bitsLeft < 32 || cursor.u(32) !== 0) return null;
    const parts: Buffer[] = [];
    for (;;) {
      if (cursor.bitsLeft % 8 !== 0 || cursor.refsLeft > 1) return null;
      parts.push(cursor.bytes(cursor.bitsLeft / 8));
      if (cursor.refsLeft === 0) return UTF8.decode(Buffer.concat(parts));
      cursor = cursor.open();
    }
  } catch (error) {
    // A TypeError is how TextDecoder says that bytes are not UTF-8.
    if (error instanceof DecodeError || error instanceof TypeError) return null;
    throw error;
  }
}
