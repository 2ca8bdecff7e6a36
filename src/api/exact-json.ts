/** JSON as clients of other languages write it: their integers have 64 bits, those of JavaScript 53. */

/** From sixteen digits on two integers may be one number; none that is asked for has more than eighty. */
const LARGE = /^-?\d{16,80}$/;
const MANY_DIGITS = /\d{16}/;
const NUMBER = /-?\d[\d.eE+-]*/y;

/** Before an integer that is kept as text while the rest is read. */
const MARK = '\0integer ';
const WRITTEN_MARK = JSON.stringify(MARK).slice(0, -1);
const WRITTEN = new RegExp(`${WRITTEN_MARK.replace('\\', '\\\\')}(-?\\d+)"`, 'g');

/** As `JSON.parse`, but for integers that a number does not hold exactly: they are bigints. @throws {SyntaxError} */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!MANY_DIGITS.test(text)) return value;
  const marked = mark(text);
  return marked === null ? value : unmark(JSON.parse(marked));
}

/** JSON of what was read so, with the same integers; it is of no other use then. */
export function writeExactly(value: unknown): string {
  const all = [value];
  let holds = false;
  // Level by level as it is read: a replacer of `JSON.stringify` is called by recursion, too.
  for (const { of, name, part } of partsOf(all)) {
    if (typeof part !== 'bigint') continue;
    Reflect.set(of, name, MARK + part);
    holds = true;
  }
  const json = JSON.stringify(all[0]);
  return holds ? json.replaceAll(WRITTEN, '$1') : json;
}

/** The JSON with such integers as marked texts; null where there are none. */
function mark(json: string): string | null {
  let marked = '';
  let done = 0;
  for (let at = 0; at < json.length; ) {
    const char = json.charCodeAt(at);
    if (char === QUOTE) {
      at = endOfText(json, at);
      continue;
    }
    if (char !== MINUS && (char < ZERO || char > NINE)) {
      at++;
      continue;
    }
    NUMBER.lastIndex = at;
    const [number] = NUMBER.exec(json) ?? [''];
    if (LARGE.test(number) && !Number.isSafeInteger(Number(number))) {
      marked += `${json.slice(done, at)}${WRITTEN_MARK}${number}"`;
      done = at + number.length;
    }
    at += number.length;
  }
  return done === 0 ? null : marked + json.slice(done);
}

const [QUOTE, MINUS, BACKSLASH, ZERO, NINE] = [0x22, 0x2d, 0x5c, 0x30, 0x39];

/** The place behind a text that begins at a quote. */
function endOfText(json: string, start: number): number {
  let at = start + 1;
  while (json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** Level by level: a reviver of `JSON.parse` is called by recursion, which deep nesting ends. */
function unmark(value: unknown): unknown {
  const all = [value];
  for (const { of, name, part } of partsOf(all)) {
    const integer = integerOf(part);
    if (integer !== null) Reflect.set(of, name, integer);
  }
  return all[0];
}

/** Whatever stands in it, however deep; what is put in the place of a part is not looked into. */
function* partsOf(all: object): Iterable<{ of: object; name: string; part: unknown }> {
  const open: object[] = [all];
  for (let of = open.pop(); of !== undefined; of = open.pop()) {
    for (const [name, part] of Object.entries(of)) {
      if (typeof part === 'object' && part !== null) open.push(part);
      yield { of, name, part };
    }
  }
}

function integerOf(part: unknown): bigint | null {
  if (typeof part !== 'string' || !part.startsWith(MARK)) return null;
  const digits = part.slice(MARK.length);
  return LARGE.test(digits) ? BigInt(digits) : null;
}
