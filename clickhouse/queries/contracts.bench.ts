/**
 * Lists of one jetton's wallets, of one collection's items and of the transfers of one jetton, half of them by one owner,
 * a million of each, made up, in an embedded server: p50 of one client, and CPU time of the server and of this process.
 * Run by `npm run bench:contracts`; BENCH_CONTRACTS sets another number.
 */
import { z } from 'zod';
import type { EventFilter, JettonWalletFilter, NftItemFilter } from '../../src/chain/contract-records.ts';
import type { Address } from '../../src/chain/model.ts';
import { benchListings, context, type Listings, line } from '../../test/listing-bench.ts';
import { ADDRESS, insertWallets, PARENT, STATE, STATE_COLUMNS } from '../../test/made-wallets.ts';
import { ITEMS, WALLETS } from '../../test/token-filters.ts';
import type { ClickHouse } from '../client.ts';
import { bytes } from '../literal.ts';
import { RowReader } from '../rowbinary.ts';
import { contractQueries } from './contracts.ts';

const COUNT = Number(process.env.BENCH_CONTRACTS ?? 1_000_000);
const DEEP = COUNT / 10;
const ROUNDS = 15;
const LAST = 10;

await benchListings({ fill, lastStep: LAST, rounds: ROUNDS }, measure);

async function fill(clickhouse: ClickHouse): Promise<void> {
  const parent = bytes(PARENT);
  await insertWallets(clickhouse, COUNT);
  await clickhouse.command(
    `INSERT INTO nft_items (${STATE_COLUMNS}, init, nft_index, collection_address, owner_address, content)
     SELECT ${STATE}, true, toUInt256(number), ${parent}, ${ADDRESS}, '{}' FROM numbers(${COUNT})`,
  );
  await clickhouse.command(
    `INSERT INTO jetton_transfers (transaction_lt, source_wallet, mc_seqno, transaction_now, source, destination, jetton_master, amount)
     SELECT 1000 + 10 * number, ${ADDRESS}, 5, 1000 + number, if(number % 2 = 0, ${parent}, ${ADDRESS}),
       if(number % 2 = 0, ${ADDRESS}, ${parent}), ${parent}, 1 FROM numbers(${COUNT})`,
  );
  line(`${COUNT.toLocaleString('en')} wallets and transfers of a jetton and items of a collection`);
}

/** One in the middle. */
async function sample(clickhouse: ClickHouse): Promise<{ address: Address; balance: string }> {
  const sql = `SELECT address, balance FROM jetton_wallets FINAL WHERE id = ${COUNT / 2}`;
  const row = new RowReader(await clickhouse.query(sql, { label: 'a wallet', ...context }));
  return { address: row.fixed(36), balance: row.i256() };
}

/** What each takes on the disk in its own tables: with different owners and data, and one jetton or collection. */
async function tellSizes(clickhouse: ClickHouse): Promise<void> {
  for (const [what, tables] of [
    ['a wallet', '^jetton_(wallets|holders)'],
    ['an item', '^nft_items'],
    ['a transfer', '^jetton_transfers'],
  ]) {
    const [{ bytes: all }] = await clickhouse.json(
      `SELECT sum(bytes_on_disk) AS bytes FROM system.parts
       WHERE active AND database = currentDatabase() AND match(table, '${tables}')`,
      z.object({ bytes: z.coerce.number() }),
    );
    line(`${what} takes ${(all / COUNT).toFixed(0)} bytes on the disk`);
  }
}

async function measure({ clickhouse, reading, tell }: Listings): Promise<void> {
  await tellSizes(clickhouse);
  const source = contractQueries(reading, async () => []);
  const { address, balance } = await sample(clickhouse);
  const page = { limit: 100, offset: 0 };
  const deep = { limit: 100, offset: DEEP };
  const wallets = { ...WALLETS, page };
  const holders: JettonWalletFilter = { ...wallets, jettons: [PARENT], byBalance: 'desc' };
  const items = { ...ITEMS, page };
  const ofWallets: [string, JettonWalletFilter][] = [
    ['wallets of an owner', { ...wallets, owners: [address] }],
    ['wallets of a jetton', { ...wallets, jettons: [PARENT] }],
    [`wallets of a jetton at offset ${DEEP}`, { ...wallets, jettons: [PARENT], page: deep }],
    ['wallets of a jetton that have something', { ...wallets, jettons: [PARENT], excludeZeroBalance: true }],
    ['holders', holders],
    ['holders at offset 10,000', { ...holders, page: { limit: 100, offset: 10_000 } }],
    [`holders at offset ${DEEP}`, { ...holders, page: deep }],
    ['holders behind a cursor', { ...holders, behind: { balance, address } }],
  ];
  const ofItems: [string, NftItemFilter][] = [
    ['items of an owner', { ...items, owners: [address] }],
    ['items of a collection', { ...items, collections: [PARENT] }],
    [`items of a collection at offset ${DEEP}`, { ...items, collections: [PARENT], page: deep }],
    ['items of a collection by their last transaction', { ...items, collections: [PARENT], byLastTransaction: true }],
  ];
  const transfers: EventFilter = { owners: [], contracts: [], utime: {}, ltWindow: {}, sort: 'desc', page };
  const ofTransfers: [string, EventFilter][] = [
    ['transfers of a jetton', { ...transfers, token: PARENT }],
    [`transfers of a jetton at offset ${DEEP}`, { ...transfers, token: PARENT, page: deep }],
    ['transfers of an owner, sent and received', { ...transfers, owners: [PARENT] }],
    [`transfers of an owner at offset ${DEEP}`, { ...transfers, owners: [PARENT], page: deep }],
    ['transfers of an owner up to a time', { ...transfers, owners: [PARENT], utime: { end: COUNT / 2 } }],
  ];
  for (const [name, filter] of ofWallets) await tell(name, () => source.jettonWallets(filter, context));
  for (const [name, filter] of ofItems) await tell(name, () => source.nftItems(filter, context));
  for (const [name, filter] of ofTransfers) await tell(name, () => source.jettonTransfers(filter, context));
}
