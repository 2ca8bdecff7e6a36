import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A client written by others in another language, ready to be run with arguments of its own. */
export interface ForeignProgram {
  command: string;
  args: readonly string[];
}

/** Foreign clients are optional: their packages are fetched in CI or when asked for, else used if they are there. */
const mayFetch = Boolean(process.env.CI) || Boolean(process.env.TONSTREAM_FOREIGN);

const FETCH_MS = 180_000;

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tonstream', 'foreign');

function folder(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

async function works(command: string, args: readonly string[], options: object = {}): Promise<boolean> {
  try {
    await run(command, [...args], { timeout: FETCH_MS, ...options });
    return true;
  } catch {
    return false;
  }
}

/** The program, or null with a printed line when its language or its packages cannot be had. */
export async function tonutilsGo(): Promise<ForeignProgram | null> {
  const cwd = folder('tonutils-go');
  const env = {
    ...process.env,
    GOTOOLCHAIN: 'local',
    GOFLAGS: '-mod=readonly',
    ...(mayFetch ? {} : { GOPROXY: 'off' }),
  };
  // Named by its sources: several test files, and working copies beside each other, may want it at once.
  const hash = createHash('sha256');
  for (const name of ['go.mod', 'go.sum', 'main.go', 'tokens.go']) hash.update(readFileSync(join(cwd, name)));
  const command = join(cache, `tonutils-go-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(command)) return { command, args: [] };
  if (!(await works('go', ['mod', 'download'], { cwd, env }))) return missing('tonutils-go', 'go and its module');
  mkdirSync(cache, { recursive: true });
  const made = `${command}.${process.pid}`;
  await run('go', ['build', '-o', made, '.'], { cwd, env, timeout: FETCH_MS });
  renameSync(made, command);
  return { command, args: [] };
}

/** The same for a package of Python, in a virtual environment in the user's cache folder. */
async function python(name: string, version: string, module = name): Promise<ForeignProgram | null> {
  const venv = join(cache, `${name}-${version}`);
  const command = join(venv, 'bin', 'python');
  const args = [join(folder(name), 'check.py')];
  const ready = () => works(command, ['-c', `import ${module}`]);
  if (existsSync(command) && (await ready())) return { command, args };
  const requirements = join(folder(name), 'requirements.txt');
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements];
  const made =
    mayFetch && (await works('python3', ['-m', 'venv', venv])) && (await works(command, install)) && (await ready());
  return made ? { command, args } : missing(name, 'python3 and the package');
}

export const pytoniq = (): Promise<ForeignProgram | null> => python('pytoniq', '0.1.43');

/** With tonlib, the official client, inside. */
export const pytonlib = (): Promise<ForeignProgram | null> => python('pytonlib', '0.0.72');

export const tonutils = (): Promise<ForeignProgram | null> => python('tonutils', '2.5.1');
export const toncenter = (): Promise<ForeignProgram | null> => python('toncenter', '0.4.0');
export const pytoncenter = (): Promise<ForeignProgram | null> => python('pytoncenter', '0.0.14');
export const tonsdk = (): Promise<ForeignProgram | null> => python('tonsdk', '1.0.15');

/** With pyarrow beside it; they read files, not the devnet. */
export const duckdb = (): Promise<ForeignProgram | null> => python('duckdb', '2.0.0');

/** The older official v2 server, on tonlib: no client, but what ours is compared with. */
export async function tonHttpApi(): Promise<ForeignProgram | null> {
  const installed = await python('ton-http-api', '2.0.68', 'pyTON');
  return installed && { command: installed.command, args: ['-m', 'pyTON'] };
}

const TONWEB = 'tonweb-0.0.66';
/** SHA-512 of the package, as npm has it. */
const TONWEB_INTEGRITY = 'ntDJU1b/kgMFvOYN09FvhdnAfwnZh8W5sONkUP+P0FQkYRa/027otRxApp5gfxZ9DR+3WTnCQgrsG/EXv8RhEA==';

/** The bundle in its package alone: installed it brings seven hundred others, which a browser does not load either. */
export async function tonweb(): Promise<ForeignProgram | null> {
  const bundle = join(cache, TONWEB, 'package', 'dist', 'tonweb.js');
  const args = [join(folder('tonweb'), 'check.cjs'), bundle];
  const ready = existsSync(bundle) || (mayFetch && (await fetchTonweb()));
  return ready ? { command: process.execPath, args } : missing('tonweb', 'the package');
}

async function fetchTonweb(): Promise<boolean> {
  const into = join(cache, TONWEB);
  mkdirSync(into, { recursive: true });
  if (!(await works('npm', ['pack', TONWEB.replace(/-(?=\d)/, '@'), '--pack-destination', into]))) return false;
  const archive = join(into, `${TONWEB}.tgz`);
  const hash = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (hash !== TONWEB_INTEGRITY) throw new Error(`${TONWEB}.tgz is not what it was: ${hash}`);
  return works('tar', ['-xzf', archive, '-C', into]);
}

/** All of them, each with what makes it ready. */
export const FOREIGN: Readonly<Record<string, () => Promise<ForeignProgram | null>>> = {
  'tonutils-go': tonutilsGo,
  pytoniq,
  pytonlib,
  tonutils,
  toncenter,
  pytoncenter,
  tonsdk,
  tonweb,
  duckdb,
  'ton-http-api': tonHttpApi,
};

function missing(name: string, what: string): null {
  const how = mayFetch ? 'cannot be had here' : 'not at hand; TONSTREAM_FOREIGN=1 fetches the package';
  process.stderr.write(`left out: ${name}: ${what}: ${how}\n`);
  return null;
}

/**
 * Runs the program in a folder, where some leave files; its standard output, parsed.
 * @throws Error with what it wrote to standard error
 */
export async function askForeign({ command, args }: ForeignProgram, cwd: string, ...more: string[]): Promise<unknown> {
  const { stdout } = await run(command, [...args, ...more], { cwd, timeout: 120_000, maxBuffer: 16 << 20 });
  return JSON.parse(stdout);
}
