import { Address, toNano } from '@ton/core';
import { z } from 'zod';
import { type Faucet, FaucetError, type FaucetErrorCode } from '../devnet/actors/faucet.ts';
import type { FaucetDoor } from '../devnet/thread.ts';
import { ApiError } from './errors.ts';
import { PLAIN_FORM } from './form.ts';
import type { Parameters } from './parameters.ts';
import { type Api, type Asker, type Declaration, declare, type Route } from './route.ts';

const BASE = '/devnet';
const PATH = '/faucet';
export const FAUCET_PATH = `${BASE}${PATH}`;

const MOST_BODY_BYTES = 4096;

const address = z
  .string()
  .transform((text, context) => {
    try {
      return Address.parse(text);
    } catch {
      // The parser's words differ by form and say no more than this.
      context.addIssue({ code: 'custom', message: 'not an address' });
      return z.NEVER;
    }
  })
  .meta({ type: 'string', description: 'Account address in any form.', required: true });

/** Coins as people write them: up to nine digits behind the point. */
export const coins: z.ZodType<bigint, string | number> = z
  .union([z.string(), z.number().transform(String)])
  .pipe(z.string().regex(/^\d{1,12}(\.\d{1,9})?$/, 'not an amount of TON such as 2 or 0.5'))
  .transform((text) => toNano(text))
  .meta({ type: ['string', 'number'], description: 'Amount of TON.', example: '0.5', required: true });

const STATUS: Record<FaucetErrorCode, number> = { amount: 422, rate: 429, full: 429, empty: 503, unavailable: 503 };

/** Of an account in raw form and of nanotons. */
const raw = z.string().meta({ description: 'Raw form, upper-case hex.' });
const nanotons = z.string().regex(/^\d+$/).meta({ description: 'Nanotons.' });

/**
 * `POST /devnet/faucet` sends coins, `GET` tells the faucet's address and limits. Refused with 422 for the request, 429
 * for the limits, 503 when the faucet cannot give.
 */
export function faucetApi(faucet: FaucetDoor): Api {
  return {
    base: BASE,
    version: '1.0.0',
    document: {
      title: 'tonstream devnet',
      description: 'Coins for a chain in a box.',
      headers: [],
      failures: {
        422: 'The address or the amount cannot be read, or the amount is too much.',
        429: 'The faucet has given as much as it may for now.',
        503: 'The faucet cannot give.',
      },
    },
    form: PLAIN_FORM,
    routes: [statusRoute(faucet), giftRoute(faucet)],
  };
}

function route<T extends Parameters>(declaration: Declaration<T, Asker>): Route<Asker> {
  return declare(declaration, (issues) => {
    const reasons = issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
    return new ApiError(422, reasons.join('; '));
  });
}

function statusRoute({ address: own, limits }: FaucetDoor): Route<Asker> {
  return route({
    path: PATH,
    tag: 'faucet',
    summary: 'Address and limits of the faucet',
    parameters: z.object({}),
    response: z.strictObject({ address: raw, most_amount: nanotons, gifts_per_minute: z.int() }),
    answer: async () =>
      JSON.stringify({
        address: own.toRawString().toUpperCase(),
        most_amount: limits.most.toString(),
        gifts_per_minute: limits.giftsPerMinute,
      }),
  });
}

function giftRoute(faucet: FaucetDoor): Route<Asker> {
  return route({
    path: PATH,
    methods: ['POST'],
    tag: 'faucet',
    summary: 'Sends coins to an account',
    parameters: z.object({ address, amount: coins }),
    maxBodyBytes: MOST_BODY_BYTES,
    response: z.strictObject({ message_hash: z.string(), address: raw, amount: nanotons }),
    acts: true,
    async answer({ address: to, amount }) {
      const { messageHash } = await give(faucet, to, amount);
      return JSON.stringify({
        message_hash: messageHash.toString('base64'),
        address: to.toRawString().toUpperCase(),
        amount: amount.toString(),
      });
    },
  });
}

async function give(faucet: FaucetDoor, to: Address, amount: bigint): ReturnType<Faucet['give']> {
  try {
    return await faucet.give(to, amount);
  } catch (error) {
    if (!(error instanceof FaucetError)) throw error;
    throw new ApiError(STATUS[error.code], error.message, { cause: error });
  }
}
