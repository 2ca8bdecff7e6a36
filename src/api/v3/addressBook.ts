import { z } from 'zod';
import { parseAddress, rawAddress } from '../../chain/address.ts';
import type { Address } from '../../chain/model.ts';
import type { BookRecord } from '../../chain/records.ts';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { texts } from './parameters.ts';
import { bookRow, UNREADABLE_ROW } from './render/book-rows.ts';
import { type Route, route } from './route.ts';
import { addressBook } from './schemas.ts';

export function addressBookRoute(limits: ApiLimits): Route {
  return route({
    path: '/addressBook',
    tag: 'accounts',
    summary: 'User-friendly form, domain and interfaces of addresses, by the spelling asked for',
    parameters: z.object({ address: texts('Addresses in any spelling.', limits.maxAddresses) }),
    response: addressBook,
    async answer(p, { source, context, testOnly }) {
      if (p.address.length === 0) throw new ApiError(422, 'at least 1 address required');
      const spellings = new Map(p.address.map((spelling) => [spelling, parseAddress(spelling)]));
      const accounts = new Map<string, Address>();
      for (const address of spellings.values()) if (address !== null) accounts.set(rawAddress(address), address);
      const records = accounts.size === 0 ? [] : await source.book([...accounts.values()], context);
      const rowOfRecord = (record: BookRecord) => bookRow(record, source.contracts.domainOf(record.account), testOnly);
      const rows = new Map(records.map((record) => [rawAddress(record.account), rowOfRecord(record)]));
      const rowOf = (address: Address | null) =>
        address === null
          ? UNREADABLE_ROW
          : (rows.get(rawAddress(address)) ?? rowOfRecord({ account: address, codeHash: null, methods: null }));
      const lines = [...spellings.keys()]
        .sort()
        .map((spelling) => `${JSON.stringify(spelling)}:${rowOf(spellings.get(spelling) ?? null)}`);
      return `{${lines.join(',')}}`;
    },
  });
}
