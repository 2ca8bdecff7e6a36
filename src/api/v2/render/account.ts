/** States of accounts as v2 shows them. */
import { friendlyAddress } from '../../../chain/address.ts';
import { readKnownAccount } from '../../../chain/contracts/account-kinds.ts';
import { readWallet } from '../../../chain/contracts/wallets.ts';
import type { BlockIdExt } from '../../../chain/model.ts';
import { type AccountState, cellView, shownStatus } from '../../../state/account.ts';
import type { GivenAddress } from '../parameters.ts';
import { base64, blockId, extraCurrencies, FRIENDLY, transactionId } from './values.ts';

const orEmpty = (bytes: Buffer | null): string => (bytes === null ? '' : base64(bytes));

/** `raw.fullAccountState`. @param suspended null where the configuration is not known */
export function addressInformation(state: AccountState, masterBlock: BlockIdExt, suspended: boolean | null) {
  const { balance, lastTransaction } = state;
  return {
    '@type': 'raw.fullAccountState',
    balance,
    extra_currencies: extraCurrencies(state.extraCurrencies),
    last_transaction_id: transactionId(lastTransaction.lt, lastTransaction.hash),
    block_id: blockId(masterBlock),
    code: orEmpty(state.code),
    data: orEmpty(state.data),
    frozen_hash: orEmpty(state.frozenHash),
    sync_utime: state.genUtime,
    state: shownStatus(state),
    ...(suspended === null ? {} : { suspended }),
  };
}

/** Of `fullAccountState` for an account that does not exist: what tonlib says there. */
const NO_BALANCE = '-1';

/** `fullAccountState`: the account with what its kind keeps. */
export function extendedInformation({ address, friendly }: GivenAddress, state: AccountState, masterBlock: BlockIdExt) {
  const { balance, status, lastTransaction } = state;
  const { revision, ...kind } = accountState(state);
  return {
    '@type': 'fullAccountState',
    address: {
      '@type': 'accountAddress',
      account_address: friendlyAddress(address, friendly ?? FRIENDLY),
    },
    balance: status === 'nonexist' ? NO_BALANCE : balance,
    extra_currencies: extraCurrencies(state.extraCurrencies),
    last_transaction_id: transactionId(lastTransaction.lt, lastTransaction.hash),
    block_id: blockId(masterBlock),
    sync_utime: state.genUtime,
    account_state: kind,
    revision,
  };
}

function accountState(state: AccountState) {
  const { code, data, frozenHash, codeHash } = state;
  if (codeHash === null) {
    return { '@type': 'uninited.accountState', frozen_hash: orEmpty(frozenHash), revision: 0 };
  }
  const known = readKnownAccount(codeHash, cellView(state.data));
  if (known === null) {
    const cells = { code: orEmpty(code), data: orEmpty(data), frozen_hash: orEmpty(frozenHash) };
    return { '@type': 'raw.accountState', ...cells, revision: 0 };
  }
  const { kind, revision, walletId, seqno } = known;
  return { '@type': `${kind}.accountState`, wallet_id: walletId, ...(seqno === null ? {} : { seqno }), revision };
}

/** `ext.accounts.walletInformation`: numbers of the wallet are signed here. */
export function walletInformation(state: AccountState) {
  const { balance, lastTransaction, codeHash } = state;
  const wallet = readWallet(codeHash, cellView(state.data));
  const fields = wallet && {
    wallet_type: wallet.type,
    ...(wallet.seqno === null ? {} : { seqno: wallet.seqno | 0 }),
    ...(wallet.walletId === null ? {} : { wallet_id: wallet.walletId | 0 }),
    ...(wallet.isSignatureAllowed === null ? {} : { is_signature_allowed: wallet.isSignatureAllowed }),
  };
  return {
    '@type': 'ext.accounts.walletInformation',
    wallet: wallet !== null,
    balance,
    account_state: shownStatus(state),
    last_transaction_id: transactionId(lastTransaction.lt, lastTransaction.hash),
    ...fields,
  };
}
