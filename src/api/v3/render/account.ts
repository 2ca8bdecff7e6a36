import { rawAddress } from '../../../chain/address.ts';
import type { Address, Hash } from '../../../chain/model.ts';
import type { AccountRecord, BalanceRecord, KnownState } from '../../../chain/records.ts';
import { interfacesJson } from './book-rows.ts';
import { once } from './once.ts';
import { extraJson, hashJson, hashOrNull } from './values.ts';

/** JSON text of the state beside a transaction (schema `AccountState`): only the hash when nothing else is known. */
export function stateJson(hash: Hash, state: KnownState | null): string {
  if (state === null) {
    return (
      `{"hash":${hashJson(hash)},"balance":null,"extra_currencies":null,"account_status":null` +
      ',"frozen_hash":null,"data_hash":null,"code_hash":null}'
    );
  }
  return (
    `{"hash":${hashJson(hash)},"balance":"${state.balance}","extra_currencies":${extraJson(state.extraCurrencies)}` +
    `,"account_status":"${state.status}","frozen_hash":${hashOrNull(state.frozenHash)}` +
    `,"data_hash":${hashOrNull(state.dataHash)},"code_hash":${hashOrNull(state.codeHash)}}`
  );
}

/** JSON text of an account's latest state (schema `AccountStateFull`). Unknown hashes and bodies are left out. */
export const accountJson = once(
  (record: AccountRecord): string =>
    `{"address":"${rawAddress(record.account)}","account_state_hash":${hashJson(record.hash)}` +
    `,"balance":"${record.balance}","extra_currencies":${extraJson(record.extraCurrencies)}` +
    `,"status":"${record.status}"${optional('frozen_hash', record.frozenHash)}` +
    `,"last_transaction_hash":${hashJson(record.lastTransactionHash)}` +
    `,"last_transaction_lt":"${record.lastTransactionLt}"` +
    `${optional('data_hash', record.dataHash)}${optional('code_hash', record.codeHash)}` +
    `${optional('data_boc', record.dataBoc)}${optional('code_boc', record.codeBoc)}` +
    `,"contract_methods":${record.methods === null ? 'null' : `[${record.methods.join(',')}]`}` +
    `,"interfaces":${interfacesJson(record)}}`,
);

/** Those of which a code is left no more, and of which the tables may still tell what tokens they were. */
export function goneAmong(records: readonly AccountRecord[]): Address[] {
  const gone = records.filter(({ status }) => status === 'frozen' || status === 'nonexist');
  return gone.map(({ account }) => account);
}

function optional(name: string, bytes: Buffer | null): string {
  return bytes === null ? '' : `,"${name}":"${bytes.toString('base64')}"`;
}

export function balanceJson({ account, balance }: BalanceRecord): string {
  return `{"account":"${rawAddress(account)}","balance":"${balance}"}`;
}
