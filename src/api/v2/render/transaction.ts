/** Transactions as v2 shows them. */
import { rawAddress } from '../../../chain/address.ts';
import type { Message, Transaction } from '../../../chain/model.ts';
import type { TransactionRecord } from '../../../chain/records.ts';
import { extMessage, rawMessage } from './message.ts';
import { accountAddress, base64, transactionId } from './values.ts';

/** From this global version on the slot of `ihr_fee` holds flags. */
const EXTRA_FLAGS_VERSION = 12;

/** `ext.transaction`. */
export function extTransaction(record: TransactionRecord) {
  return { ...withMessages(record, extMessage), '@type': 'ext.transaction', account: accountOf(record) };
}

/** `raw.transaction`. */
export function rawTransaction(record: TransactionRecord) {
  return { ...withMessages(record, rawMessage), '@type': 'raw.transaction' };
}

/** `raw.transactionExt`. */
export function rawTransactionExt(record: TransactionRecord) {
  return { ...withMessages(record, rawMessage), '@type': 'raw.transactionExt', account: accountOf(record) };
}

function accountOf({ transaction }: TransactionRecord): string {
  return rawAddress(transaction.account);
}

function withMessages<M>(record: TransactionRecord, message: (of: Message) => M) {
  const { transaction, stored } = record;
  if (stored === undefined) throw new Error('a transaction without its bytes');
  const { inMsg, outMsgs, lt, hash } = transaction;
  const fee = feeOf(record);
  const storage = BigInt(transaction.description.storage?.collected ?? 0);
  return {
    address: accountAddress(transaction.account),
    utime: transaction.now,
    data: base64(stored.payload),
    transaction_id: transactionId(lt, hash),
    fee: fee.toString(),
    storage_fee: storage.toString(),
    other_fee: (fee - storage).toString(),
    ...(inMsg === null ? {} : { in_msg: message(inMsg) }),
    out_msgs: outMsgs.map((out) => message(out)),
  };
}

/** All the transaction cost: its own fees, and what its internal messages pay on their way. */
function feeOf({ transaction, globalVersion }: { transaction: Transaction; globalVersion: number }): bigint {
  let fee = BigInt(transaction.totalFees);
  for (const { fwdFee, ihrFeeOrFlags } of transaction.outMsgs) {
    fee += BigInt(fwdFee ?? 0);
    if (globalVersion < EXTRA_FLAGS_VERSION) fee += BigInt(ihrFeeOrFlags ?? 0);
  }
  return fee;
}
