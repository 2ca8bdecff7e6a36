/** Transfers and burns of tokens. */
import { jettonBurns, jettonTransfers } from '../../clickhouse/tables/jettons.ts';
import { nftTransfers } from '../../clickhouse/tables/nfts.ts';
import type { StepRows } from '../../clickhouse/tables/table.ts';
import { transactions } from '../../clickhouse/tables/transactions.ts';
import type { EventFilter, TokenEvent } from '../chain/contract-records.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { TracePlace } from '../chain/records.ts';
import { encodeListing } from './kind.ts';
import { burnKind, type eventKind, itemTransferKind, transferKind } from './kinds.ts';
import { listPage, WHOLE } from './listing.ts';
import type { Candidate, Selection } from './select.ts';
import { distinct, type Sides, text } from './sides.ts';
import { transactionsAt } from './transactions.ts';

type EventKind = ReturnType<typeof eventKind>;

const CLOCKS = { transactionLt: 'lt', transactionNow: 'utime' } as const;

interface EventRow {
  transactionLt: string;
  transactionNow: number;
  contract: Address;
  token: Address | null;
  sender: Address | null;
  receiver: Address | null;
}

/** Takes each event of a step with its kind. Transfers of jettons that were aborted are shown to nobody. */
export function eventRows(rows: StepRows, write: (kind: EventKind, row: Buffer) => void): void {
  const hashes = new Map(rows.of(transactions).map(({ account, lt, hash }) => [`${text(account)}${lt}`, hash]));
  const add = (kind: EventKind, row: EventRow): void => {
    const hash = hashes.get(`${text(row.contract)}${row.transactionLt}`);
    if (!hash) throw new Error(`step ${rows.mcSeqno} has no transaction ${row.transactionLt} of an event`);
    const owners = distinct([row.sender, row.receiver].filter((one) => one !== null));
    write(kind, encodeListing(kind, { ...row, hash }, owners));
  };
  for (const row of rows.of(jettonTransfers)) {
    if (row.transactionAborted) continue;
    const { sourceWallet: contract, jettonMaster: token, source: sender, destination: receiver } = row;
    add(transferKind, { ...timesOf(row), contract, token, sender, receiver });
  }
  for (const row of rows.of(jettonBurns)) {
    const { jettonWallet: contract, jettonMaster: token, owner: sender } = row;
    add(burnKind, { ...timesOf(row), contract, token, sender, receiver: null });
  }
  for (const row of rows.of(nftTransfers)) {
    const { nftAddress: contract, nftCollection: token, oldOwner: sender, newOwner: receiver } = row;
    add(itemTransferKind, { ...timesOf(row), contract, token, sender, receiver });
  }
}

const timesOf = ({ transactionLt, transactionNow }: Pick<EventRow, 'transactionLt' | 'transactionNow'>) => ({
  transactionLt,
  transactionNow,
});

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
  const held = found.filter(isHeld);
  const read = await transactionsAt(
    held.map(({ place }) => place),
    sides,
  );
  const keyOf = ({ account, lt }: Pick<TracePlace, 'account' | 'lt'>): string => `${text(account)}${lt}`;
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
  };
  return { place, token: row.value(kind, 'token') };
}

function valuesOf({ transaction: { transaction } }: TokenEvent, byTime: boolean): [...number[], string, Hash] {
  const { now, lt, hash } = transaction;
  return byTime ? [now, lt, hash] : [lt, hash];
}

/** @param oneSided what has but one owner passes whatever side is asked for */
function selectionOf(filter: EventFilter, byTime: boolean, oneSided: boolean): Selection {
  const { owners, direction, contracts, token, utime, ltWindow, sort } = filter;
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
    after: null,
  };
}
