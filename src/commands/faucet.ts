import { z } from 'zod';
import { FAUCET_PATH } from '../api/faucet.ts';
import type { Config } from '../config.ts';
import { httpUrl } from '../listen.ts';
import type { ImportIo } from './import.ts';

const given = z.object({ message_hash: z.string(), address: z.string(), amount: z.string() });
const refused = z.object({ error: z.string() });

/** The faucet waits a block time at most when its wallet is under way. */
const ANSWER_TIMEOUT_MS = 30_000;

/**
 * `tonstream faucet ADDRESS AMOUNT`: asks the devnet that listens at the configured host and port for coins.
 * @param words the address in any form and the amount in TON
 * @returns the exit code: 0 when the chain took the message in, 1 otherwise, with one line on stderr
 */
export async function runFaucet(
  { host, port }: Pick<Config, 'host' | 'port'>,
  words: readonly string[],
  { print, stderr = process.stderr }: Pick<ImportIo, 'print' | 'stderr'>,
): Promise<number> {
  const fail = (reason: string): number => {
    stderr.write(`tonstream faucet: ${reason}\n`);
    return 1;
  };
  const [address, amount] = words;
  if (words.length !== 2) return fail('give an address and an amount of TON: tonstream faucet <address> <amount>');
  const url = httpUrl(host, port);
  try {
    const answer = await ask(`${url}${FAUCET_PATH}`, { address, amount });
    if (!answer.ok) return fail(answer.reason);
    print(`sent ${amount} TON to ${answer.address}`);
    print(`message hash ${answer.messageHash}`);
    return 0;
  } catch (error) {
    const reason = unreachable(error);
    if (reason === null) throw error;
    return fail(`no devnet at ${url} (${reason}): start it with tonstream devnet, or say where with --host and --port`);
  }
}

/** What keeps a request from its answer, null for what is no matter of the network. */
function unreachable(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (error.name === 'TimeoutError') return 'it does not answer';
  // The name fetch has for all failures of the connection.
  return error instanceof TypeError ? 'nothing listens there' : null;
}

type Answer = { ok: true; address: string; messageHash: string } | { ok: false; reason: string };

async function ask(url: string, body: object): Promise<Answer> {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body), signal });
  const text = await response.text();
  const json = jsonOf(text);
  const done = given.safeParse(json);
  if (response.ok && done.success) {
    return { ok: true, address: done.data.address, messageHash: done.data.message_hash };
  }
  const why = refused.safeParse(json);
  if (why.success) return { ok: false, reason: why.data.error };
  return { ok: false, reason: `what listens at ${url} is not a devnet (HTTP ${response.status})` };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
