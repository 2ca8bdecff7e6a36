import { z } from 'zod';
import { parseAddress } from '../../chain/address.ts';
import { Builder, type Cell, parseBoc, toBoc } from '../../chain/builder.ts';
import { readWallet } from '../../chain/contracts/wallets.ts';
import { DecodeError } from '../../chain/errors.ts';
import { writeExternalMessage } from '../../chain/external-message.ts';
import { readMessage } from '../../emulation/emulator.ts';
import { cellView } from '../../state/account.ts';
import { ApiError } from '../errors.ts';
import type { Route } from '../v3/route.ts';
import { answer, type EmulateParts, emulated, options, route, stepOf } from './answer.ts';
import { isConnectable, type Transfer, walletBody } from './wallets.ts';

const MOST_MESSAGES = 4;
const VALID_S = 300;
const MAX_BODY_BYTES = 512 * 1024;
const MAX_AMOUNT = 2n ** 64n;

const boc = z.string().optional();
const transfer = z.object({
  address: z.string(),
  amount: z.string().regex(/^\d{1,20}$/, 'not a number of nanotons'),
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
      from: z.string().meta({ type: 'string', description: 'Address of the wallet.', required: true }),
      messages: z
        .array(transfer)
        .min(1)
        .max(MOST_MESSAGES)
        .meta({ type: 'array', items: { type: 'object' }, description: 'As in the request.', required: true }),
      valid_until: z
        .number()
        .positive()
        .nullish()
        .meta({ type: 'number', description: `Unix seconds; ${VALID_S} seconds from now unless given.` }),
      ...options,
    }),
    response: emulated,
    maxBodyBytes: MAX_BODY_BYTES,
    acts: true,
    async answer({ from, messages, valid_until: until, ...how }, asked) {
      const address = parseAddress(from);
      if (address === null) throw new ApiError(400, `from: not an address: ${from.slice(0, 100)}`);
      const { states, context } = asked;
      const step = await stepOf(how.mc_block_seqno ?? undefined, asked, context);
      const account = await states.account(address, step, { cells: true }, context);
      const wallet = readWallet(account.codeHash, cellView(account.data));
      if (wallet === null || !isConnectable(wallet)) throw new ApiError(400, 'from: not a wallet that can be asked');
      const now = Math.max(Math.floor(Date.now() / 1000), step.header.genUtime);
      const validUntil = until ? secondsOf(until) : now + VALID_S;
      const body = walletBody(wallet, messages.map(transferOf), validUntil);
      const message = readMessage(toBoc(writeExternalMessage({ address, body, init: null })));
      return answer(message, { ...how, ignoreSignatures: true, actionTypes: 'v1' }, asked, parts);
    },
  });
}

function transferOf({ address: text, amount, payload, stateInit }: z.output<typeof transfer>, at: number): Transfer {
  const address = parseAddress(text);
  if (address === null) throw new ApiError(400, `messages.${at}.address: not an address`);
  const value = BigInt(amount);
  if (value >= MAX_AMOUNT) throw new ApiError(400, `messages.${at}.amount: more than 64 bits`);
  // The raw form says nothing of it: wallets take it for bounceable.
  const bounce = text.includes(':') || (Buffer.from(text, 'base64url')[0] & 0x40) === 0;
  const cell = (name: string, sent: string | undefined): Cell | null => cellOf(`messages.${at}.${name}`, sent);
  return {
    address,
    value,
    bounce,
    body: cell('payload', payload) ?? new Builder().cell(),
    init: cell('stateInit', stateInit),
  };
}

function cellOf(name: string, sent: string | undefined): Cell | null {
  if (sent === undefined || sent === '') return null;
  try {
    return parseBoc(Buffer.from(sent, 'base64'));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new ApiError(400, `${name}: ${error.message}`, { cause: error });
  }
}
