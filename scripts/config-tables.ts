/** `npm run docs:config`: writes the tables of settings into docs/settings.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { settingsTable } from '../src/config.ts';

const BEGIN = '<!-- settings: written by npm run docs:config -->';
const END = '<!-- end of settings -->';

export const settingsPath: string = fileURLToPath(new URL('../docs/settings.md', import.meta.url));

/**
 * The document with the tables of the present settings between its two marks.
 * @throws Error when the marks are not there, once each and in order
 */
export function withSettings(document: string): string {
  const [before, ...rest] = document.split(BEGIN);
  const [, after, ...more] = rest.join(BEGIN).split(END);
  if (rest.length !== 1 || after === undefined || more.length > 0) {
    throw new Error(`the document must hold "${BEGIN}" and after it "${END}", once each`);
  }
  return `${before}${BEGIN}\n\n${settingsTable()}\n\n${END}${after}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const present = readFileSync(settingsPath, 'utf8');
  const wanted = withSettings(present);
  if (wanted !== present) writeFileSync(settingsPath, wanted);
  process.stdout.write(
    wanted === present ? 'docs/settings.md is up to date\n' : 'docs/settings.md was brought up to date\n',
  );
}
