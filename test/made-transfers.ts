import { expect } from 'vitest';
import { classify } from '../src/chain/actions/classify.ts';
import type { KnownContracts } from '../src/chain/actions/known.ts';
import { Builder, type Cell } from '../src/chain/builder.ts';
import { address } from '../src/chain/layouts/addresses.ts';
import { CellView } from '../src/chain/layouts/cell-view.ts';
import { jettonBurn, jettonInternalTransfer, jettonNotify, jettonTransfer } from '../src/chain/layouts/jettons.ts';
import { account, accountBytes, knowing, madeTrace, type Sent, written } from './made-trace.ts';

/** What is told of messages that alice's wallet sends. */
export function tell(sends: readonly Sent[], known: Partial<KnownContracts> = {}) {
  const { state, actions, error } = classify(madeTrace({ to: 'alice', sends }), knowing(known));
  expect([state, error]).toEqual(['ok', undefined]);
  return actions.map(({ type, success, details, accounts, parentId }) => {
    return { type, success, details, accounts, isPart: parentId !== null };
  });
}

/** What is told, without what it is made of. */
export function wholes(sends: readonly Sent[], known: Partial<KnownContracts> = {}) {
  return tell(sends, known).filter(({ isPart }) => !isPart);
}

const nothing = CellView.from(new Builder().cell());
export const inline = (cell: CellView = nothing) => ({ inReference: false, cell });
const referred = (cell: Cell) => ({ inReference: true, cell: CellView.from(cell) });

/** A builder that knows the accounts of a test by their names. */
export class Body extends Builder {
  to(name: string | null): this {
    address.write(this, name === null ? null : accountBytes(name));
    return this;
  }
}

/** A body that begins with an opcode and the query id 1. */
export function call(opcode: number): Body {
  return new Body().u(opcode, 32).u(0, 32).u(1, 32);
}

const OWNERS = ['alice', 'bob', 'router', 'pool', 'vault', 'master', 'guard'];
const JETTONS = ['red', 'blue', 'lp'];

/** Wallets named `<owner>'s <jetton>`. */
export const wallets: KnownContracts['jettonWallet'] = (wallet) => {
  for (const owner of OWNERS) {
    for (const jetton of JETTONS) {
      if (wallet === account(`${owner}'s ${jetton}`)) return { owner: account(owner), jetton: account(jetton) };
    }
  }
  return undefined;
};

interface Move {
  from: string;
  to: string;
  jetton: string;
  amount: string;
  payload?: Cell;
  after?: readonly Sent[];
}

const forwarded = ({ payload }: Move) => (payload === undefined ? inline() : referred(payload));

/** Jettons from one owner to another. */
export function sending(move: Move): Sent {
  const { from, to, jetton, amount } = move;
  return {
    to: `${from}'s ${jetton}`,
    body: written(jettonTransfer, {
      query_id: '1',
      amount,
      destination: accountBytes(to),
      response_destination: accountBytes(from),
      custom_payload: null,
      forward_ton_amount: '1',
      forward_payload: forwarded(move),
    }),
    sends: [arriving(move)],
  };
}

/** The same from the receiver's wallet on: what a minter or a pool sends at once. */
export function arriving(move: Move): Sent {
  const { from, to, jetton, amount, after = [] } = move;
  const head = { query_id: '1', amount, forward_payload: forwarded(move) };
  return {
    to: `${to}'s ${jetton}`,
    body: written(jettonInternalTransfer, {
      ...head,
      from: accountBytes(from),
      response_address: accountBytes(from),
      forward_ton_amount: '1',
    }),
    sends: [{ to, body: written(jettonNotify, { ...head, sender: accountBytes(from) }), sends: after }],
  };
}

export function burning(owner: string, jetton: string, amount: string, then: Sent): Sent {
  const body = { query_id: '1', amount, response_destination: accountBytes(owner), custom_payload: null };
  return { to: `${owner}'s ${jetton}`, body: written(jettonBurn, body), sends: [then] };
}

/** As a trade prints a transfer of it; null for TON. */
export const leg = (jetton: string | null, amount: string, from: string, to: string) => ({
  asset: jetton === null ? null : account(jetton),
  amount,
  source: account(from),
  destination: account(to),
  source_jetton_wallet: jetton === null ? null : account(`${from}'s ${jetton}`),
  destination_jetton_wallet: jetton === null ? null : account(`${to}'s ${jetton}`),
});
