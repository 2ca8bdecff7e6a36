import { LITE_ERROR, LiteServerError } from '../../node/lite-api.ts';

/** A node's code for a call that cannot be served as it was asked. */
const BAD_REQUEST = -400;

/** The call itself is wrong. */
export function badRequest(message: string): LiteServerError {
  return new LiteServerError(BAD_REQUEST, message);
}

/** A block or state that is not here, not yet or not any more. */
export function notReady(message: string): LiteServerError {
  return new LiteServerError(LITE_ERROR.notReady, message);
}
