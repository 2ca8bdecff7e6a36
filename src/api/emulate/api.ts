/** `/api/emulate/v1`: what a message would do, without sending it. */
import { NodeError } from '../../node/chain-node.ts';
import { BodyError } from '../body.ts';
import { type Failure, type Form, PLAIN_FORM } from '../form.ts';
import { type Api, bind } from '../route.ts';
import type { AskedBy } from '../v3/api.ts';
import type { EmulateParts } from './answer.ts';
import { emulateTonConnectRoute } from './emulateTonConnect.ts';
import { emulateTraceRoute } from './emulateTrace.ts';

const DOCUMENT: Api['document'] = {
  title: 'tonstream emulation',
  description: 'What a message would do on the present states, or on those of an earlier step.',
  headers: [
    { name: 'X-Timeout', type: 'integer', description: 'Milliseconds for the whole emulation.' },
    {
      name: 'X-Actions-Version',
      type: 'string',
      description: 'A shortcut or an action type: the actions that the client knows.',
    },
  ],
  failures: {
    400: 'The message or an option cannot be read.',
    413: 'The body is too large.',
    429: 'Too many contracts run at once: try again after the seconds in `Retry-After`.',
    500: 'The contract does not accept the message (`EmulationExternalNotAccepted: <exit code>`), or it cannot be run.',
    501: 'It takes a liteserver, and no network is followed.',
    503: 'No liteserver answered in time: try again after the seconds in `Retry-After`.',
  },
};

/** What is sent is refused with 400, as by TON Center's own. */
const FORM: Form = {
  ...PLAIN_FORM,
  failure(error): Failure | null {
    if (error instanceof BodyError) {
      return { status: 400, text: `invalid request: ${error.message}`, internal: false };
    }
    if (!(error instanceof NodeError) || error.code !== 'not_found') return null;
    return { status: 400, text: error.message, internal: false };
  },
};

export function emulateApi(parts: EmulateParts, asked: AskedBy): Api {
  return {
    base: '/api/emulate/v1',
    version: '1.0.0',
    document: DOCUMENT,
    form: FORM,
    routes: [emulateTraceRoute(parts), emulateTonConnectRoute(parts)].map((route) => bind(route, asked)),
  };
}
