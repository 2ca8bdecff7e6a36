/**
 * What the server's own parser makes of a statement (`EXPLAIN AST`), held to what queries may consist of. The tree says
 * what will be run: names are those that the server will look up, whatever the text looked like.
 */
import { isAllowed } from './functions.ts';
import { SqlRefusal } from './refusal.ts';

/** Nodes that a query may have; settings, transformers of columns and other statements are none of them. */
const NODES: ReadonlySet<string> = new Set([
  'ArrayJoin',
  'Asterisk',
  'ColumnsExceptTransformer',
  'ColumnsTransformerList',
  'ExpressionList',
  'Function',
  'Identifier',
  'InterpolateElement',
  'Literal',
  'OrderByElement',
  'QualifiedAsterisk',
  'SampleRatio',
  'SelectIntersectExceptQuery',
  'SelectQuery',
  'SelectWithUnionQuery',
  'Subquery',
  'TableExpression',
  'TableIdentifier',
  'TableJoin',
  'TablesInSelectQuery',
  'TablesInSelectQueryElement',
  'WindowDefinition',
  'WindowListElement',
  'WithElement',
]);

/** How a node is called where a refusal names it. */
const WORDS: Readonly<Record<string, string>> = {
  Set: 'SETTINGS',
  ColumnsApplyTransformer: 'APPLY',
  ColumnsReplaceTransformer: 'REPLACE',
  ColumnsRegexpMatcher: 'COLUMNS',
  ColumnsListMatcher: 'COLUMNS',
};

const NAME = /^[A-Za-z_]\w*$/;

/** A node of the tree. */
interface Node {
  kind: string;
  /** What is printed behind its kind, a name first. */
  text: string;
  children: Node[];
}

const LINE = /^( *)([\w:]+)(?: (.*))?$/s;

export interface Vocabulary {
  /** Database of the views. */
  database: string;
  /** Names of the views. */
  views: ReadonlySet<string>;
  /** Names of their columns, which may be those of functions. */
  columns: ReadonlySet<string>;
  /** Whether the server has a function of that name, in lower case. */
  isFunction(name: string): boolean;
}

/** What a statement consists of. */
export interface Form {
  /** Whether it has several parts: UNION, INTERSECT or EXCEPT. */
  isCombined: boolean;
}

/**
 * @param lines of `EXPLAIN AST`
 * @throws {SqlRefusal} 403 naming what is refused
 */
export function judge(lines: readonly string[], vocabulary: Vocabulary): Form {
  const root = readTree(lines);
  judgeNode(root, null, vocabulary);
  const parts = root.children[0]?.children ?? [];
  return { isCombined: parts.length !== 1 || parts[0].kind !== 'SelectQuery' };
}

/** Each line is a node, one space deeper than the one it belongs to. */
function readTree(lines: readonly string[]): Node {
  const root: Node = { kind: '', text: '', children: [] };
  const above: Node[] = [root];
  for (const line of lines) {
    const [, indent, kind, text = ''] = LINE.exec(line) ?? [];
    const parent = indent === undefined ? undefined : above[indent.length];
    if (kind === undefined || !parent) throw new Error(`the server prints a syntax tree in another form: ${line}`);
    const node = { kind, text, children: [] };
    parent.children.push(node);
    above.length = indent.length + 1;
    above.push(node);
  }
  if (root.children.length !== 1) throw new Error('the server prints no syntax tree');
  return root.children[0];
}

function judgeNode(node: Node, parent: Node | null, vocabulary: Vocabulary): void {
  const { kind, text, children } = node;
  if (!NODES.has(kind)) throw refused(WORDS[kind] ?? kind);
  const [name] = text.split(' ', 1);
  if (kind === 'Function') judgeFunction(name, node, parent);
  else if (kind === 'TableIdentifier') judgeTable(name, vocabulary);
  else if (kind === 'Identifier') judgeName(name, vocabulary);
  // The lexer has bounded the depth.
  for (const child of children) judgeNode(child, node, vocabulary);
}

/** Functions that are told a type: the server would read states of aggregate functions from bytes, too. */
const TYPED = new Set([
  'cast',
  '_cast',
  'accuratecast',
  'accuratecastornull',
  'jsonextract',
  'jsonextractkeysandvalues',
]);
const TYPES = new Set(
  `nullable array tuple map lowcardinality string fixedstring text varchar char bool boolean date date32 datetime
  datetime32 datetime64 timestamp uint8 uint16 uint32 uint64 uint128 uint256 int8 int16 int32 int64 int128 int256
  tinyint smallint int integer bigint float float32 float64 real double decimal decimal32 decimal64 decimal128
  decimal256 numeric`.split(/\s+/),
);

function judgeFunction(name: string, { children }: Node, parent: Node | null): void {
  if (parent?.kind === 'TableExpression') throw refused(`the table function ${name}`);
  if (!isAllowed(name)) throw refused(`the function ${name}`);
  if (!TYPED.has(name.toLowerCase())) return;
  const type = children[0]?.children.at(-1);
  if (type?.kind !== 'Literal' || !isPlainType(type.text)) throw refused(`the type given to ${name}`);
}

const LONGEST_TYPE = 1_000;

/** Of a literal as it is printed; time zones are quoted in it. */
function isPlainType(literal: string): boolean {
  if (literal.length > LONGEST_TYPE) return false;
  const words = literal.replace(/\\+'[\w/+-]*\\+'/g, '').match(/[A-Za-z]\w*/g) ?? [];
  return literal.startsWith("'") && words.length > 0 && words.every((word) => TYPES.has(word.toLowerCase()));
}

/** A name without a database may be that of a part of WITH; the server looks it up nowhere else. */
function judgeTable(name: string, { database, views }: Vocabulary): void {
  const parts = name.split('.');
  const table = parts.pop() ?? '';
  if (parts.length === 0 && NAME.test(table)) return;
  if (parts.length === 1 && parts[0] === database && views.has(table)) return;
  throw refused(`the table ${name}`);
}

const SERVER_DATABASES = new Set(['system', 'information_schema']);

/** Where a function is expected, a bare name is one. Where a set is expected, it is a table. */
function judgeName(name: string, { columns, isFunction }: Vocabulary): void {
  const parts = name.split('.');
  if (!parts.every((part) => /^\w+$/.test(part))) throw refused(`the name ${name}`);
  if (parts.length > 1 && SERVER_DATABASES.has(parts[0].toLowerCase())) throw refused(`the name ${name}`);
  if (parts.length > 1 || columns.has(name) || isAllowed(name)) return;
  if (isFunction(name.toLowerCase())) throw refused(`the function ${name}`);
}

function refused(what: string): SqlRefusal {
  return new SqlRefusal(403, `${what.slice(0, 100)} is not allowed`);
}
