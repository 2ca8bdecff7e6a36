/** Contracts as a step left them, out of what the tables keep of every step. */
import type { JettonWalletRecord } from '../../src/chain/contract-records.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { QueryContext } from '../../src/chain/records.ts';
import { bytes, list, u32, u64 } from '../literal.ts';
import { AFTER_ALONE, decodeStates } from '../states.ts';
import { idsBehind } from '../tables/detected.ts';
import { tableColumns } from '../tables/sql.ts';
import type { Table } from '../tables/table.ts';
import { all } from './conditions.ts';
import { collect, type NewestReading, type Reading } from './reading.ts';

/** Waits until the tables hold a step. @throws {HeadBehind} */
export function reached({ head }: NewestReading, at: number, { timeoutMs, signal }: QueryContext): Promise<void> {
  return head.reach(at, timeoutMs, signal);
}

/** That a contract was told for the first time up to a step. */
export const toldUpTo = (at: number): string => `id < ${idsBehind(at)}`;

/**
 * What stands for a table of newest states as of a step.
 * @param states the table that keeps every state
 * @param keys conditions that tell which contracts to look at: they hold of a contract at every step or at none
 */
export function statesAt(states: Table, at: number, keys: readonly string[]): string {
  return `(SELECT ${tableColumns(states)} FROM ${states.name} WHERE ${all([...keys, `mc_seqno <= ${u32(at)}`])}
    ORDER BY address, last_transaction_lt DESC LIMIT 1 BY address)`;
}

/**
 * The same for jetton wallets, whose owner never changes. Code and data are those of today: {@link withHashesAt}.
 * @param keys on `address` and `owner`
 */
export function walletsAt(at: number, keys: readonly string[]): string {
  const wallets = `SELECT address, id, code_hash, data_hash, owner FROM jetton_wallets FINAL WHERE ${all([...keys, toldUpTo(at)])}`;
  return `(SELECT address, id, s.mc_seqno AS mc_seqno, s.lt AS last_transaction_lt, code_hash, data_hash,
      s.balance AS balance, owner, s.jetton AS jetton, s.mintless_is_claimed AS mintless_is_claimed
    FROM (${wallets}) AS w INNER JOIN (
      SELECT address, lt, mc_seqno, jetton, balance, mintless_is_claimed FROM jetton_balances
      WHERE address IN (SELECT address FROM (${wallets})) AND mc_seqno <= ${u32(at)}
      ORDER BY address, lt DESC LIMIT 1 BY address) AS s USING (address))`;
}

/** Wallets with the hashes of code and data that their last transactions left. */
export async function withHashesAt(
  wallets: readonly JettonWalletRecord[],
  reading: Reading,
  context: QueryContext,
): Promise<JettonWalletRecord[]> {
  if (wallets.length === 0) return [];
  const keys = list(wallets.map(({ address, lastTransactionLt }) => `(${bytes(address)}, ${u64(lastTransactionLt)})`));
  const sql = `SELECT account, states FROM transactions WHERE (account, lt) IN ${keys}
    UNION ALL SELECT account, concat(${bytes(AFTER_ALONE)}, state) FROM learned_accounts WHERE (account, lt) IN ${keys}`;
  const states = new Map(
    collect(await reading.rows(sql, 'states of jetton wallets', context), (row) => {
      const account = hashKey(row.fixed(36));
      return [account, decodeStates(row.bytes()).after] as const;
    }),
  );
  return wallets.map((wallet) => {
    const { codeHash, dataHash } = states.get(hashKey(wallet.address)) ?? {};
    if (!codeHash || !dataHash) throw new Error(`no state of a jetton wallet at lt ${wallet.lastTransactionLt}`);
    return { ...wallet, codeHash, dataHash };
  });
}
