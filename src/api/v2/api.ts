/** The API of TON Center that mirrors a node, in its own envelope. */
import type { Registry } from 'prom-client';
import type { ChainSource } from '../../chain/chain-source.ts';
import type { Liteservers } from '../../node/liteservers.ts';
import type { StateSource } from '../../state/source.ts';
import { watchKept } from '../api-metrics.ts';
import type { Contracts } from '../contracts.ts';
import { wholeRows } from '../request.ts';
import { type Api, bind } from '../route.ts';
import { NODE_DEADLINE_MS } from '../sending.ts';
import { ENVELOPE, JSON_RPC } from './envelope.ts';
import { createRenderings } from './render/renderings.ts';
import { v2Routes } from './routes.ts';

export interface V2Options {
  source: ChainSource;
  liteservers: Liteservers;
  states: StateSource;
  contracts: Contracts;
  metrics: Registry;
  /** Bytes of rendered transactions to keep. */
  keptRenderings: number;
}

const VERSION = '2.1.0';

/** Of a request: those of the server whose contract this is. */
const MOST = { bodyBytes: 1024 * 1024, urlBytes: 8 * 1024 };

const DOCUMENT: Api['document'] = {
  title: 'tonstream v2',
  description: 'Blocks, transactions and accounts of a TON network in the form of its nodes, get-methods and sending.',
  headers: [],
  failures: {
    404: 'There is no such thing.',
    413: 'The body is larger than 1 MiB.',
    414: 'Path and query are longer than 8 KiB.',
    422: 'A parameter cannot be read or breaks a rule.',
    429: 'Too many requests: try again after the seconds in `Retry-After`.',
    500: 'The service or a liteserver failed.',
    503: 'The newest step is being written: try again after the seconds in `Retry-After`.',
    504: 'No liteserver answered in time.',
    542: 'It takes a liteserver, and no network is followed; or the stack has an entry that cannot be given.',
  },
};

export function v2Api(options: V2Options): Api {
  const { source, liteservers, states, contracts, metrics, keptRenderings } = options;
  const renderings = createRenderings(keptRenderings);
  watchKept(metrics, 'v2_transactions', () => renderings.bytes);
  return {
    base: '/api/v2',
    version: VERSION,
    document: DOCUMENT,
    form: ENVELOPE,
    most: MOST,
    routes: v2Routes().map((route) =>
      bind(route, ({ context: caller }) => {
        const context = wholeRows(caller, NODE_DEADLINE_MS);
        return { source, liteservers, states, contracts, renderings, context };
      }),
    ),
    calls: JSON_RPC,
  };
}
