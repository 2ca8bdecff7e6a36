/** The indexed API of TON Center: rows of the tables, each answer with the book of its addresses. */
import type { Registry } from 'prom-client';
import type { ChainSource } from '../../chain/chain-source.ts';
import type { Address } from '../../chain/model.ts';
import type { BookRecord, QueryContext } from '../../chain/records.ts';
import { type Liteservers, NoNetworkError } from '../../node/liteservers.ts';
import { createPendingStore, type PendingStore } from '../../pending/store.ts';
import type { StateSource } from '../../state/source.ts';
import { watchRenderings } from '../api-metrics.ts';
import type { Contracts } from '../contracts.ts';
import { type Form, PLAIN_FORM } from '../form.ts';
import type { ApiLimits } from '../limits.ts';
import { type Mentions, noMentions } from '../mentions.ts';
import { nodeFailure } from '../node-failures.ts';
import { type Api, type Asker, bind, type Route } from '../route.ts';
import { noSentMessages, type SentMessages } from '../sent-messages.ts';
import { createBook } from './render/book.ts';
import { createBookRows, KEPT_BOOK_ROWS } from './render/book-rows.ts';
import { createEventRows } from './render/event-rows.ts';
import { metadataJson } from './render/metadata.ts';
import { createRenderings } from './render/renderings.ts';
import type { Asked } from './route.ts';
import { v3Routes } from './routes.ts';

export interface V3Options {
  source: ChainSource;
  liteservers: Liteservers;
  contracts: Contracts;
  states: StateSource;
  /** External messages that were sent; none are known by default. */
  sent?: SentMessages;
  /** What becomes of sent messages before it is final; nothing by default. */
  pending?: PendingStore;
  /** Hears of the accounts that answers mention; nobody does by default. */
  mentions?: Mentions;
  limits: ApiLimits;
  /** Whether user-friendly addresses carry the test flag. */
  testnet: () => boolean;
  metrics: Registry;
  /** Bytes of rendered transactions to keep; a quarter as many, beside them, of transfers and burns. */
  keptRenderings: number;
  /** Operations besides those of TON Center, behind them. */
  moreRoutes?: readonly Route<Asker>[];
}

/** Beside the room for rendered transactions there is one part in so many of it for transfers and burns. */
const EVENTS_SHARE = 4;

/** The service whose contract this is says 1.2.0, the version of its data schema, when it does not know better. */
const VERSION = '1.2.0';

const DOCUMENT: Api['document'] = {
  title: 'tonstream',
  description: 'Blocks, transactions, messages and accounts of a TON network.',
  headers: [
    { name: 'X-Timeout', type: 'integer', description: 'Milliseconds for each query of the request.' },
    { name: 'X-No-Address-Book', type: 'boolean', description: 'Leave the address book empty.' },
    {
      name: 'X-Actions-Version',
      type: 'string',
      description: 'A shortcut or an action type, in place of `supported_action_types`.',
    },
    { name: 'X-No-Metadata', type: 'boolean', description: 'Leave the metadata empty.' },
  ],
  failures: {
    404: 'Not indexed.',
    413: 'The body is too large.',
    422: 'A parameter cannot be read or breaks a rule.',
    429: 'Too many queries at once: try again after the seconds in `Retry-After`.',
    500: 'The service failed.',
    503: 'The newest step is being written: try again after the seconds in `Retry-After`.',
    504: 'No liteserver answered in time.',
  },
};

/** Operations that ask a node are known to fail so where there is none. */
const FORM: Form = {
  ...PLAIN_FORM,
  failure(error) {
    if (!(error instanceof NoNetworkError)) return nodeFailure(error);
    return { status: 500, text: `ton-http-api endpoint is not specified: ${error.message}`, internal: false };
  },
};

/** What a request may use, of the v3 API and of those that show things as it does. */
export type AskedBy = (asker: Asker) => Asked;

export function createAsked(options: V3Options): AskedBy {
  const {
    source,
    states,
    liteservers,
    contracts,
    sent = noSentMessages,
    pending = createPendingStore(),
    mentions = noMentions,
    testnet,
    metrics,
    keptRenderings,
  } = options;
  const renderings = createRenderings({ maxBytes: keptRenderings });
  const eventRows = createEventRows(Math.floor(keptRenderings / EVENTS_SHARE));
  const bookRows = createBookRows(KEPT_BOOK_ROWS);
  watchRenderings(metrics, { renderings, eventRows, bookRows });

  async function described(accounts: Address[], context: QueryContext): Promise<readonly BookRecord[]> {
    const records = await source.book(accounts, context);
    mentions.note(records);
    return records;
  }

  return ({ context, switches: { noAddressBook, noMetadata, actionsVersion } }) => {
    const testOnly = testnet();
    const book = createBook(testOnly, bookRows);
    let records: Promise<readonly BookRecord[]> | null = null;
    // The book and the metadata of an answer are of the same addresses: they are asked for once.
    const noted = (): Promise<readonly BookRecord[]> => {
      const accounts = book.addresses();
      records ??= accounts.length === 0 ? Promise.resolve([]) : described(accounts, context);
      return records;
    };
    const bookJson = async (known?: readonly BookRecord[]): Promise<string> =>
      book.json(known ?? (await noted()), source.contracts.domainOf);
    return {
      source,
      states,
      liteservers,
      contracts,
      sent,
      pending,
      context,
      testOnly,
      book,
      renderings,
      eventRows,
      actionsVersion,
      addressBook: async (known) => (noAddressBook ? '{}' : bookJson(known)),
      filledAddressBook: () => bookJson(),
      metadata: async (known, also) =>
        noMetadata ? '{}' : metadataJson(known ?? (await noted()), source.contracts, context, also),
    };
  };
}

export function v3Api({ limits, moreRoutes = [] }: V3Options, asked: AskedBy): Api {
  return {
    base: '/api/v3',
    version: VERSION,
    document: DOCUMENT,
    form: FORM,
    routes: [...v3Routes(limits).map((route) => bind(route, asked)), ...moreRoutes],
  };
}
