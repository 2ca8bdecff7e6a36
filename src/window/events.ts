import type { EventFilter, TokenEvent } from '../chain/contract-records.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { TracePlace } from '../chain/records.ts';
import type { Candidate } from './candidate.ts';
import { burnKind, type EventKind, itemTransferKind, transferKind } from './kinds.ts';
import { listPage, WHOLE } from './listing.ts';
import { transactionOf } from './rows.ts';
import type { Selection } from './select.ts';
import type { Sides } from './sides.ts';
import { transactionsAt } from './transactions.ts';

const CLOCKS = { transactionLt: 'lt', transactionNow: 'utime' } as const;

const QUESTIONS = {
  jettonTransfers: transferKind,
  jettonBurns: burnKind,
  nftTransfers: itemTransferKind,
} as const;

export type Question = keyof typeof QUESTIONS;

/** An event of the window: its transaction is read with those of the page. */
interface Held {
  place: TracePlace;
  token: Address | null;
}

export async function events(question: Question, filter: EventFilter, sides: Sides): Promise<TokenEvent[]> {
  const { view, below, whole, context } = sides;
  const kind = QUESTIONS[question];
  const byTime = filter.utime.start !== undefined || filter.utime.end !== undefined;
  const found = await listPage<Held | TokenEvent>(view, {
    kind,
    selection: selectionOf(filter, byTime, kind === burnKind),
    clocks: CLOCKS,
    page: filter.page,
    load: (row) => heldEvent(kind, row),
    // Compared are rows of the tables alone.
    valuesOf: (event) => (isHeld(event) ? [] : valuesOf(event, byTime)),
    fetch: (page) => below.events[question]({ ...filter, page }, context),
  });
  if (found === WHOLE) return whole.events[question](filter, context);
  const read = await transactionsAt(
    found.filter(isHeld).map(({ place }) => place),
    sides,
    (_, { id, row }) => transactionOf(id, row),
  );
  const keyOf = ({ account, lt }: Pick<TracePlace, 'account' | 'lt'>): string => `${hashKey(account)}${lt}`;
  const byPlace = new Map(read.map((record) => [keyOf(record.transaction), record]));
  return found.flatMap((event) => {
    if (!isHeld(event)) return event;
    const transaction = byPlace.get(keyOf(event.place));
    return transaction ? { transaction, token: event.token } : [];
  });
}

const isHeld = (event: Held | TokenEvent): event is Held => 'place' in event;

function heldEvent(kind: EventKind, row: Candidate): Held {
  const place = {
    account: row.value(kind, 'contract'),
    lt: row.value(kind, 'transactionLt'),
    mcSeqno: row.mcSeqno,
    // One that is told late may be of any step before, also below the window.
    since: 0,
  };
  return { place, token: row.value(kind, 'token') };
}

function valuesOf({ transaction: { transaction } }: TokenEvent, byTime: boolean): [...number[], string, Hash] {
  const { now, lt, hash } = transaction;
  return byTime ? [now, lt, hash] : [lt, hash];
}

/** @param oneSided what has but one owner passes whatever side is asked for */
function selectionOf(filter: EventFilter, byTime: boolean, oneSided: boolean): Selection {
  const { owners, direction, contracts, token, utime, ltWindow, sort, behind } = filter;
  const side = oneSided || owners.length === 0 ? undefined : direction;
  const time = byTime ? [{ column: 'transactionNow', sort }] : [];
  return {
    where: [
      { column: 'transactionLt', from: ltWindow.start, to: ltWindow.end },
      { column: 'transactionNow', from: utime.start, to: utime.end },
      ...(owners.length > 0 ? [{ column: 'owner', in: owners }] : []),
      ...(side === undefined ? [] : [{ column: side === 'out' ? 'sender' : 'receiver', in: owners }]),
      ...(contracts.length > 0 ? [{ column: 'contract', in: contracts }] : []),
      ...(token === undefined ? [] : [{ column: 'token', is: token }]),
    ],
    order: [...time, { column: 'transactionLt', sort }, { column: 'hash', sort }],
    after: behind ? [...(byTime ? [behind.utime] : []), behind.lt, behind.hash] : null,
  };
}
