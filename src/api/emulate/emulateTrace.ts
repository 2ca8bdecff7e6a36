import { z } from 'zod';
import { MAX_EXTERNAL_BYTES } from '../../chain/external-message.ts';
import type { ReadMessage } from '../../emulation/emulator.ts';
import type { Route } from '../v3/route.ts';
import { answer, bytesOf, type EmulateParts, emulated, invalid, messageIn, options, route } from './answer.ts';

/** Message, options and spaces. */
const MAX_BODY_BYTES = 4 * MAX_EXTERNAL_BYTES;

export function emulateTraceRoute(parts: EmulateParts): Route {
  return route({
    path: '/emulateTrace',
    methods: ['POST'],
    tag: 'emulate',
    summary: 'What a message would do: its trace with all transactions and actions',
    parameters: z.object({
      boc: z.string().default('').meta({
        type: 'string',
        description: 'The message, from outside or internal: a bag of cells in base64.',
        required: true,
      }),
      ignore_chksig: z
        .boolean()
        .default(false)
        .meta({ type: 'boolean', description: 'Let every check of a signature by its receiver succeed.' }),
      ...options,
    }),
    response: emulated,
    maxBodyBytes: MAX_BODY_BYTES,
    acts: true,
    async answer({ boc, ignore_chksig: ignoreSignatures, ...how }, asked) {
      return answer(messageOf(boc), { ...how, ignoreSignatures, actionTypes: 'latest' }, asked, parts);
    },
  });
}

function messageOf(boc: string): ReadMessage {
  if (boc === '') throw invalid('boc is required');
  return messageIn(bytesOf(boc, 'invalid boc'), 'boc is no message');
}
