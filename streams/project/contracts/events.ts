/** What verified wallets and items were told to do (spec v3 semantics 6.3). */
import { jettonBurns, jettonTransfers } from '../../../clickhouse/tables/jettons.ts';
import { nftTransfers } from '../../../clickhouse/tables/nfts.ts';
import { type TransactionRow, transactions } from '../../../clickhouse/tables/transactions.ts';
import { DecodeError } from '../../../src/chain/errors.ts';
import { CellView } from '../../../src/chain/layouts/cell-view.ts';
import { jettonBurn, jettonTransfer } from '../../../src/chain/layouts/jettons.ts';
import { nftTransfer } from '../../../src/chain/layouts/nfts.ts';
import type { Hash, Transaction } from '../../../src/chain/model.ts';
import type { GrowingRows } from '../step-rows.ts';
import type { KnownRow } from './kinds.ts';
import type { KnownRows } from './known.ts';

/** Where a row stands. */
interface Place {
  transactionLt: string;
  mcSeqno: number;
  transactionNow: number;
  transactionAborted: boolean;
  transactionHash: Hash | null;
}

/** Writes the row, where the body is such; whether it was. */
type Event = (transaction: Transaction, place: Place, body: CellView, known: KnownRow, rows: GrowingRows) => boolean;

const EVENTS = new Map<number, { kind: string; write: Event }>([
  [
    jettonTransfer.opcode,
    {
      kind: 'jetton_wallet',
      write({ account, inMsg }, place, body, { tie }, rows) {
        const transfer = jettonTransfer.in(body);
        if (transfer === null || !tie?.of) return false;
        rows.add(jettonTransfers, {
          ...place,
          sourceWallet: account,
          source: inMsg?.source ?? null,
          destination: transfer.destination,
          jettonMaster: tie.of,
          amount: transfer.amount,
        });
        return true;
      },
    },
  ],
  [
    jettonBurn.opcode,
    {
      kind: 'jetton_wallet',
      write({ account, inMsg }, place, body, { tie }, rows) {
        const burn = jettonBurn.in(body);
        if (burn === null || !tie?.of) return false;
        rows.add(jettonBurns, {
          ...place,
          jettonWallet: account,
          owner: inMsg?.source ?? null,
          jettonMaster: tie.of,
          amount: burn.amount,
        });
        return true;
      },
    },
  ],
  [
    nftTransfer.opcode,
    {
      kind: 'nft_item',
      write({ account, inMsg }, place, body, { tie }, rows) {
        const transfer = nftTransfer.in(body);
        if (transfer === null) return false;
        rows.add(nftTransfers, {
          ...place,
          nftAddress: account,
          nftCollection: tie?.of ?? null,
          oldOwner: inMsg?.source ?? null,
          newOwner: transfer.new_owner,
        });
        return true;
      },
    },
  ],
]);

/** What accounts are told that may be an event, and the kinds of contracts that have events. */
export const OPCODES: readonly number[] = [...EVENTS.keys()];
export const TELLING: ReadonlySet<string> = new Set([...EVENTS.values()].map(({ kind }) => kind));

/** The kind that an account must be of which is told this; null where it is no event whatever it is. */
export function kindOfEvent({ inMsg }: Transaction): string | null {
  const opcode = inMsg?.opcode ?? null;
  return (opcode === null ? undefined : EVENTS.get(opcode)?.kind) ?? null;
}

/** Transactions that may be events, with the kind their account must be of. */
export function* possibleEvents(rows: GrowingRows): Generator<{ row: TransactionRow; kind: string }> {
  for (const row of rows.of(transactions)) {
    const event = row.inOpcode === null ? undefined : EVENTS.get(row.inOpcode);
    if (event) yield { row, kind: event.kind };
  }
}

/** Writes the events of a step whose account is verified as of its end. */
export function writeEvents(rows: GrowingRows, known: KnownRows): void {
  for (const { row } of possibleEvents(rows)) writeEvent(rows, row.transaction, known);
}

/**
 * Writes what an account was told, if it is verified. A body that does not parse is no event.
 * @param isLate whether the transaction is of an earlier step
 * @returns whether there is a row of it
 */
export function writeEvent(rows: GrowingRows, transaction: Transaction, known: KnownRows, isLate = false): boolean {
  const { account, inMsg, lt, now, hash, description } = transaction;
  const event = inMsg?.opcode == null ? undefined : EVENTS.get(inMsg.opcode);
  const body = inMsg?.bodyBoc();
  const found = event ? known.get(event.kind, account) : null;
  if (!event || !body || found === null) return false;
  const place = {
    transactionLt: lt,
    mcSeqno: rows.mcSeqno,
    transactionNow: now,
    transactionAborted: description.aborted ?? false,
    transactionHash: isLate ? hash : null,
  };
  try {
    return event.write(transaction, place, CellView.parse(body), found, rows);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return false;
  }
}
