import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { settingsPath, withSettings } from '../scripts/config-tables.ts';
import { settings } from '../src/config.ts';
import { runTonstream, waitFor } from './processes.ts';

function page(name: string): string {
  return readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
}

const readme = page('README.md');
const settingsPage = readFileSync(settingsPath, 'utf8');
const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')));

const pagesIn = (folder: string): string[] =>
  readdirSync(new URL(`../${folder}`, import.meta.url))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);

/** Each part of the house. */
const designPages = pagesIn('docs/design');
/** README.md and the pages it leads to. */
const pages = ['README.md', ...pagesIn('docs'), ...designPages];

describe('docs/settings.md', () => {
  it('holds the settings as they are (npm run docs:config)', () => {
    expect(withSettings(settingsPage)).toBe(settingsPage);
    for (const { flag, env } of Object.values(settings)) expect(settingsPage).toContain(`\`--${flag}\` | \`${env}\``);
  });

  it('is refused without the marks', () => {
    expect(() => withSettings('no marks')).toThrow('must hold');
  });
});

it.each(['help', '--help', '-h', 'start --help'])('tonstream %s names every command of README.md', async (words) => {
  const run = runTonstream(...words.split(' '));
  expect(await run.ended).toBe(0);
  const named = [...readme.matchAll(/npx tonstream ([a-z]+)/g)].map(([, command]) => command);
  expect(named.length).toBeGreaterThan(0);
  for (const command of named) expect(run.output()).toContain(`tonstream ${command}`);
});

it('tonstream watch ends when nobody reads it any more', async () => {
  const block = { workchain: -1, shard: '8000000000000000', seqno: 1, gen_utime: '1700000000', tx_count: 3 };
  const told = JSON.stringify({ type: 'block', cursor: 'c', block });
  const service = createServer((_request, response) => {
    const timer = setInterval(() => response.write(`event: event\ndata: ${told}\n\n`), 20);
    response.on('close', () => clearInterval(timer));
  });
  await once(service.listen(0, '127.0.0.1'), 'listening');
  try {
    const run = runTonstream('watch', '--port', String((service.address() as AddressInfo).port));
    await waitFor('a line', run, async () => run.output().includes('block -1:8000000000000000:1'));
    run.child.stdout?.destroy();
    expect(await run.ended).toBe(0);
    expect(run.output()).not.toContain('EPIPE');
  } finally {
    service.closeAllConnections();
    service.close();
  }
});

it('tonstream verify that was stopped does not say that all is well', async () => {
  const run = runTonstream('verify', '--clickhouse-url', 'http://127.0.0.1:1', '--data-dir', tmpdir());
  await waitFor('its wait', run, async () => run.output().includes('waiting for ClickHouse'));
  run.child.kill('SIGTERM');
  expect(await run.ended).toBe(1);
  expect(run.output()).toContain('tonstream verify: stopped before it was done');
});

it.skipIf(!existsSync('/dev/full'))('tonstream fails where what it prints cannot be written', () => {
  const full = openSync('/dev/full', 'w');
  const program = fileURLToPath(new URL('../bin/tonstream.js', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [program, 'version'], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  expect(stderr.toString()).toContain('tonstream: standard output cannot be written: ENOSPC');
  expect(status).toBe(1);
});

describe.each(pages)('%s', (name) => {
  it('names only scripts that there are', () => {
    const named = [...page(name).matchAll(/npm run ([a-z][a-z0-9:-]*)/g)].map(([, script]) => script);
    for (const script of named) expect(Object.keys(scripts)).toContain(script);
  });

  it('links only to files that there are', () => {
    const links = [...page(name).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target]) => target);
    for (const link of links)
      expect(existsSync(new URL(link, new URL(`../${name}`, import.meta.url))), link).toBe(true);
  });
});

it.each(designPages)('%s names only sources that there are, by their paths', (name) => {
  const named = [...page(name).matchAll(/`([\w./-]+\.(?:ts|js|mjs))`/g)].map(([, path]) => path);
  expect(named.length).toBeGreaterThan(0);
  for (const path of named) expect(existsSync(new URL(`../${path}`, import.meta.url)), path).toBe(true);
});
