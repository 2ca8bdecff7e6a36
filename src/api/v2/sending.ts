/** Messages to the network: as bags of cells, and made of an address and a body. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Cell } from '../../chain/builder.ts';
import { toBoc } from '../../chain/builder.ts';
import { type ExternalMessage, writeExternalMessage } from '../../chain/external-message.ts';
import type { Liteservers } from '../../node/liteservers.ts';
import { ApiError, failureOf, Refusal } from '../errors.ts';
import { nodeFailure } from '../node-failures.ts';
import type { Failures } from '../route.ts';
import { checkMessage, sendExternal } from '../sending.ts';
import { address, check, required } from './parameters.ts';
import { type Asked, type Route, route } from './route.ts';
import { readCell } from './stack.ts';

const TAG = 'send';
const OK = JSON.stringify({ '@type': 'ok' });
const ok = z.object({ '@type': z.literal('ok') });
const messageInfo = z.object({ '@type': z.literal('raw.extMessageInfo'), hash: z.string(), hash_norm: z.string() });

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Base64; undefined stays so. */
const bytes = (name: string, description: string) => {
  const unread = `failed to parse ${name}`;
  return z
    .string(unread)
    .regex(BASE64, unread)
    .transform((text) => Buffer.from(text, 'base64'))
    .optional()
    .meta({ type: 'string', description });
};

/** A cell, read when it is called for: a bag of cells in base64, or cells as nested objects. Null for the empty text. */
const cell = (name: string, description: string) =>
  z
    .unknown()
    .transform((value): (() => Cell) | null =>
      value === '' || value == null ? null : () => readCell(value, name, `INVALID_BAG_OF_CELLS: ${name}`),
    )
    .optional()
    .meta({ type: ['string', 'object'], description });

const messageOnly = z.object({ boc: bytes('boc', 'An external message: a bag of cells in base64.') });

function bocOf({ boc }: z.output<typeof messageOnly>): Buffer {
  const given = required(boc, 'boc');
  check(given.length > 0, 'empty boc');
  return given;
}

function infoOf({ hash, hashNorm }: ExternalMessage): string {
  const [own, norm] = [hash.toString('base64'), hashNorm.toString('base64')];
  return JSON.stringify({ '@type': 'raw.extMessageInfo', hash: own, hash_norm: norm });
}

function sendingRoute(
  path: string,
  summary: string,
  answer: (boc: Buffer, asked: Asked) => Promise<string>,
  failures: Failures = {},
): Route {
  const response = path.startsWith('/sendBocReturnHash') ? messageInfo : ok;
  return route({
    path,
    methods: ['POST'],
    tag: TAG,
    summary,
    parameters: messageOnly,
    response,
    failures,
    acts: true,
    answer: (parameters, asked) => answer(bocOf(parameters), asked),
  });
}

const send = (boc: Buffer, { liteservers, context }: Asked) => sendExternal(liteservers, boc, context.signal);

export function sendBocRoutes(): Route[] {
  const again = createRepeats();
  return [
    sendingRoute('/sendBoc', 'Sends an external message', async (boc, asked) => {
      await send(boc, asked);
      return OK;
    }),
    sendingRoute('/sendBocReturnHash', 'Sends an external message and tells its hashes', async (boc, asked) =>
      infoOf(await send(boc, asked)),
    ),
    sendingRoute(
      '/sendBocReturnHashNoError',
      'The same, but what nodes refuse is an error of the request',
      async (boc, asked) => {
        try {
          return infoOf(await send(boc, asked));
        } catch (error) {
          const { text, internal } = nodeFailure(error) ?? failureOf(error);
          if (internal) throw error;
          throw new ApiError(400, text, { cause: error });
        }
      },
      { 400: 'A node does not take the message.' },
    ),
    sendingRoute('/sendBocUnsafe', 'Sends an external message again and again for a minute', async (boc, asked) => {
      checkMessage(boc);
      again(asked.liteservers, boc);
      return OK;
    }),
  ];
}

const REPEAT_EVERY_MS = 5_000;
const REPEATS = 12;
const MOST_REPEATED = 256;

/** Messages that are sent on after the answer; what becomes of them nobody is told. */
function createRepeats() {
  let open = 0;
  return (liteservers: Liteservers, boc: Buffer): void => {
    if (open >= MOST_REPEATED) {
      const retryAfterSeconds = REPEAT_EVERY_MS / 1000;
      throw new ApiError(429, `${open} messages are sent again and again already`, { retryAfterSeconds });
    }
    open++;
    void repeat(liteservers, boc).finally(() => open--);
  };
}

async function repeat(liteservers: Liteservers, boc: Buffer): Promise<void> {
  for (let i = 0; i < REPEATS; i++) {
    // Once the chain has it, it is refused: that is the end that is hoped for.
    await sendExternal(liteservers, boc, new AbortController().signal).catch(() => undefined);
    await sleep(REPEAT_EVERY_MS, undefined, { ref: false });
  }
}

const message = z.object({
  address: address('Who the message is for.'),
  body: cell('body', 'Body of the message.'),
  init_code: cell('init_code', 'Code of a contract that is deployed by the message.'),
  init_data: cell('init_data', 'Its data.'),
});

/** The message that the parameters describe. @throws {ApiError} */
export function queryOf({ address: to, body, init_code: code, init_data: data }: z.output<typeof message>): {
  address: Buffer;
  body: Cell;
  init: { code: Cell; data: Cell } | null;
} {
  const { address } = required(to, 'address');
  const given = required(body ?? undefined, 'body');
  if (code == null) return { address, body: given(), init: null };
  if (data == null) throw new Refusal(500, 'INVALID_BAG_OF_CELLS: init_data: no data beside init_code');
  return { address, init: { code: code(), data: data() }, body: given() };
}

export const queryParameters = message;

/** `sendQuery` in bags of cells, `sendQuerySimple` in objects; both read either. */
function sendQueryRoute(path: string): Route {
  return route({
    path,
    methods: ['POST'],
    tag: TAG,
    summary: 'Makes an external message and sends it',
    parameters: message,
    response: ok,
    acts: true,
    async answer(parameters, asked) {
      await send(toBoc(writeExternalMessage(queryOf(parameters))), asked);
      return OK;
    },
  });
}

export function sendQueryRoutes(): Route[] {
  return [sendQueryRoute('/sendQuery'), sendQueryRoute('/sendQuerySimple'), sendCellRoute()];
}

function sendCellRoute(): Route {
  return route({
    path: '/sendCellSimple',
    methods: ['POST'],
    tag: TAG,
    summary: 'Sends an external message that is written as cells',
    parameters: z.object({ cell: cell('cell', 'The message.') }),
    response: ok,
    acts: true,
    async answer({ cell: root }, asked) {
      await send(toBoc(required(root ?? undefined, 'cell')()), asked);
      return OK;
    },
  });
}
