import { Address, toNano } from '@ton/core';
import express, { type Router } from 'express';
import { z } from 'zod';
import { type Faucet, FaucetError, type FaucetErrorCode } from '../devnet/actors/faucet.ts';
import type { FaucetDoor } from '../devnet/thread.ts';
import { ApiError, notFound, sendJson } from './errors.ts';

export const FAUCET_PATH = '/devnet/faucet';

const MOST_BODY_BYTES = 4096;

const address = z.string().transform((text, context) => {
  try {
    return Address.parse(text);
  } catch {
    // The parser's words differ by form and say no more than this.
    context.addIssue({ code: 'custom', message: 'not an address' });
    return z.NEVER;
  }
});

/** Coins as people write them: up to nine digits behind the point. */
export const coins: z.ZodType<bigint, string | number> = z
  .union([z.string(), z.number().transform(String)])
  .pipe(z.string().regex(/^\d{1,12}(\.\d{1,9})?$/, 'not an amount of TON such as 2 or 0.5'))
  .transform((text) => toNano(text));

const request = z.object({ address, amount: coins });

const STATUS: Record<FaucetErrorCode, number> = { amount: 422, rate: 429, full: 429, empty: 503, unavailable: 503 };

/**
 * `POST /devnet/faucet` with `{"address": "<any form>", "amount": "<TON>"}` sends coins and answers
 * `{"message_hash": "<base64>", "address": "<raw>", "amount": "<nanotons>"}`; `GET` tells the faucet's address and
 * limits. Errors are `{"error": "<text>"}` with 422 for the request, 429 for the limits, 503 when the faucet cannot give.
 */
export function faucetRoute(faucet: FaucetDoor): Router {
  const router = express.Router();
  router.get(FAUCET_PATH, (_request, response) => {
    const { most, giftsPerMinute } = faucet.limits;
    sendJson(
      response,
      200,
      JSON.stringify({
        address: faucet.address.toRawString().toUpperCase(),
        most_amount: most.toString(),
        gifts_per_minute: giftsPerMinute,
      }),
    );
  });
  // The body is JSON whatever its type is called: `curl -d` calls it a form.
  router.post(FAUCET_PATH, express.json({ limit: MOST_BODY_BYTES, type: () => true }), async (asked, response) => {
    const { address: to, amount } = readRequest(asked.body);
    const { messageHash } = await give(faucet, to, amount);
    sendJson(
      response,
      200,
      JSON.stringify({
        message_hash: messageHash.toString('base64'),
        address: to.toRawString().toUpperCase(),
        amount: amount.toString(),
      }),
    );
  });
  router.all(FAUCET_PATH, notFound);
  return router;
}

function readRequest(body: unknown): z.output<typeof request> {
  const result = request.safeParse(body);
  if (result.success) return result.data;
  const reasons = result.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  throw new ApiError(422, reasons.join('; '));
}

async function give(faucet: FaucetDoor, to: Address, amount: bigint): ReturnType<Faucet['give']> {
  try {
    return await faucet.give(to, amount);
  } catch (error) {
    if (!(error instanceof FaucetError)) throw error;
    throw new ApiError(STATUS[error.code], error.message, { cause: error });
  }
}
