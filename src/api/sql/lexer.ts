/**
 * The first look at a statement, before any parser sees it: the outer form of a single query, in characters and words
 * about which our reading and the server's cannot differ. Comments do not reach the server.
 */
import type { Parameter } from '../../../clickhouse/reader.ts';
import { SqlRefusal } from './refusal.ts';

/** Words that change settings, the output, or apply functions that are not called by name. */
const REFUSED_WORDS = new Set(['SETTINGS', 'FORMAT', 'INTO', 'OUTFILE', 'APPLY', 'RECURSIVE']);
/** Words that may say how many rows a query gives, unless they are names. */
const LIMITING_WORDS = new Set(['LIMIT', 'OFFSET', 'FETCH', 'TOP']);
/** Depth of parentheses and brackets; the parser goes back and forth in deep ones. */
const MAX_DEPTH = 60;

/** One token from a place on, or a space; what fits none of these is refused. */
const TOKEN = new RegExp(
  [
    String.raw`(?<space>[ \t\r\n]+|--[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)`,
    String.raw`(?<string>'(?:[^'\\]|\\[^]|'')*')`,
    String.raw`(?<quoted>"\w+"|${'`'}\w+${'`'})`,
    String.raw`(?<parameter>\{[A-Za-z]\w*: ?[A-Za-z0-9(), ]+\})`,
    String.raw`(?<word>[A-Za-z_]\w*)`,
    String.raw`(?<number>\d\w*(?:\.\d\w*)?|\.\d+)`,
    String.raw`(?<open>[(\[])`,
    String.raw`(?<close>[)\]])`,
    String.raw`(?<sign>/(?!\*)|[-+*%=<>!,.:|&^~?])`,
  ].join('|'),
  'y',
);

/** A value of a parameter is written as a literal of one of these types: none of them names a table or a column. */
const PARAMETER_TYPE =
  /^(?:Array\()?(?:Nullable\()?(?:U?Int(?:8|16|32|64|128|256)|Float(?:32|64)|Bool|String|Date|Date32|DateTime|Decimal\(\d{1,2}, ?\d{1,2}\))\)*$/;

export interface Statement {
  /** Without comments and the semicolon at its end. */
  sql: string;
  /** Its parameters with their types; one that stands there more than once may have several. */
  parameters: readonly (readonly [name: string, type: string])[];
  /** Whether it may say itself how many rows it gives. */
  isLimited: boolean;
}

/** Whether a whole number passes the range of a type: the server would take what is left over of it. */
export function isBeyond(type: string, value: Parameter): boolean {
  const [, unsigned, bits] = /^(?:Array\()?(?:Nullable\()?(U?)Int(\d+)\)*$/.exec(type) ?? [];
  if (bits === undefined) return false;
  const within = unsigned === '' ? BigInt.asIntN : BigInt.asUintN;
  const texts = (Array.isArray(value) ? value : [value]).map(String);
  return texts.some((text) => /^-?\d{1,100}$/.test(text) && within(Number(bits), BigInt(text)) !== BigInt(text));
}

/**
 * @param text as it was sent
 * @throws {SqlRefusal} naming the word or character that is refused
 */
export function readStatement(text: string): Statement {
  const source = withoutSemicolon(text);
  const parameters: [name: string, type: string][] = [];
  let sql = '';
  let depth = 0;
  let isLimited = false;
  let first: string | null = null;
  let before = '';
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const at = TOKEN.lastIndex;
    const groups = TOKEN.exec(source)?.groups;
    if (groups === undefined) throw refusedAt(source, at);
    const { space, word, parameter, open, close } = groups;
    if (open !== undefined && ++depth > MAX_DEPTH) {
      throw new SqlRefusal(400, `parentheses are nested deeper than ${MAX_DEPTH}`);
    }
    if (close !== undefined) depth--;
    if (word !== undefined && REFUSED_WORDS.has(word.toUpperCase())) {
      throw new SqlRefusal(403, `${word} is not allowed here`);
    }
    if (word !== undefined && depth === 0 && LIMITING_WORDS.has(word.toUpperCase())) isLimited = true;
    if (isTotals(before, word) && !NAMES_A_PART.test(source.slice(TOKEN.lastIndex))) {
      throw new SqlRefusal(403, 'WITH TOTALS is not allowed here: WITH ROLLUP has them among the rows');
    }
    if (parameter !== undefined) parameters.push(readParameter(parameter));
    if (space === undefined) {
      before = source.slice(at, TOKEN.lastIndex);
      first ??= before;
    }
    sql += space === undefined ? source.slice(at, TOKEN.lastIndex) : spaceOf(space);
  }
  if (first === null) throw new SqlRefusal(400, 'the statement is empty');
  if (!/^(SELECT|WITH)$/i.test(first))
    throw new SqlRefusal(403, `only SELECT and WITH are allowed, not ${shown(first)}`);
  return { sql, parameters, isLimited };
}

/** One at the end: a regular expression would look from every space on, for seconds in a long run of them. */
function withoutSemicolon(text: string): string {
  const trimmed = text.trimEnd();
  return trimmed.endsWith(';') ? trimmed.slice(0, -1).trimEnd() : text;
}

/** They come behind the rows, in a form of their own in each format, and are no row that `limit` counts. */
const isTotals = (before: string, word: string | undefined): boolean =>
  word?.toUpperCase() === 'TOTALS' && before.toUpperCase() === 'WITH';
/** `WITH totals AS (…)`. */
const NAMES_A_PART = /^\s*AS\b/i;

/** A comment separates words, too; lines stay where they were, for the errors of the parser. */
function spaceOf(space: string): string {
  return space.startsWith('--')
    ? ' '
    : space.startsWith('/*')
      ? ` ${'\n'.repeat(space.split('\n').length - 1)}`
      : space;
}

function readParameter(parameter: string): [name: string, type: string] {
  const [name, type] = parameter.slice(1, -1).split(/: ?/, 2);
  if (!PARAMETER_TYPE.test(type)) throw new SqlRefusal(403, `a parameter of type ${shown(type)} is not allowed`);
  return [name, type];
}

function refusedAt(source: string, at: number): SqlRefusal {
  const rest = source.slice(at);
  const line = source.slice(0, at).split('\n').length;
  if (/^['"`]/.test(rest)) {
    const what =
      rest[0] === "'" ? 'the string is not closed' : 'a quoted name has letters, digits and _ alone, and is closed';
    return new SqlRefusal(400, `line ${line}: ${what}`);
  }
  if (rest.startsWith('/*')) return new SqlRefusal(400, `line ${line}: the comment is not closed`);
  if (rest[0] === ';') return new SqlRefusal(403, `line ${line}: one statement at a time`);
  const [character] = rest;
  return new SqlRefusal(403, `line ${line}: the character ${JSON.stringify(character)} is not allowed outside strings`);
}

const MAX_SHOWN = 60;
const shown = (text: string): string => JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
