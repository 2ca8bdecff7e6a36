/**
 * SQL literals. Queries are built from these and constants only: no text from outside reaches a query in any other
 * way. Literals rather than bound parameters, because a thousand keys do not fit a URL.
 */

export class LiteralError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LiteralError';
  }
}

/** Whether a byte is written inside quotes as it is: printable ASCII but quote and backslash. All others as `\xHH`. */
const isPlain = Array.from({ length: 256 }, (_, byte) => byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c);
const DIGITS = Buffer.from('0123456789ABCDEF');
const QUOTE = 0x27;
const LONGEST_ESCAPE = 4;
let scratch = Buffer.alloc(1024);

/**
 * Raw bytes as a string literal, for String and FixedString columns. A plain constant, so the primary key is used.
 * Compared with FixedString(n) it must have exactly n bytes.
 */
export function bytes(value: Uint8Array): string {
  // In one buffer: a text that grows byte by byte is a chain of as many strings, thousands of keys a batch.
  const most = value.length * LONGEST_ESCAPE + 2;
  if (scratch.length < most) scratch = Buffer.alloc(most);
  const out = scratch;
  let at = 0;
  out[at++] = QUOTE;
  for (let i = 0; i < value.length; i++) {
    const byte = value[i];
    if (isPlain[byte]) {
      out[at++] = byte;
      continue;
    }
    out[at++] = 0x5c;
    out[at++] = 0x78;
    out[at++] = DIGITS[byte >> 4];
    out[at++] = DIGITS[byte & 15];
  }
  out[at++] = QUOTE;
  return out.toString('latin1', 0, at);
}

/** Text as a string literal. */
export function textLiteral(value: string): string {
  return bytes(Buffer.from(value, 'utf8'));
}

const U64_MAX = 2n ** 64n - 1n;

/** An unsigned decimal of up to 64 bits. */
export function u64(decimal: string): string {
  if (!/^[0-9]{1,20}$/.test(decimal) || (decimal.length > 19 && BigInt(decimal) > U64_MAX)) {
    throw new LiteralError(`not an unsigned 64-bit decimal: ${decimal.slice(0, 40)}`);
  }
  return decimal;
}

const U256_MAX = 2n ** 256n - 1n;

/** An unsigned decimal of up to 256 bits. A bare number of that size would be read as a Float64. */
export function u256(decimal: string): string {
  if (!/^[0-9]{1,78}$/.test(decimal) || BigInt(decimal) > U256_MAX) {
    throw new LiteralError(`not an unsigned 256-bit decimal: ${decimal.slice(0, 90)}`);
  }
  return `toUInt256('${decimal}')`;
}

export function i32(value: number): string {
  if ((value | 0) !== value) throw new LiteralError(`not a signed 32-bit integer: ${value}`);
  return String(value);
}

export function u32(value: number): string {
  if (value >>> 0 !== value) throw new LiteralError(`not an unsigned 32-bit integer: ${value}`);
  return String(value);
}

/** `(a, b, c)` of finished literals, for `IN` and for tuples. Empty lists have no SQL form: answer without asking. */
export function list(literals: readonly string[]): string {
  if (literals.length === 0) throw new LiteralError('an empty list');
  return `(${literals.join(', ')})`;
}

/** From so many keys on they are told as one text. */
const MANY_KEYS = 32;

/**
 * What stands behind `IN`: raw bytes, all of one length, for a column FixedString. Of many keys the bytes follow one
 * another in one literal, which the server cuts: reading a literal for each took it most of the time of a statement, 8 ms
 * for a thousand addresses and not 3.5. The primary key is used all the same.
 */
export function keySet(keys: readonly Uint8Array[]): string {
  if (keys.length < MANY_KEYS) return list(keys.map(bytes));
  const [{ length }] = keys;
  if (keys.some((key) => key.length !== length)) throw new LiteralError('keys of several lengths');
  const all = Buffer.concat(keys).toString('base64');
  const places = `arrayJoin(range(0, ${keys.length * length}, ${length}))`;
  return `(SELECT toFixedString(substring(base64Decode('${all}'), ${places} + 1, ${length}), ${length}))`;
}

/** A table, column or database name in backquotes. */
export function identifier(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name)) throw new LiteralError(`not an identifier: ${name.slice(0, 40)}`);
  return `\`${name}\``;
}
