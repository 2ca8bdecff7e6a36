import { z } from 'zod';
import { compareDecimal } from '../../chain/decimal.ts';
import { traceRecord } from '../../pending/records.ts';
import { supportedTypesOf } from './actions.ts';
import { address, hashes, supportedTypes } from './parameters.ts';
import { notStored, pendingOf, pendingTraceJson, pendingTransactions } from './pending.ts';
import { joinRows } from './render/rows.ts';
import { type Route, route } from './route.ts';
import { traces } from './schemas.ts';

export function pendingTracesRoute(): Route {
  return route({
    path: '/pendingTraces',
    tag: 'actions',
    summary: 'Traces that are not complete yet: emulated, in part or as a whole',
    parameters: z.object({
      account: address('Account of a transaction of the trace; wins over `ext_msg_hash`.'),
      ext_msg_hash: hashes('Hashes or normalized hashes of the messages that begin the traces.'),
      supported_action_types: supportedTypes(),
    }),
    response: traces,
    live: true,
    async answer({ account, ext_msg_hash: messages, supported_action_types: names }, asked) {
      const { addressBook, metadata } = asked;
      const known = supportedTypesOf(names, asked);
      const found = (await notStored(await pendingOf(account, messages, asked), asked))
        .map((one) => ({ one, record: traceRecord(one) }))
        .sort(
          (a, b) =>
            compareDecimal(b.record.endLt, a.record.endLt) ||
            a.one.trace.externalHash.compare(b.one.trace.externalHash),
        );
      const list = found.map(({ one }) => pendingTraceJson(one, known, asked, pendingTransactions(one)));
      return joinRows('{"traces":[', list, `],"address_book":${await addressBook()},"metadata":${await metadata()}}`);
    },
  });
}
