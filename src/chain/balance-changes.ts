/** What transactions of one trace changed: coins and fees by message, jettons by what wallets were told. */
import { rawAddress } from './address.ts';
import { DecodeError } from './errors.ts';
import { hashKey } from './hash.ts';
import { CellView } from './layouts/cell-view.ts';
import { bounce } from './layouts/common.ts';
import { jettonBurn, jettonBurnNotification, jettonInternalTransfer, jettonTransfer } from './layouts/jettons.ts';
import { amount } from './layouts/numbers.ts';
import type { Address, Transaction } from './model.ts';

/** By raw address: nanotons, or the units of a jetton. */
export type Amounts = Map<string, bigint>;

export interface BalanceChanges {
  /** Values received, less values sent and fees. */
  changes: Amounts;
  fees: Amounts;
  /** By owner, then by master. */
  jettons: Map<string, Amounts>;
}

/** Whose wallet an account is, and of which jetton. */
export interface WalletTie {
  owner: Address;
  jetton: Address;
}

/** What a wallet does with an amount that it is told of. */
const TOLD = new Map([
  [jettonTransfer.opcode, -1n],
  [jettonInternalTransfer.opcode, 1n],
  [jettonBurn.opcode, -1n],
]);
/** What it takes back when its own message bounced. */
const RETURNED = new Map([
  [jettonInternalTransfer.opcode, 1n],
  [jettonBurnNotification.opcode, 1n],
]);

const OPCODE_BITS = 32;
const QUERY_ID_BITS = 64;

/**
 * The changes that some transactions of a trace made (spec v3 endpoints 10). A message counts where it is received: its
 * value leaves the sender and reaches the receiver, who pays the transaction's fees; its forward fee is the sender's,
 * when he was himself told by a message to send it. A transaction without a message changes nothing here.
 *
 * @param counted those of `trace` whose changes are wanted
 * @param walletOf null for an account that is no confirmed jetton wallet
 */
export function balanceChanges(
  trace: readonly Transaction[],
  counted: readonly Transaction[],
  walletOf: (account: Address) => WalletTie | null,
): BalanceChanges {
  const sent = new Map<string, string>();
  for (const { inMsg, outMsgs } of trace) {
    if (inMsg === null) continue;
    for (const { hash, fwdFee } of outMsgs) if (fwdFee !== null) sent.set(hashKey(hash), fwdFee);
  }
  const changes: Amounts = new Map();
  const fees: Amounts = new Map();
  const jettons = new Map<string, Amounts>();
  for (const transaction of counted) {
    const { inMsg, account, totalFees } = transaction;
    if (inMsg === null) continue;
    const receiver = rawAddress(account);
    pay(receiver, BigInt(totalFees));
    if (inMsg.source !== null) {
      const sender = rawAddress(inMsg.source);
      const fee = sent.get(hashKey(inMsg.hash));
      if (fee !== undefined) pay(sender, BigInt(fee));
      const value = BigInt(inMsg.value ?? 0);
      add(changes, sender, -value);
      add(changes, receiver, value);
    }
    const told = jettonChange(transaction);
    const wallet = told === null ? null : walletOf(account);
    if (told === null || wallet === null) continue;
    const owner = rawAddress(wallet.owner);
    const own = jettons.get(owner) ?? new Map<string, bigint>();
    jettons.set(owner, own);
    add(own, rawAddress(wallet.jetton), told);
  }
  return { changes, fees, jettons };

  function pay(account: string, fee: bigint): void {
    add(fees, account, fee);
    add(changes, account, -fee);
  }
}

/** Accounts that are to be known if they are jetton wallets. */
export function possibleWallets(transactions: readonly Transaction[]): Address[] {
  const found = new Map<string, Address>();
  for (const transaction of transactions) {
    if (jettonChange(transaction) !== null) found.set(hashKey(transaction.account), transaction.account);
  }
  return [...found.values()];
}

/** What the transaction adds to its account if that is a jetton wallet; null when it changes nothing. */
function jettonChange({ inMsg, description: { aborted } }: Transaction): bigint | null {
  if (inMsg === null || aborted !== false || inMsg.opcode === null) return null;
  const isBounced = inMsg.bounced === true && inMsg.opcode === bounce.opcode;
  if (!isBounced && !TOLD.has(inMsg.opcode)) return null;
  try {
    const cursor = CellView.parse(inMsg.bodyBoc()).cursor();
    if (isBounced) cursor.skip(OPCODE_BITS);
    const sign = (isBounced ? RETURNED : TOLD).get(cursor.u(OPCODE_BITS));
    if (sign === undefined) return null;
    cursor.skip(QUERY_ID_BITS);
    return sign * BigInt(amount.read(cursor));
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

function add(amounts: Amounts, key: string, value: bigint): void {
  amounts.set(key, (amounts.get(key) ?? 0n) + value);
}
