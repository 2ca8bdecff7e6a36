/** Data flows one way: a folder imports from those before it in the table of docs/architecture.md, and from itself. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const PRODUCT = ['src', 'streams', 'clickhouse'];
/** Tests, benchmarks, and what stands beside them for these alone. */
const OF_TESTS = /(\.(test|bench|d)\.ts$)|((^|\/)test-[^/]*$)/;
/** Of a type as well: who needs the shape knows the folder. */
const IMPORT = /\b(?:from|import|import\() ?'(\.[^']+)'/g;
/** What starts everything, and what a service is made of: in no folder, and imported by workers and commands alone. */
const WHOLE = ['src/main.ts', 'src/service.ts'];

/** Those that write rows: with the client, the row format and the declared tables. */
const isException = (from: string, to: string): boolean =>
  from.startsWith('streams/') && /^clickhouse\/(tables\/)?[^/]+$/.test(to);

const table = readFileSync(join(root, 'docs/architecture.md'), 'utf8').matchAll(/^\| `([^`]+)\/` \|/gm);
const order = [...table].map(([, folder]) => folder).filter((folder) => PRODUCT.includes(folder.split('/')[0]));

/** The folder of the table that a file is in; null for one beside `src/config.ts`. */
function folderOf(file: string): string | null {
  const around = order.filter((folder) => file.startsWith(`${folder}/`));
  if (around.length > 0) return around.reduce((a, b) => (a.length > b.length ? a : b));
  if (dirname(file) === 'src') return null;
  throw new Error(`${file} is in no folder of the table in docs/architecture.md`);
}

const files = PRODUCT.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
).filter((file) => file.endsWith('.ts') && !OF_TESTS.test(file));

const imports = new Map(
  files.map((file) => {
    const found = readFileSync(join(root, file), 'utf8').matchAll(IMPORT);
    return [file, [...found].map(([, name]) => normalize(join(dirname(file), name)))];
  }),
);

/** What a file imports of folders; one beside `src/config.ts` counts as what it imports itself. */
function reached(file: string, seen = new Set<string>()): string[] {
  return (imports.get(file) ?? []).flatMap((to) => {
    if (seen.has(to)) return [];
    seen.add(to);
    const isBeside = imports.has(to) && !WHOLE.includes(to) && folderOf(to) === null;
    return isBeside ? reached(to, seen) : to;
  });
}

const mayImport = (from: string, to: string): boolean => {
  if (!PRODUCT.includes(to.split('/')[0]) || OF_TESTS.test(to)) return false;
  const [own, other] = [folderOf(from), folderOf(to)];
  if (own === null) return true;
  if (other === null) return order.indexOf(own) >= order.indexOf('src/workers');
  return other === own || order.indexOf(other) < order.indexOf(own) || isException(from, to);
};

it('a folder of the product imports only from those before it, and nothing of tests', () => {
  expect(order.slice(0, 3)).toEqual(['src/chain', 'src/tvm', 'src/node']);
  const wrong = files.flatMap((from) =>
    reached(from).flatMap((to) => (mayImport(from, to) ? [] : [`${from} imports ${to}`])),
  );
  expect(wrong).toEqual([]);
});
