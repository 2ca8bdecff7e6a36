/** Bodies of requests to wallets, signed with nothing (ton-blockchain/wallet-contract, wallet-contract-v5). */
import { workchainOf } from '../../chain/address.ts';
import { Builder, type Cell } from '../../chain/builder.ts';
import type { WalletState, WalletType } from '../../chain/contracts/wallets.ts';
import { outActions } from '../../chain/layouts/messages.ts';
import { w5ExternalSignedRequest } from '../../chain/layouts/wallets.ts';
import type { Address } from '../../chain/model.ts';

/** A message that a wallet is asked to send. */
export interface Transfer {
  address: Address;
  /** Nanotons. */
  value: bigint;
  bounce: boolean;
  body: Cell;
  /** `StateInit` of a contract to deploy. */
  init: Cell | null;
}

/** Fees apart, errors ignored. */
const MODE = 3;
const NO_SIGNATURE = Buffer.alloc(64);

const LAYOUTS: Partial<Record<WalletType, 'v3' | 'v4' | 'v5'>> = {
  'wallet v3 r1': 'v3',
  'wallet v3 r2': 'v3',
  'wallet v4 r1': 'v4',
  'wallet v4 r2': 'v4',
  'wallet v5 r1': 'v5',
};

/** A wallet whose requests can be written. */
export type Connectable = WalletState & { seqno: number; walletId: number };

export function isConnectable(wallet: WalletState): wallet is Connectable {
  return LAYOUTS[wallet.type] !== undefined && wallet.seqno !== null && wallet.walletId !== null;
}

/** @param validUntil Unix seconds */
export function walletBody(wallet: Connectable, transfers: readonly Transfer[], validUntil: number): Cell {
  const layout = LAYOUTS[wallet.type];
  const messages = transfers.map(messageCell);
  const head = (builder: Builder): Builder => builder.u(wallet.walletId, 32).u(validUntil, 32).u(wallet.seqno, 32);
  if (layout === 'v5') {
    // An OutList is a chain of cells, the last action outermost.
    const actions = messages.reduce(
      (before, message) => new Builder().ref(before).u(outActions.send.tag, 32).u(MODE, 8).ref(message).cell(),
      new Builder().cell(),
    );
    return head(new Builder().u(w5ExternalSignedRequest.opcode, 32))
      .maybeRef(actions)
      .bit(0)
      .bytes(NO_SIGNATURE)
      .cell();
  }
  const body = head(new Builder().bytes(NO_SIGNATURE));
  if (layout === 'v4') body.u(0, 8);
  for (const message of messages) body.u(MODE, 8).ref(message);
  return body.cell();
}

/** `int_msg_info$0` without a sender, init and body each in a cell of their own. */
function messageCell({ address, value, bounce, body, init }: Transfer): Cell {
  const message = new Builder().u(0, 1).bit(1).bit(bounce).bit(0).u(0, 2);
  message.u(4, 3).i(workchainOf(address), 8).bytes(address.subarray(4)).grams(value).bit(0).grams(0n).grams(0n);
  message.big(0n, 64).u(0, 32);
  if (init === null) message.bit(0);
  else message.u(3, 2).ref(init);
  return message.bit(1).ref(body).cell();
}
