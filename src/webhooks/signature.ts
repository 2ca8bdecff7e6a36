/** Signatures as the Standard Webhooks specification has them (standardwebhooks.com, version 1): HMAC-SHA256. */
import { createHash, createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const [FEWEST_BYTES, MOST_BYTES] = [24, 64];

export function newSecret(): string {
  return `${PREFIX}${randomBytes(32).toString('base64')}`;
}

/** Whether a text is a secret: `whsec_` and 24 to 64 bytes as standard base64. */
export function isSecret(text: string): boolean {
  const bytes = keyOf(text);
  const isWritten = `${PREFIX}${bytes.toString('base64')}` === text;
  return isWritten && bytes.length >= FEWEST_BYTES && bytes.length <= MOST_BYTES;
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(PREFIX.length), 'base64');
}

/** The headers that a receiver verifies a body by. @param seconds Unix time of this attempt */
export function signedHeaders(secret: string, id: string, seconds: number, body: Buffer): Record<string, string> {
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.`).update(body).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` };
}

/** The same for the same events, another for others: receivers may leave out what they have seen by it. */
export function messageId(eventIds: readonly string[]): string {
  if (eventIds.length === 1) return eventIds[0];
  return createHash('sha256').update(eventIds.join(' ')).digest().subarray(0, 16).toString('base64url');
}
