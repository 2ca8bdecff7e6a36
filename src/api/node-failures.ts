/** Why a node cannot answer, in the words of tonlib, which clients match on (v2's endpoints 1.4 of the contract). */
import { NodeError } from '../node/chain-node.ts';
import { LITE_ERROR, LiteServerError } from '../node/lite-api.ts';
import { NoNetworkError } from '../node/liteservers.ts';
import type { Failure } from './form.ts';

const NAMES = new Map<number, string>([
  [LITE_ERROR.failure, 'FAILURE'],
  [LITE_ERROR.error, 'ERROR'],
  [LITE_ERROR.warning, 'WARNING'],
  [LITE_ERROR.protocolViolation, 'PROTOVIOLATION'],
  [LITE_ERROR.notReady, 'NOTREADY'],
  [LITE_ERROR.timeout, 'TIMEOUT'],
  [LITE_ERROR.cancelled, 'CANCELLED'],
]);

/** Null for what is not of a node. */
export function nodeFailure(error: unknown): Failure | null {
  if (error instanceof NoNetworkError) {
    return { status: 542, text: `no workers available: ${error.message}`, internal: false };
  }
  if (!(error instanceof NodeError)) return null;
  const { code, cause, message } = error;
  if (cause instanceof LiteServerError) {
    return {
      status: 500,
      text: `LITE_SERVER_${NAMES.get(cause.code) ?? 'UNKNOWN'}: ${cause.message}`,
      internal: false,
    };
  }
  if (code === 'unavailable') return { status: 504, text: 'Liteserver timeout', retryAfter: 1, internal: false };
  return { status: 500, text: `LITE_SERVER_NOTREADY: ${message}`, internal: false };
}
