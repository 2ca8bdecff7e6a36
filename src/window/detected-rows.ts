/** Rows of contracts of a kind as the window keeps them: all columns in RowBinary, as the published step has them. */
import { RowReader, RowWriter } from '../../clickhouse/rowbinary.ts';
import { jettonMasters, jettonWallets } from '../../clickhouse/tables/jettons.ts';
import { dnsRecords, nftCollections, nftItems } from '../../clickhouse/tables/nfts.ts';
import { nftAuctions, nftSales } from '../../clickhouse/tables/sales.ts';
import type { Columns, RowOf, StepRows, TableOf, TableWith } from '../../clickhouse/tables/table.ts';
import type { Address } from '../chain/model.ts';
import { encodeRow } from './kind.ts';
import {
  auctionKind,
  collectionKind,
  type DetectedKind,
  itemKind,
  masterKind,
  nameKey,
  type OwnedKind,
  recordKind,
  saleKind,
  walletKind,
} from './kinds.ts';
import { type TokenRows, tokenRows } from './token-rows.ts';

const CHUNK_BYTES = 16 * 1024;
const writer = new RowWriter(CHUNK_BYTES);

/** In memory of its own. */
export function packDetected<R extends object>(table: TableWith<R>, row: R): Buffer {
  if (!table.carried) throw new Error(`rows of ${table.name} are not published`);
  table.carried.write(writer, row);
  const parts = writer.take();
  const packed = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) at += part.copy(packed, at);
  return packed;
}

export function unpackDetected<R extends object>(table: TableWith<R>, packed: Buffer, mcSeqno: number): R {
  if (!table.carried) throw new Error(`rows of ${table.name} are not published`);
  const step: StepRows = { mcSeqno, tables: [], of: () => [] };
  return table.carried.read(new RowReader(packed), step, 0);
}

interface Found {
  address: Address;
  mcSeqno: number;
}

function detected<C extends Columns, R extends RowOf<C> & Found>(kind: DetectedKind, table: TableOf<C, R>): TokenRows {
  return tokenRows(kind, table, (row) => {
    const { address, mcSeqno } = row;
    return encodeRow(kind, { address, mcSeqno }, [packDetected(table, row)]);
  });
}

function owned<C extends Columns, R extends RowOf<C> & Found>(
  kind: OwnedKind,
  table: TableOf<C, R>,
  ownerOf: (row: R) => Address | null,
): TokenRows {
  return tokenRows(kind, table, (row) => {
    const { address, mcSeqno } = row;
    return encodeRow(kind, { address, mcSeqno, owner: ownerOf(row) }, [packDetected(table, row)]);
  });
}

const records: TokenRows = tokenRows(recordKind, dnsRecords, (row) => {
  const { address, mcSeqno, dnsWallet: wallet, domain } = row;
  return encodeRow(recordKind, { address, mcSeqno, wallet, domain: nameKey(domain) }, [packDetected(dnsRecords, row)]);
});

export const DETECTED: readonly TokenRows[] = [
  detected(masterKind, jettonMasters),
  owned(walletKind, jettonWallets, ({ owner }) => owner),
  detected(collectionKind, nftCollections),
  owned(itemKind, nftItems, ({ ownerAddress }) => ownerAddress),
  detected(saleKind, nftSales),
  detected(auctionKind, nftAuctions),
  records,
];
