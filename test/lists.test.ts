/** What stands in a file of its own is in the list of all: left out of it, it would compile and be nothing. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { settings } from '../src/config.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const OF_TESTS = /(\.(test|bench)\.ts$)|((^|\/)test-[^/]*$)/;

interface Listed {
  folder: string;
  /** What has to be imported by a list; without a group the whole file. */
  declares: RegExp;
  lists: readonly string[];
}

const LISTED: readonly Listed[] = [
  {
    folder: 'src/chain/actions',
    declares: /^export const kinds\b/gm,
    lists: ['src/chain/actions/families.ts', 'src/chain/actions/dex/exchanges.ts'],
  },
  {
    folder: 'src/chain/layouts',
    declares: /^export const (\w+Bodies) = /gm,
    lists: ['src/chain/layouts/registry.ts'],
  },
  { folder: 'src/api/v3', declares: /^export function (\w+Routes?)\(/gm, lists: ['src/api/v3/routes.ts'] },
  { folder: 'src/api/v2', declares: /^export function (\w+Routes?)\(/gm, lists: ['src/api/v2/routes.ts'] },
  { folder: 'clickhouse/tables', declares: /^export const (\w+) = table\(/gm, lists: ['clickhouse/tables/all.ts'] },
  {
    folder: 'clickhouse/views',
    declares: /^export const (\w+): (?:readonly )?View\b/gm,
    lists: ['clickhouse/views/all.ts'],
  },
  {
    folder: 'streams/project',
    declares: /^export const (\w+): Projection = /gm,
    lists: ['streams/project/projections.ts'],
  },
];

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

const filesOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !OF_TESTS.test(name))
    .map((name) => `${folder}/${name}`);

/** What a file imports of ours: `file name`, or the file alone where it is imported whole. */
function importsOf(file: string): string[] {
  const found = textOf(file).matchAll(/^import (?:type )?(\* as \w+|\{[^}]*\}) from '(\.[^']+)';/gm);
  return [...found].flatMap(([, what, from]) => {
    const path = join(dirname(file), from);
    return what.startsWith('*') ? [path] : (what.match(/\w+/g) ?? []).map((name) => `${path} ${name}`);
  });
}

it.each(LISTED)('$folder', ({ folder, declares, lists }) => {
  const imported = new Set(lists.flatMap(importsOf));
  const declared = filesOf(folder)
    .filter((file) => !lists.includes(file))
    .flatMap((file) => [...textOf(file).matchAll(declares)].map(([, name]) => (name ? `${file} ${name}` : file)));
  expect(declared.length).toBeGreaterThan(2);
  // What a list imports and does not use is refused by the compiler.
  expect(declared.filter((one) => !imported.has(one))).toEqual([]);
});

it('kinds of actions are in the list of their file', () => {
  const left = filesOf('src/chain/actions').flatMap((file) => {
    const text = textOf(file);
    const listed = /^export const kinds\b[^=]*= ([\s\S]*?);$/m.exec(text)?.[1] ?? '';
    const names = [...text.matchAll(/^(?:export )?const (\w+)[^=\n]* = declare[<(]/gm)].map(([, name]) => name);
    return names.filter((name) => !new RegExp(`\\b${name}\\b`).test(listed)).map((name) => `${file} ${name}`);
  });
  expect(left).toEqual([]);
});

it('every setting is read by someone', () => {
  const product = ['src', 'streams', 'clickhouse'].flatMap(filesOf).filter((file) => file !== 'src/config.ts');
  const words = new Set(product.flatMap((file) => textOf(file).match(/\w+/g) ?? []));
  expect(Object.keys(settings).filter((name) => !words.has(name))).toEqual([]);
});
