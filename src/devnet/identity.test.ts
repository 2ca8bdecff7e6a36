import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claimIdentity, IdentityError } from './identity.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'identity-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const first = { seed: 'a', startUtime: 1_700_000_000, traders: 20 };

test('a folder keeps the zero state of its first start', () => {
  const chain = join(folder, 'devnet');
  expect(claimIdentity(chain, first)).toEqual(first);
  expect(claimIdentity(chain, { seed: 'a', startUtime: 1_800_000_000, traders: 300 })).toEqual(first);
});

test('another seed is refused by name', () => {
  claimIdentity(folder, first);
  const other = () => claimIdentity(folder, { ...first, seed: 'b' });
  expect(other).toThrow(IdentityError);
  expect(other).toThrow(/"a".*"b"/);
});

test('a devnet of an earlier version is refused with what to do', () => {
  writeFileSync(join(folder, 'devnet.json'), JSON.stringify(first));
  expect(() => claimIdentity(folder, first)).toThrow(/an earlier version made.*remove the data folder/);
  writeFileSync(join(folder, 'devnet.json'), JSON.stringify({ format: 8, ...first }));
  expect(() => claimIdentity(folder, first)).toThrow(/a later version made/);
});

test.each(['', '{', '{"seed":1}', '[]'])('a file that says %j is refused', (text) => {
  writeFileSync(join(folder, 'devnet.json'), text);
  expect(() => claimIdentity(folder, first)).toThrow(IdentityError);
});

test('without a folder nothing is kept', () => {
  expect(claimIdentity(null, first)).toBe(first);
});
