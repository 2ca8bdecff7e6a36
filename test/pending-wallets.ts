/** Orders that wallets of a devnet in memory sign while its people rest. */
import type { OutMessage } from '../src/devnet/actors/wallets.ts';
import type { PendingDevnet } from './pending-devnet.ts';

const ORDER_MS = 600_000;
/** Of a wallet, those that it may have come to. */
const SEQNOS = 64;

export interface PendingWallets {
  /** One that the chain has. */
  order(messages: OutMessage[], validUntil?: number): Buffer;
  /** One that the chain would take and never gets. @param validUntil Unix seconds */
  lostOrder(validUntil: number): Buffer;
  /** Two of one wallet for the same seqno, of which the chain can take one. */
  rivals(): [Buffer, Buffer];
  /** Three of one wallet; the chain has the first. */
  ordersInARow(): Buffer[];
}

export function createPendingWallets(net: PendingDevnet): PendingWallets {
  const { chain, cast } = net.devnet;
  const [first] = cast.traders;
  const paying = (value: bigint): OutMessage[] => [{ to: first.address, value, bounce: false }];
  const inTenMinutes = (): number => (net.nowMs + ORDER_MS) / 1000;

  /** What `submit` gives for the first wallet and seqno for which it gives something. */
  function ofAny<T>(submit: (sign: (more: number, messages: OutMessage[], until: number) => Buffer) => T | null): T {
    for (const wallet of cast.traders) {
      for (let seqno = 0; seqno < SEQNOS; seqno++) {
        const found = submit((more, messages, until) =>
          wallet.order({ seqno: seqno + more, validUntil: Math.floor(until), messages }).toBoc(),
        );
        if (found !== null) return found;
      }
    }
    throw new Error('no wallet is free');
  }

  return {
    order: (messages, validUntil = inTenMinutes()) =>
      ofAny((sign) => {
        const boc = sign(0, messages, validUntil);
        return chain.submit(boc).accepted ? boc : null;
      }),
    lostOrder: (validUntil) =>
      ofAny((sign) => {
        const boc = sign(0, paying(3_000_000n), validUntil);
        return chain.submit(boc, 'lost').accepted ? boc : null;
      }),
    rivals: () =>
      ofAny((sign) => {
        const [one, rival] = [1_000_000n, 2_000_000n].map((value) => sign(0, paying(value), inTenMinutes()));
        return chain.submit(one).accepted && chain.submit(rival, 'rival').accepted ? [one, rival] : null;
      }),
    ordersInARow: () =>
      ofAny((sign) => {
        const orders = [0, 1, 2].map((more) => sign(more, paying(4_000_000n), inTenMinutes()));
        return chain.submit(orders[0]).accepted ? orders : null;
      }),
  };
}
