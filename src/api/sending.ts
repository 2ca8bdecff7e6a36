/** Sending an external message, whatever API it came by: checked and hashed here, then given to liteservers. */
import { DecodeError } from '../chain/errors.ts';
import { type ExternalMessage, readExternalMessage } from '../chain/external-message.ts';
import { NodeError } from '../node/chain-node.ts';
import type { Liteservers } from '../node/liteservers.ts';
import { Refusal } from './errors.ts';

/** Longest wait for liteservers. */
export const NODE_DEADLINE_MS = 10_000;

/** @throws {Refusal} for anything but an external message */
export function checkMessage(boc: Buffer): ExternalMessage {
  try {
    return readExternalMessage(boc);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new Refusal(500, `INVALID_BAG_OF_CELLS: body: ${error.message}`, { cause: error });
  }
}

/**
 * Resolves when a liteserver has taken the message.
 * @throws {Refusal} {NodeError} `unavailable` also when nobody has answered by the deadline {NoNetworkError}
 */
export async function sendExternal(
  liteservers: Liteservers,
  boc: Buffer,
  signal: AbortSignal,
  deadlineMs = NODE_DEADLINE_MS,
): Promise<ExternalMessage> {
  const message = checkMessage(boc);
  const deadline = AbortSignal.timeout(deadlineMs);
  try {
    await liteservers.sendMessage(boc, AbortSignal.any([signal, deadline]));
  } catch (error) {
    if (!deadline.aborted || signal.aborted) throw error;
    throw new NodeError('unavailable', `sendMessage: no answer in ${deadlineMs} ms`, { cause: error });
  }
  return message;
}
