/** The rows of token events that a step brings into the window. */
import { jettonBurns, jettonTransfers } from '../../clickhouse/tables/jettons.ts';
import { nftTransfers } from '../../clickhouse/tables/nfts.ts';
import type { StepRows } from '../../clickhouse/tables/table.ts';
import { transactions } from '../../clickhouse/tables/transactions.ts';
import { distinct, hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import { encodeListing } from './kind.ts';
import { burnKind, type EventKind, itemTransferKind, transferKind } from './kinds.ts';

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
  const hashes = new Map(rows.of(transactions).map(({ account, lt, hash }) => [`${hashKey(account)}${lt}`, hash]));
  const add = (kind: EventKind, row: EventRow): void => {
    const hash = hashes.get(`${hashKey(row.contract)}${row.transactionLt}`);
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
