/** Wallets by code: their type and what they keep (the eleven that `/walletStates` of the TON Center v3 API knows). */
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import type { CellView } from '../layouts/cell-view.ts';
import type { Hash } from '../model.ts';

export type WalletType =
  | 'wallet v1 r1'
  | 'wallet v1 r2'
  | 'wallet v1 r3'
  | 'wallet v2 r1'
  | 'wallet v2 r2'
  | 'wallet v3 r1'
  | 'wallet v3 r2'
  | 'wallet v4 r1'
  | 'wallet v4 r2'
  | 'wallet v5 beta'
  | 'wallet v5 r1';

export interface WalletState {
  type: WalletType;
  /** These are null where the wallet has none, and all of them when its data is too short. */
  seqno: number | null;
  /** Unsigned, also for v5. Of a v5 beta it is the network's id, as TON Center reads it. */
  walletId: number | null;
  isSignatureAllowed: boolean | null;
}

type Fields = Omit<WalletState, 'type'>;

const NOTHING: Fields = { seqno: null, walletId: null, isSignatureAllowed: null };

const bare = (cursor: Cursor): Fields => ({ ...NOTHING, seqno: cursor.u(32) });
const numbered = (cursor: Cursor): Fields => ({ ...NOTHING, seqno: cursor.u(32), walletId: cursor.u(32) });
const extensible = (cursor: Cursor): Fields => ({
  isSignatureAllowed: cursor.bit(),
  seqno: cursor.u(32),
  walletId: cursor.u(32),
});

const WALLETS = new Map<string, { type: WalletType; fields: (cursor: Cursor) => Fields }>([
  ['oM/CxIruFqJx8s/AtzgtgXVs7LEBfQd/qqs7tgL2how=', { type: 'wallet v1 r1', fields: bare }],
  ['1JAvzJ+tdGmPqONTIgpo2g3PcuMryy657gQhfBfTBiw=', { type: 'wallet v1 r2', fields: bare }],
  ['WHzHie/xyE9G7DeX5F/ICaFP9a4k8eDHpqmcydyQYf8=', { type: 'wallet v1 r3', fields: bare }],
  ['XJpeaMEI4YchoHxC+ZVr+zmtd+xtYktgxXbsiO7mUyk=', { type: 'wallet v2 r1', fields: bare }],
  ['/pUw0yQ4Uwg+8u8LTCkIwKv2+hwx6iQ6rKpb+MfXU/E=', { type: 'wallet v2 r2', fields: bare }],
  ['thBBpYp5gLlG6PueGY48kE0keZ/6NldOpCUcQaVm9YE=', { type: 'wallet v3 r1', fields: numbered }],
  ['hNr6RJ+Ypph3ibojI1gHK8D3bcRSQAKl0JGLmnXS1Zk=', { type: 'wallet v3 r2', fields: numbered }],
  ['ZN1UgFUixb6KnbWc6gEFzPDQh4bKeb64y3nogKjXMi0=', { type: 'wallet v4 r1', fields: numbered }],
  ['/rX/aCDi/w2Ug+fg1iyBfYRniftK5YDIeIZtlZ2r1cA=', { type: 'wallet v4 r2', fields: numbered }],
  ['89fKU0k97trCizgZhqhJQDy6w9LFhHea8IEGWvCsS5M=', { type: 'wallet v5 beta', fields: extensible }],
  ['IINLe3KxEhR+Gy+0V7hOdNGjDwT3N9T2KmaOlVLSty8=', { type: 'wallet v5 r1', fields: extensible }],
]);

/** Whether the code is one of the eleven. */
export function isWalletCode(codeHash: Hash | null): boolean {
  return codeHash !== null && WALLETS.has(codeHash.toString('base64'));
}

/**
 * What an account is as a wallet; null when its code is none of the eleven. Never throws.
 *
 * @param data root of its data; null when it has none or it is not known
 */
export function readWallet(codeHash: Hash | null, data: CellView | null): WalletState | null {
  const wallet = codeHash === null ? undefined : WALLETS.get(codeHash.toString('base64'));
  if (wallet === undefined) return null;
  return { type: wallet.type, ...(data === null ? NOTHING : readFields(data, wallet.fields)) };
}

function readFields(data: CellView, fields: (cursor: Cursor) => Fields): Fields {
  try {
    return fields(data.cursor());
  } catch (error) {
    if (error instanceof DecodeError) return NOTHING;
    throw error;
  }
}
