/**
 * Kinds of accounts by code, as tonlib tells them (`tonlib_api.tl`, `AccountState`), with what it reads of their data.
 * Of its kinds manual DNS, restricted wallets and payment channels are not told here: their codes are not published by
 * hash.
 */
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import type { CellView } from '../layouts/cell-view.ts';
import type { Hash } from '../model.ts';

/** A wallet that tonlib knows, by the name of its `@type`. */
export interface KnownAccount {
  kind: 'wallet.v3' | 'wallet.v4' | 'wallet.highload.v1' | 'wallet.highload.v2';
  revision: number;
  /** Unsigned. */
  walletId: number;
  /** Null for a wallet that counts no messages. */
  seqno: number | null;
}

interface Kind {
  kind: KnownAccount['kind'];
  revision: number;
  counts: boolean;
}

const KINDS = new Map<string, Kind>([
  ['thBBpYp5gLlG6PueGY48kE0keZ/6NldOpCUcQaVm9YE=', { kind: 'wallet.v3', revision: 1, counts: true }],
  ['hNr6RJ+Ypph3ibojI1gHK8D3bcRSQAKl0JGLmnXS1Zk=', { kind: 'wallet.v3', revision: 2, counts: true }],
  ['/rX/aCDi/w2Ug+fg1iyBfYRniftK5YDIeIZtlZ2r1cA=', { kind: 'wallet.v4', revision: 2, counts: true }],
  ['2M27t58sXKpnesRQdwvgNRviHhJQSG3oXMUqoz3RZIQ=', { kind: 'wallet.highload.v1', revision: 1, counts: true }],
  ['NowDly5fTCRBK4GGUt4d4qJjDRwBFgmZnf90X7NoSa0=', { kind: 'wallet.highload.v1', revision: 2, counts: true }],
  ['jOtFs81LXMYOquHBO5wJI5Jnf+U2sumy2AG2Lv+TH+E=', { kind: 'wallet.highload.v2', revision: 1, counts: false }],
  ['CzqIeurNKn1Au1VQvJJTFWoCkGWu+21rWDc11Y2p1b4=', { kind: 'wallet.highload.v2', revision: 2, counts: false }],
]);

/** Null for any other code, and for data that is none of the kind's. Never throws. */
export function readKnownAccount(codeHash: Hash | null, data: CellView | null): KnownAccount | null {
  const known = codeHash === null ? undefined : KINDS.get(codeHash.toString('base64'));
  if (known === undefined || data === null) return null;
  const { counts, ...kind } = known;
  try {
    return { ...kind, ...readFields(data.cursor(), counts) };
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** `seqno:uint32 wallet_id:uint32`, the second alone where nothing is counted. */
function readFields(cursor: Cursor, counts: boolean): { seqno: number | null; walletId: number } {
  const seqno = counts ? cursor.u(32) : null;
  return { seqno, walletId: cursor.u(32) };
}
