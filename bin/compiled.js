/**
 * TypeScript, compiled. The sources are bundled by esbuild when they are run for the first time, into a folder named by
 * what they are: a build is never stale, and after the first one every process, worker and thread begins at once (a
 * loader that compiles module by module costs each of them 1.5 s of CPU time). The service has its packages in the
 * bundle, for finding and loading their files one by one costs each 0.4 s.
 */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BUILDS = join(ROOT, '.build');
/** Those there are: an installation has no tests. */
const FOLDERS = ['src', 'streams', 'clickhouse', 'test'];
/** Besides the sources, what a build depends on: how it is made, and by which version of the compiler. */
const MAKING = [fileURLToPath(import.meta.url), join(ROOT, 'package.json')];
/** What npm has installed: in this folder, or, where this is a package itself, in the one around it. */
const INSTALLED = [join(ROOT, 'node_modules'), join(ROOT, '..')].map((folder) => join(folder, '.package-lock.json'));
/** Packages of the service that stay in node_modules: with binaries or files of their own, or seldom loaded. */
const APART = ['@ton/sandbox', 'chdb', 'ffi-rs', 'kafkajs', 'lmdb', 'pino'];
/** Packages that are CommonJS call `require` for modules of Node; an ES module has none. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`;
const LEFT_OUT = /\.(?:test|bench)\.ts$/;
/** The command line, and what runs in workers and threads: one build, called `service`. Others are built alone. */
const OF_SERVICE = /^src\/main\.ts$|\/worker\.ts$/;
/** States of the sources whose builds stay; a service that runs may still load parts of an older one. */
const KEPT_STATES = 6;
/** Sources that are written to meanwhile are compiled again. */
const ATTEMPTS = 3;
/** Where a process leaves the name of its build for its workers and threads. */
const HANDED_DOWN = 'TONSTREAM_BUILD';

/**
 * Runs a program of the sources.
 * @param {string | URL} source file URL of its module
 */
export async function run(source) {
  const path = pathOf(source);
  const state = await build(path);
  process.env[HANDED_DOWN] = state;
  await runCompiled(state, path);
}

/**
 * Runs a part of a program, in a worker or thread of its own, from the same build as the program.
 * @param {string | URL} source file URL of its module
 */
export async function runPart(source) {
  const path = pathOf(source);
  const state = process.env[HANDED_DOWN];
  const there = state !== undefined && existsSync(outputOf(state, path));
  await runCompiled(there ? state : await build(path), path);
}

/** @type {(state: string, path: string) => Promise<unknown>} */
function runCompiled(state, path) {
  process.setSourceMapsEnabled(true);
  return import(pathToFileURL(outputOf(state, path)).href);
}

/** @type {(source: string | URL) => string} */
const pathOf = (source) => relative(ROOT, fileURLToPath(source)).split(sep).join('/');
/** @type {(path: string) => string} */
const flat = (path) => path.replace(/\.ts$/, '').replaceAll('/', '-');
/** @type {(path: string) => string} */
const nameOf = (path) => (OF_SERVICE.test(path) ? 'service' : flat(path));
/** @type {(state: string, path: string) => string} */
const outputOf = (state, path) => join(BUILDS, state, nameOf(path), `${flat(path)}.js`);

/**
 * Builds what a module belongs to, unless it is there.
 * @param {string} path
 * @returns the state of the sources, as the build is named by it
 * @throws Error when they do not compile or the build cannot be written
 */
async function build(path) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const sources = readSources(path);
    const { state } = sources;
    if (!existsSync(outputOf(state, path))) {
      const made = join(BUILDS, state, `.${randomBytes(6).toString('hex')}`);
      try {
        await bundle(path, sources, made);
        if (readSources(path).state !== state) continue;
        moveTo(join(BUILDS, state, nameOf(path)), made);
        removeOld();
      } catch (error) {
        throw explained(error);
      } finally {
        rmSync(made, { recursive: true, force: true });
      }
    }
    touch(join(BUILDS, state));
    return state;
  }
  throw new Error(`the sources in ${ROOT} change while they are compiled`);
}

/**
 * Every source, by what is in it.
 * @param {string} path of a program, which may be a benchmark: no source of any other
 */
function readSources(path) {
  const paths = FOLDERS.filter((name) => existsSync(join(ROOT, name))).flatMap(listSources);
  const hash = createHash('sha256');
  const installed = INSTALLED.filter((file) => existsSync(file));
  for (const file of [...MAKING, ...installed]) hash.update(readFileSync(file)).update('\0');
  if (LEFT_OUT.test(path)) paths.push(path);
  /** Those that ask where they are. */
  const placed = [];
  for (const path of paths) {
    const text = readFileSync(join(ROOT, path));
    hash.update(path).update('\0').update(text).update('\0');
    if (text.includes('import.meta.url')) placed.push(path);
  }
  return { paths, placed, state: hash.digest('hex').slice(0, 20) };
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function listSources(folder) {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true });
  return entries
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return listSources(path);
      return path.endsWith('.ts') && !LEFT_OUT.test(path) ? [path] : [];
    })
    .sort();
}

/** @type {(path: string, sources: ReturnType<typeof readSources>, outdir: string) => Promise<void>} */
async function bundle(path, { paths, placed }, outdir) {
  mkdirSync(outdir, { recursive: true });
  const isService = OF_SERVICE.test(path);
  const entries = isService ? paths.filter((one) => OF_SERVICE.test(one)) : [path];
  const { build: compile, stop } = await import('esbuild');
  try {
    await compile({
      absWorkingDir: ROOT,
      entryPoints: entries.map((entry) => ({ in: entry, out: flat(entry) })),
      outdir,
      bundle: true,
      splitting: true,
      ...(isService
        ? { external: APART.flatMap((name) => [name, `${name}/*`]), banner: { js: REQUIRE } }
        : { packages: 'external' }),
      format: 'esm',
      platform: 'node',
      target: 'node20.19',
      sourcemap: true,
      sourcesContent: false,
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
      logLevel: 'silent',
      plugins: [ownPlace(placed)],
    });
  } finally {
    await stop();
  }
}

/**
 * A module that names a file beside it, or another one to run, means the sources: `import.meta.url` stays what it is
 * there.
 * @param {string[]} placed
 * @returns {import('esbuild').Plugin}
 */
function ownPlace(placed) {
  const files = new Map(placed.map((path) => [join(ROOT, path), path]));
  return {
    name: 'own-place',
    setup({ onLoad }) {
      const named = [...files.keys()].map((file) => file.replaceAll(/[\\^$.|?*+()[\]{}]/g, '\\$&'));
      onLoad({ filter: new RegExp(`^(?:${named.join('|')})$`) }, ({ path: file }) => {
        const place = JSON.stringify(`../../../${files.get(file)}`);
        const text = readFileSync(file, 'utf8');
        return {
          contents: text.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`),
          loader: 'ts',
        };
      });
    },
  };
}

/**
 * Another process may have been first.
 * @type {(place: string, made: string) => void}
 */
function moveTo(place, made) {
  try {
    renameSync(made, place);
  } catch (error) {
    if (!existsSync(place)) throw error;
  }
}

/** The states that were run last stay. */
function removeOld() {
  const states = readdirSync(BUILDS).map((name) => ({
    name,
    used: statSync(join(BUILDS, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  }));
  for (const { name } of states.sort((a, b) => b.used - a.used).slice(KEPT_STATES))
    rmSync(join(BUILDS, name), { recursive: true, force: true });
}

/** @type {(folder: string) => void} */
function touch(folder) {
  try {
    utimesSync(folder, new Date(), new Date());
  } catch {
    // Who may not write here removes nothing either.
  }
}

const UNWRITABLE = new Set(['EACCES', 'EPERM', 'EROFS']);

/** @type {(error: unknown) => Error} */
function explained(error) {
  if (!(error instanceof Error)) return new Error(String(error));
  if (!UNWRITABLE.has(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) return error;
  return new Error(
    `tonstream is not compiled yet, and ${BUILDS} cannot be written (${error.message}): ` +
      `run \`node ${join(ROOT, 'bin', 'tonstream.js')} version\` once as a user who may`,
  );
}
