/** The requests of the API benchmark about tokens; none are drawn from a load without jettons. */
import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { makeCursor } from '../clickhouse/queries/keys.ts';
import { Builder, toBoc } from '../src/chain/builder.ts';
import { excess, textComment } from '../src/chain/layouts/common.ts';
import { type ApiCase, addressText, DRAWN, group } from './bench-cases.ts';

const API = '/api/v3';
const DEEP = 100_000;
const textRow = z.object({ text: z.string() });

export async function tokenCases(clickhouse: ClickHouse, seed: number): Promise<ApiCase[]> {
  const texts = async (sql: string): Promise<string[]> =>
    (await clickhouse.json(sql, textRow, { timeoutMs: 60_000 })).map(({ text }) => text);
  const drawn = (column: string, table: string, where = '1') =>
    texts(
      `SELECT DISTINCT ${addressText(`t.${column}`)} AS text FROM ${table} AS t FINAL WHERE ${where}
       ORDER BY cityHash64(text, ${seed}) LIMIT ${DRAWN}`,
    );
  const hasOwner = (column: string) => `t.${column} != toFixedString('', 36)`;
  const owners = await drawn('owner', 'jetton_wallets');
  const masters = await texts(
    `SELECT ${addressText('t.jetton')} AS text FROM jetton_wallets AS t GROUP BY t.jetton ORDER BY count() DESC LIMIT 1`,
  );
  const places = await texts(
    `SELECT concat(toString(balance), ' ', ${addressText('t.address')}) AS text FROM jetton_wallets AS t FINAL
     WHERE t.jetton = (SELECT jetton FROM jetton_wallets GROUP BY jetton ORDER BY count() DESC LIMIT 1)
     ORDER BY balance DESC, t.address DESC LIMIT 1 OFFSET (SELECT toUInt64(least(${DEEP}, count() / 2)) FROM jetton_wallets)`,
  );
  const wallets = await drawn('address', 'jetton_wallets');
  const items = await drawn('address', 'nft_items');
  const senders = await drawn('source', 'jetton_transfers', hasOwner('source'));
  const itemOwners = await drawn('owner_address', 'nft_items', hasOwner('owner_address'));
  const accounts = await texts(
    `SELECT ${addressText('a.account')} AS text FROM accounts AS a FINAL ORDER BY cityHash64(a.account, ${seed}) LIMIT 20000`,
  );
  const domains = await texts(
    `SELECT DISTINCT domain AS text FROM dns_records FINAL ORDER BY cityHash64(domain, ${seed}) LIMIT ${DRAWN}`,
  );
  const holders = (more: string): string[] =>
    masters.map((one) => `${API}/jetton/wallets?jetton_address=${one}&sort=desc&limit=100${more}`);
  const deep = places.flatMap((place) => holders(`&cursor=${makeCursor('balance', place.split(' '))}`));
  const cases: ApiCase[] = [
    {
      name: 'jetton wallets of an owner',
      reach: 2_000,
      paths: owners.map((one) => `${API}/jetton/wallets?owner_address=${one}`),
    },
    { name: 'jetton wallet by address', paths: wallets.map((one) => `${API}/jetton/wallets?address=${one}`) },
    { name: 'jetton master by address', paths: masters.map((one) => `${API}/jetton/masters?address=${one}`) },
    { name: 'NFT item by address', paths: items.map((one) => `${API}/nft/items?address=${one}`) },
    { name: 'holders by balance, 100', reach: 2_000, paths: holders('') },
    { name: 'holders by balance, deep, 100', reach: 2_000, paths: deep },
    {
      name: 'jetton transfers of a master, 100',
      reach: 1_500,
      paths: masters.map((one) => `${API}/jetton/transfers?jetton_master=${one}&limit=100`),
    },
    {
      name: 'jetton transfers of an owner, 100',
      reach: 1_500,
      paths: senders.map((one) => `${API}/jetton/transfers?owner_address=${one}&limit=100`),
    },
    {
      name: 'NFT items of an owner',
      reach: 1_500,
      paths: itemOwners.map((one) => `${API}/nft/items?owner_address=${one}`),
    },
    {
      name: 'wallet states of 1000 accounts',
      reach: 100,
      paths: group(accounts, 1000).map((some) => `${API}/walletStates?address=${some.join(',')}`),
    },
    { name: 'DNS by domain', paths: domains.map((one) => `${API}/dns/records?domain=${encodeURIComponent(one)}`) },
  ];
  return [...cases, { name: 'decode of 100 bodies', paths: [decodePath()] }].filter(({ paths }) => paths.length > 0);
}

/** Comments and excesses in turn: a URL has no room for longer ones. */
function decodePath(): string {
  const bodies = Array.from({ length: 100 }, (_, i) => {
    const builder = new Builder();
    if (i % 2 === 0) textComment.write(builder, { text: `Thanks ${i}` });
    else excess.write(builder, { query_id: String(i) });
    return toBoc(builder.cell(), { crc: false }).toString('hex');
  });
  return `${API}/decode?${bodies.map((body) => `bodies=${body}`).join('&')}`;
}
