/** Public libraries: what a server shows has the hash that it is asked for by, that one is not there it only says. */
import type { Hash } from '../chain/model.ts';
import { isNotFound } from './chain-node.ts';
import { decodeAnswer, encodeRequest, LITE_ERROR, LiteServerError } from './lite-api.ts';
import { checkLibraries } from './lite-proofs.ts';
import type { Asker, Question } from './lite-race.ts';

/** Servers that must lack a library. */
const OPINIONS = 2;

/**
 * Libraries of the network by hash in hex. What one server does not show another one is asked for.
 * @throws {NodeError}
 */
export async function askLibraries(
  asker: Asker,
  hashes: readonly Hash[],
  how: Pick<Question<unknown>, 'signal' | 'timeoutMs' | 'minMcSeqno' | 'opinions'>,
): Promise<Map<string, Buffer>> {
  const wanted = new Set(hashes.map((hash) => hash.toString('hex'))).size;
  const found = new Map<string, Buffer>();
  let answers = 0;
  const check = (bytes: Buffer): Map<string, Buffer> => {
    for (const [key, boc] of checkLibraries(decodeAnswer('getLibraries', bytes), hashes)) found.set(key, boc);
    if (found.size === wanted || ++answers === OPINIONS) return found;
    throw new LiteServerError(LITE_ERROR.notReady, `${wanted - found.size} libraries are not there`);
  };
  const body = encodeRequest({ method: 'getLibraries', libraryList: [...hashes] });
  try {
    return await asker.ask({ ...how, name: 'getLibraries', body, check });
  } catch (error) {
    // There was no second server to ask.
    if (isNotFound(error) && answers > 0) return found;
    throw error;
  }
}
