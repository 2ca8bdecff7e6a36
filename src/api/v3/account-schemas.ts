/** Shapes of the answers about accounts as such: their states, wallets, balances. */
import { z } from 'zod';
import { address, addressBook, decimal, extraCurrencies, hash, integer, metadata, status } from './schemas.ts';

const account = z
  .strictObject({
    address,
    account_state_hash: hash,
    balance: decimal,
    extra_currencies: extraCurrencies,
    status,
    frozen_hash: hash.optional(),
    last_transaction_hash: hash,
    last_transaction_lt: decimal,
    data_hash: hash.optional(),
    code_hash: hash.optional(),
    data_boc: z.string().optional(),
    code_boc: z.string().optional(),
    contract_methods: z.array(integer).nullable(),
    interfaces: z.array(z.string()),
  })
  .meta({ id: 'Account' });

export const accountStates = z
  .strictObject({ accounts: z.array(account), address_book: addressBook, metadata })
  .meta({ id: 'AccountStates' });

const walletFields = {
  wallet_type: z.string().optional(),
  seqno: integer.optional(),
  wallet_id: integer.optional(),
};
const walletState = z
  .strictObject({
    address,
    is_wallet: z.boolean(),
    ...walletFields,
    is_signature_allowed: z.boolean().optional(),
    balance: decimal,
    extra_currencies: extraCurrencies.optional(),
    status,
    code_hash: hash.optional(),
    last_transaction_hash: hash,
    last_transaction_lt: decimal,
  })
  .meta({ id: 'WalletState' });
export const walletStates = z
  .strictObject({ wallets: z.array(walletState), address_book: addressBook, metadata })
  .meta({ id: 'WalletStates' });

/** As the states above, or as v2 names them. */
const newestStatus = z.enum(['uninit', 'frozen', 'active', 'nonexist', 'uninitialized']);
const lastTransaction = { last_transaction_lt: decimal, last_transaction_hash: hash };
export const addressInformation = z
  .strictObject({
    balance: decimal,
    code: z.string().nullable(),
    data: z.string().nullable(),
    ...lastTransaction,
    frozen_hash: hash.nullable(),
    status: newestStatus,
  })
  .meta({ id: 'AddressInformation' });
export const walletInformation = z
  .strictObject({ balance: decimal, ...walletFields, ...lastTransaction, status: newestStatus })
  .meta({ id: 'WalletInformation' });

export const balances = z.array(z.strictObject({ account: address, balance: decimal })).meta({ id: 'Balances' });
