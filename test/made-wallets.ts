/** Wallets of one jetton, made up, many of them, written into the tables: what benchmarks of holders read. */
import type { ClickHouse } from '../clickhouse/client.ts';
import { bytes } from '../clickhouse/literal.ts';
import { addressOf } from '../src/chain/address.ts';

/** The jetton; an owner, or a collection, of many where one is wanted. */
export const PARENT = addressOf(0, Buffer.alloc(32, 0x61));
const BASECHAIN = bytes(Buffer.from([0x80, 0, 0, 0]));
/** SQL: of the contract with a number. */
export const ADDRESS = `toFixedString(concat(${BASECHAIN}, SHA256(toString(number))), 36)`;
export const STATE_COLUMNS = 'address, id, mc_seqno, last_transaction_lt, code_hash, data_hash';
/** SQL: the values of these columns; some have the same lt, as accounts of different shards do. */
export const STATE = `${ADDRESS}, number, 5, 1000 + intHash64(number) % 10000000, SHA256('code'), SHA256(toString(number))`;
const BALANCE = 'toInt256(intHash64(number) % 1000000000000)';

/** A tenth of them has had another balance before. Each is its own owner. */
export async function insertWallets(clickhouse: ClickHouse, count: number): Promise<void> {
  const parent = bytes(PARENT);
  const moved = count / 10;
  const holders = (balance: string, lt: number, sign: number, some: number): Promise<void> =>
    clickhouse.command(
      `INSERT INTO jetton_holders (jetton, balance, address, lt, mc_seqno, sign)
       SELECT ${parent}, ${balance}, ${ADDRESS}, ${lt}, 5, ${sign} FROM numbers(${some})`,
    );
  await holders(BALANCE, 1, 1, count);
  await holders(BALANCE, 1, -1, moved);
  await holders(`${BALANCE} + 7`, 2, 1, moved);
  await clickhouse.command(
    `INSERT INTO jetton_wallets (${STATE_COLUMNS}, balance, owner, jetton, mintless_is_claimed)
     SELECT ${STATE}, ${BALANCE} + if(number < ${moved}, 7, 0), ${ADDRESS}, ${parent}, NULL FROM numbers(${count})`,
  );
}
