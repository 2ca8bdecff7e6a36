/** What verified wallets and items were told to do (spec v3 semantics 6.3). */
import { jettonBurns, jettonTransfers } from '../../../clickhouse/tables/jettons.ts';
import { nftTransfers } from '../../../clickhouse/tables/nfts.ts';
import { type TransactionRow, transactions } from '../../../clickhouse/tables/transactions.ts';
import { DecodeError } from '../../../src/chain/errors.ts';
import { CellView } from '../../../src/chain/layouts/cell-view.ts';
import { jettonBurn, jettonTransfer } from '../../../src/chain/layouts/jettons.ts';
import { nftTransfer } from '../../../src/chain/layouts/nfts.ts';
import type { GrowingRows } from '../step-rows.ts';
import type { KnownRow } from './kinds.ts';
import type { KnownRows } from './known.ts';

type Event = (row: TransactionRow, body: CellView, known: KnownRow, rows: GrowingRows) => void;

const placeOf = ({ lt, now, mcSeqno, aborted }: TransactionRow) => ({
  transactionLt: lt,
  mcSeqno,
  transactionNow: now,
  transactionAborted: aborted,
});

const EVENTS = new Map<number, { kind: string; write: Event }>([
  [
    jettonTransfer.opcode,
    {
      kind: 'jetton_wallet',
      write(row, body, { tie }, rows) {
        const transfer = jettonTransfer.in(body);
        if (transfer === null || !tie?.of) return;
        rows.add(jettonTransfers, {
          ...placeOf(row),
          sourceWallet: row.account,
          source: row.transaction.inMsg?.source ?? null,
          destination: transfer.destination,
          jettonMaster: tie.of,
          amount: transfer.amount,
        });
      },
    },
  ],
  [
    jettonBurn.opcode,
    {
      kind: 'jetton_wallet',
      write(row, body, { tie }, rows) {
        const burn = jettonBurn.in(body);
        if (burn === null || !tie?.of) return;
        rows.add(jettonBurns, {
          ...placeOf(row),
          jettonWallet: row.account,
          owner: row.transaction.inMsg?.source ?? null,
          jettonMaster: tie.of,
          amount: burn.amount,
        });
      },
    },
  ],
  [
    nftTransfer.opcode,
    {
      kind: 'nft_item',
      write(row, body, { tie }, rows) {
        const transfer = nftTransfer.in(body);
        if (transfer === null) return;
        rows.add(nftTransfers, {
          ...placeOf(row),
          nftAddress: row.account,
          nftCollection: tie?.of ?? null,
          oldOwner: row.transaction.inMsg?.source ?? null,
          newOwner: transfer.new_owner,
        });
      },
    },
  ],
]);

/** Transactions that may be events, with the kind their account must be of. */
export function* possibleEvents(rows: GrowingRows): Generator<{ row: TransactionRow; kind: string }> {
  for (const row of rows.of(transactions)) {
    const event = row.inOpcode === null ? undefined : EVENTS.get(row.inOpcode);
    if (event) yield { row, kind: event.kind };
  }
}

/** Writes the events of a step whose account is verified as of its end. A body that does not parse is none. */
export function writeEvents(rows: GrowingRows, known: KnownRows): void {
  for (const { row, kind } of possibleEvents(rows)) {
    const body = row.transaction.inMsg?.bodyBoc();
    const found = known.get(kind, row.account);
    if (!body || found === null || row.inOpcode === null) continue;
    try {
      EVENTS.get(row.inOpcode)?.write(row, CellView.parse(body), found, rows);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
}
