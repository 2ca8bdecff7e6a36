import { z } from 'zod';
import { isStandard, parseAddress } from '../../chain/address.ts';
import { Builder, type Cell, parseSent, toBoc } from '../../chain/builder.ts';
import { readWallet } from '../../chain/contracts/wallets.ts';
import { DecodeError } from '../../chain/errors.ts';
import { writeExternalMessage } from '../../chain/external-message.ts';
import { cellView } from '../../state/account.ts';
import type { Route } from '../v3/route.ts';
import { answer, bytesOf, type EmulateParts, emulated, invalid, messageIn, options, route, stepOf } from './answer.ts';
import { isConnectable, type Transfer, walletBody } from './wallets.ts';

const MOST_MESSAGES = 4;
const VALID_S = 300;
const MAX_BODY_BYTES = 512 * 1024;
const MAX_AMOUNT = 2n ** 64n;
/** The end of 32 bits of seconds, in the least of the units that wallets send: more than an integer of JavaScript. */
const MAX_TIME = 2 ** 32 * 1e9;
const AMOUNT = /^\d{1,30}$/;

const boc = z.string().nullish();
const transfer = z.object({
  address: z.string().default(''),
  amount: z.string().default(''),
  payload: boc,
  stateInit: boc,
});

/** Unix seconds. Wallets are known to send milliseconds, micro- and nanoseconds: told by their magnitude. */
function secondsOf(time: number): number {
  let seconds = time;
  while (seconds > 0xffffffff) seconds = Math.floor(seconds / 1000);
  return seconds;
}

/** What a wallet would do with a request of TON Connect, which it is not asked to sign. */
export function emulateTonConnectRoute(parts: EmulateParts): Route {
  return route({
    path: '/emulateTonConnect',
    methods: ['POST'],
    tag: 'emulate',
    summary: 'What a wallet would do when it signed a request of TON Connect',
    parameters: z.object({
      from: z.string().default('').meta({ type: 'string', description: 'Address of the wallet.', required: true }),
      messages: z
        .array(transfer)
        .default([])
        .meta({ type: 'array', items: { type: 'object' }, description: 'As in the request.', required: true }),
      valid_until: z
        .union([z.number(), z.bigint().transform(Number)])
        .pipe(z.number().positive().lt(MAX_TIME).refine(Number.isInteger, 'not a whole number'))
        .nullish()
        .meta({ type: 'integer', description: `Unix seconds; ${VALID_S} seconds from now unless given.` }),
      ...options,
    }),
    response: emulated,
    maxBodyBytes: MAX_BODY_BYTES,
    acts: true,
    async answer({ from, messages, valid_until: until, ...how }, asked) {
      if (from === '') throw invalid('from address is required for emulation');
      if (messages.length === 0) throw invalid('messages array cannot be empty');
      if (messages.length > MOST_MESSAGES) {
        throw invalid(`messages array cannot contain more than ${MOST_MESSAGES} messages`);
      }
      const transfers = messages.map(transferOf);
      const address = parseAddress(from);
      if (address === null) throw invalid(`from: not an address: ${from.slice(0, 100)}`);
      const { states, context } = asked;
      const step = await stepOf(how.mc_block_seqno ?? undefined, asked, context);
      const account = await states.account(address, step, { cells: true }, context);
      const wallet = readWallet(account.codeHash, cellView(account.data));
      if (wallet === null || !isConnectable(wallet)) throw invalid('from: not a wallet that can be asked');
      const now = Math.max(Math.floor(Date.now() / 1000), step.header.genUtime);
      const validUntil = until ? secondsOf(until) : now + VALID_S;
      const body = walletBody(wallet, transfers, validUntil);
      const boc = toBoc(writeExternalMessage({ address, body, init: null }));
      const message = messageIn(boc, 'no message can be made of the request');
      return answer(message, { ...how, ignoreSignatures: true, actionTypes: 'v1' }, asked, parts);
    },
  });
}

function transferOf({ address: text, amount, payload, stateInit }: z.output<typeof transfer>, at: number): Transfer {
  if (text === '') throw invalid(`message at index ${at} cannot be empty`);
  if (amount === '') throw invalid(`amount in message at index ${at} cannot be empty`);
  if (!AMOUNT.test(amount) || BigInt(amount) >= MAX_AMOUNT) {
    throw invalid(`invalid amount in message at index ${at}: not a number of nanotons in 64 bits`);
  }
  const init = cellOf(stateInit, `invalid message stateInit at index ${at}`);
  const body = cellOf(payload, `invalid message payload at index ${at}`) ?? new Builder().cell();
  const address = parseAddress(text);
  if (address === null) throw invalid(`address in message at index ${at}: not an address`);
  if (!isStandard(address)) {
    throw invalid(`address in message at index ${at}: a workchain that no wallet can send to`);
  }
  // The raw form says nothing of it: wallets take it for bounceable.
  const bounce = text.includes(':') || (Buffer.from(text, 'base64url')[0] & 0x40) === 0;
  return { address, value: BigInt(amount), bounce, body, init };
}

/** Null for what is left out. */
function cellOf(sent: string | null | undefined, reason: string): Cell | null {
  if (!sent) return null;
  const bytes = bytesOf(sent, reason);
  try {
    return parseSent(bytes);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw invalid(`${reason}: ${error.message}`, { cause: error });
  }
}
