/** Wallets as v3 shows them: by their code, with what their data begins with (semantics 8.1 of the contract). */
import { rawAddress } from '../../../chain/address.ts';
import { readWallet, type WalletState } from '../../../chain/contracts/wallets.ts';
import type { Hash } from '../../../chain/model.ts';
import type { AccountRecord } from '../../../chain/records.ts';
import { cellView } from '../../../state/account.ts';
import { once } from './once.ts';
import { extraMember, hashJson } from './values.ts';

/** What an account is as a wallet. Its numbers are null where the data is not known or cannot be read. */
export function walletOf(codeHash: Hash | null, data: Buffer | null): WalletState | null {
  return readWallet(codeHash, cellView(data));
}

/** Fields of a wallet behind others, from a comma on; what it does not have is left out. */
export function walletFields(wallet: WalletState | null): string {
  if (wallet === null) return '';
  const { type, seqno, walletId } = wallet;
  return `,"wallet_type":"${type}"${optional('seqno', seqno)}${optional('wallet_id', walletId)}`;
}

/** JSON text of `WalletState`. */
export const walletStateJson = once((record: AccountRecord): string => {
  const wallet = walletOf(record.codeHash, record.dataBoc);
  return (
    `{"address":"${rawAddress(record.account)}","is_wallet":${wallet !== null}${walletFields(wallet)}` +
    `${optional('is_signature_allowed', wallet?.isSignatureAllowed ?? null)}` +
    `,"balance":"${record.balance}"${extraMember('extra_currencies', record.extraCurrencies)}` +
    `,"status":"${record.status}"${record.codeHash === null ? '' : `,"code_hash":${hashJson(record.codeHash)}`}` +
    `,"last_transaction_hash":${hashJson(record.lastTransactionHash)}` +
    `,"last_transaction_lt":"${record.lastTransactionLt}"}`
  );
});

function optional(name: string, value: number | boolean | null): string {
  return value === null ? '' : `,"${name}":${value}`;
}
