/** What running a contract means to whoever asked for it by HTTP. */
import { MAX_RESULT_DEPTH, methodId, TvmArgumentError } from '../tvm/contract.ts';
import { EstimateError } from '../tvm/fees.ts';
import { TvmBusyError, TvmTimeoutError } from '../tvm/pool.ts';
import { StackLimitError, type StackLimits } from '../tvm/stack.ts';
import { ApiError, Refusal } from './errors.ts';
import { readStackNumber } from './stack-number.ts';

/** Of what a method leaves: no more than is printed within some milliseconds. */
export const RESULT_LIMITS: StackLimits = { maxDepth: MAX_RESULT_DEPTH, maxValues: 32_768 };

/**
 * Of a request with cells to run: what v2 takes, behind which the reference asks for these. A bag of four megabytes may
 * have a third of a million cells, which hold up all else for seconds.
 */
export const MOST_RUN_BYTES = 1024 * 1024;

/** A run takes milliseconds: a second later there may be room. */
const BUSY_SECONDS = 1;

/** Id of a method by its name, or by its number as number or text; null for a number that is none. */
export function methodOf(method: string | number): number | null {
  const id = readStackNumber(method);
  if (id === null) return methodId(String(method));
  return BigInt.asIntN(32, id) === id ? Number(id) : null;
}

/** @throws {ApiError} for what becomes of the contract, 429 where too many run already */
export async function running<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof TvmBusyError) {
      throw new ApiError(429, error.message, { cause: error, retryAfterSeconds: BUSY_SECONDS });
    }
    if (error instanceof TvmTimeoutError) throw new Refusal(500, `INTERNAL: ${error.message}`, { cause: error });
    if (error instanceof TvmArgumentError) throw new ApiError(422, `stack: ${error.message}`, { cause: error });
    if (error instanceof EstimateError) throw new Refusal(500, `INTERNAL: ${error.message}`, { cause: error });
    if (error instanceof StackLimitError) {
      // In the words of the reference.
      const isDeep = error.limit === 'maxDepth';
      const text = isDeep ? `Result stack depth >= ${error.most}` : 'TVM stack size exceeds limit';
      throw new Refusal(isDeep ? 533 : 500, text, { cause: error });
    }
    throw error;
  }
}
