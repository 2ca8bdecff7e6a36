/** Finds the global config of a network: a file, a URL, or the published one with a copy in the data folder. */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { errorMessage } from '../chain/errors.ts';
import { parseGlobalConfig } from './global-config.ts';

const PUBLISHED: Record<string, string> = {
  mainnet: 'https://ton.org/global.config.json',
  testnet: 'https://ton.org/testnet-global.config.json',
};
const DOWNLOAD_MS = 15_000;
const MOST_BYTES = 4 * 1024 * 1024;

class NetworkError extends Error {
  override name = 'NetworkError';
}

export interface NetworkOptions {
  /** `mainnet`, `testnet`, or the path of a global config. */
  network: string;
  /** URL or file to take the config of a named network from. */
  source?: string | undefined;
  dataDir: string;
  logger: Pick<Logger, 'warn'>;
  signal: AbortSignal;
}

/**
 * Text of the config of a network, checked. What is downloaded is kept in the data folder and used when the next
 * download fails.
 * @throws {NetworkError} that says what to do
 */
export async function findGlobalConfig(options: NetworkOptions): Promise<string> {
  const { network, source } = options;
  const published = PUBLISHED[network];
  if (published === undefined) return readConfigFile(network, '--network');
  const from = source ?? published;
  if (!/^https?:\/\//.test(from)) return readConfigFile(from, '--config');
  return downloaded(from, options);
}

async function readConfigFile(path: string, flag: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    const hint = flag === '--network' ? ': give devnet, mainnet, testnet, none, or the path of a global config' : '';
    throw new NetworkError(`${flag}: ${path} cannot be read${hint}`, { cause });
  });
  return checked(text, path);
}

function checked(text: string, place: string): string {
  try {
    parseGlobalConfig(JSON.parse(text));
    return text;
  } catch (cause) {
    const why = errorMessage(cause);
    throw new NetworkError(`${place}: ${why}`, { cause });
  }
}

async function downloaded(url: string, { network, dataDir, logger, signal }: NetworkOptions): Promise<string> {
  const kept = join(dataDir, `${network}.global.config.json`);
  try {
    const text = checked(await download(url, signal), url);
    await mkdir(dataDir, { recursive: true });
    await writeFile(`${kept}.new`, text);
    await rename(`${kept}.new`, kept);
    return text;
  } catch (cause) {
    signal.throwIfAborted();
    const why = errorMessage(cause);
    const copy = await readFile(kept, 'utf8').catch(() => null);
    if (copy !== null) {
      logger.warn({ url, kept, reason: why }, 'the global config cannot be downloaded, using the copy');
      return checked(copy, kept);
    }
    throw new NetworkError(
      `the global config of ${network} cannot be had from ${url} (${why}), and ${kept} is not there. ` +
        'Download it elsewhere and give it with --config <file>, or start a chain of your own with --network devnet',
      { cause },
    );
  }
}

async function download(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]) }).catch(
    (error: unknown) => {
      // What fetch says itself is "fetch failed"; why is in its cause.
      throw error instanceof Error && error.cause instanceof Error ? error.cause : error;
    },
  );
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
