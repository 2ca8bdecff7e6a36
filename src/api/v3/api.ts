/** The indexed API of TON Center: rows of the tables, each answer with the book of its addresses. */
import type { Registry } from 'prom-client';
import type { BookRecord, ChainSource } from '../../chain/records.ts';
import { watchRenderings } from '../api-metrics.ts';
import { PLAIN_FORM } from '../form.ts';
import type { ApiLimits } from '../limits.ts';
import { type Api, type Asker, bind } from '../route.ts';
import { createBook } from './render/book.ts';
import { createBookRows, KEPT_BOOK_ROWS } from './render/book-rows.ts';
import { createRenderings } from './render/renderings.ts';
import type { Asked } from './route.ts';
import { v3Routes } from './routes.ts';

export interface V3Options {
  source: ChainSource;
  limits: ApiLimits;
  /** Whether user-friendly addresses carry the test flag. */
  testnet: () => boolean;
  metrics: Registry;
  /** Bytes of rendered transactions to keep. */
  keptRenderings: number;
}

/** The service whose contract this is says 1.2.0, the version of its data schema, when it does not know better. */
const VERSION = '1.2.0';

const DOCUMENT: Api['document'] = {
  title: 'tonstream',
  description: 'Blocks, transactions, messages and accounts of a TON network.',
  headers: [
    { name: 'X-Timeout', type: 'integer', description: 'Milliseconds for each query of the request.' },
    { name: 'X-No-Address-Book', type: 'boolean', description: 'Leave the address book empty.' },
    { name: 'X-No-Metadata', type: 'boolean', description: 'Leave the metadata empty.' },
  ],
  failures: {
    404: 'Not indexed.',
    422: 'A parameter cannot be read or breaks a rule.',
    429: 'Too many queries at once: try again after the seconds in `Retry-After`.',
    500: 'The service failed.',
    503: 'The newest step is being written: try again after the seconds in `Retry-After`.',
  },
};

export function v3Api({ source, limits, testnet, metrics, keptRenderings }: V3Options): Api {
  const renderings = createRenderings({ maxBytes: keptRenderings });
  const bookRows = createBookRows(KEPT_BOOK_ROWS);
  watchRenderings(metrics, { renderings, bookRows });

  function asked({ context, switches: { noAddressBook } }: Asker): Asked {
    const testOnly = testnet();
    const book = createBook(testOnly, bookRows);
    const addressBook = async (known?: readonly BookRecord[]): Promise<string> => {
      if (known !== undefined) return noAddressBook ? '{}' : book.json(known);
      const accounts = noAddressBook ? [] : book.addresses();
      return accounts.length === 0 ? '{}' : book.json(await source.book(accounts, context));
    };
    return { source, context, testOnly, book, renderings, addressBook };
  }

  return {
    base: '/api/v3',
    version: VERSION,
    document: DOCUMENT,
    form: PLAIN_FORM,
    routes: v3Routes(limits).map((route) => bind(route, asked)),
  };
}
