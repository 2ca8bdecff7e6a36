/** The rows of token events. */
import { jettonBurns, jettonTransfers } from '../../clickhouse/tables/jettons.ts';
import { nftTransfers } from '../../clickhouse/tables/nfts.ts';
import type { Columns, RowOf, TableOf } from '../../clickhouse/tables/table.ts';
import { distinct } from '../chain/hash.ts';
import type { Address, Decimal, Hash } from '../chain/model.ts';
import { encodeListing } from './kind.ts';
import { burnKind, type EventKind, itemTransferKind, transferKind } from './kinds.ts';
import { type TokenRows, tokenRows } from './token-rows.ts';

/** What tables of events have in common. */
interface Timed {
  mcSeqno: number;
  transactionLt: Decimal;
  transactionNow: number;
  transactionHash: Hash | null;
}

interface Parties {
  contract: Address;
  token: Address | null;
  sender: Address | null;
  receiver: Address | null;
}

function events<C extends Columns, R extends RowOf<C> & Timed>(
  kind: EventKind,
  table: TableOf<C, R>,
  partiesOf: (row: R) => Parties | null,
): TokenRows {
  return tokenRows(kind, table, (row, hashOf) => {
    const parties = partiesOf(row);
    if (parties === null) return null;
    const { transactionLt, transactionNow } = row;
    const owners = distinct([parties.sender, parties.receiver].filter((one) => one !== null));
    const hash = row.transactionHash ?? hashOf(parties.contract, transactionLt);
    return encodeListing(kind, { ...parties, transactionLt, transactionNow, hash }, owners);
  });
}

export const EVENTS: readonly TokenRows[] = [
  // Those that were aborted are shown to nobody.
  events(transferKind, jettonTransfers, (row) =>
    row.transactionAborted
      ? null
      : { contract: row.sourceWallet, token: row.jettonMaster, sender: row.source, receiver: row.destination },
  ),
  events(burnKind, jettonBurns, ({ jettonWallet: contract, jettonMaster: token, owner: sender }) => ({
    contract,
    token,
    sender,
    receiver: null,
  })),
  events(itemTransferKind, nftTransfers, (row) => ({
    contract: row.nftAddress,
    token: row.nftCollection,
    sender: row.oldOwner,
    receiver: row.newOwner,
  })),
];
