import { LRUCache } from 'lru-cache';
import { jettonMasters, jettonWallets } from '../../clickhouse/tables/jettons.ts';
import { dnsRecords, nftCollections, nftItems } from '../../clickhouse/tables/nfts.ts';
import { nftAuctions, nftSales } from '../../clickhouse/tables/sales.ts';
import type { TableWith } from '../../clickhouse/tables/table.ts';
import { atMost } from '../at-most.ts';
import type { DetectedRecord, TokenCandidates, Tokens, WalletState } from '../chain/contract-records.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import type { TracePlace } from '../chain/records.ts';
import { makeLast } from '../lasting.ts';
import { packDetected, unpackDetected } from './detected-rows.ts';
import { type Kind, layoutOf, restOf } from './kind.ts';
import { auctionKind, collectionKind, itemKind, masterKind, recordKind, saleKind, walletKind } from './kinds.ts';
import { createNewest } from './newest.ts';
import type { Sides } from './sides.ts';
import type { View } from './view.ts';

/** Of each kind, about 300 bytes each. */
const REMEMBERED = 50_000;
/** States of a kind that are kept as they were read, with what is printed of them: about a kilobyte each. */
const READ_STATES = 8_192;

/** Addresses of a kind that were looked for between two steps, about 100 bytes each. */
const SETTLED = 32_768;

export const NO_TOKENS = { items: [], collections: [], masters: [], wallets: [] };

/** What the tables said of an address at a step; null where it is nothing of the kind. */
interface Remembered {
  at: number;
  state: { packed: Buffer; mcSeqno: number } | null;
}

export type TokenStates = ReturnType<typeof createTokenStates>;

/** The newest states of contracts, by kind, for all who answer from one window. */
export function createTokenStates() {
  return {
    items: createStates(itemKind, nftItems),
    collections: createStates(collectionKind, nftCollections),
    masters: createStates(masterKind, jettonMasters),
    wallets: createStates(walletKind, jettonWallets),
    sales: createStates(saleKind, nftSales),
    auctions: createStates(auctionKind, nftAuctions),
    records: createStates(recordKind, dnsRecords),
  };
}

/**
 * What tokens some addresses are, by the newest state of each: the window has it of those that changed in its steps. Of
 * the others what the tables said is remembered, and true as long as no step since then has left the window.
 */
export function createTokens(sources: TokenStates) {
  return async function tokens(candidates: TokenCandidates, sides: Sides): Promise<Tokens> {
    const { view, whole, context } = sides;
    const items = sources.items.find(candidates.items, view);
    const collections = sources.collections.find(candidates.collections, view);
    const wallets = sources.wallets.find(candidates.wallets, view);
    // A wallet brings its master along.
    const jettons = wallets.found.map(({ jetton }) => jetton);
    const masters = sources.masters.find([...candidates.masters, ...jettons], view);
    const missing = {
      items: items.missing,
      collections: collections.missing,
      wallets: wallets.missing,
      masters: masters.missing,
    };
    const found = {
      items: items.found,
      collections: collections.found,
      wallets: wallets.found,
      masters: masters.found,
    };
    if (Object.values(missing).every(({ length }) => length === 0)) return found;
    const others = await whole.contracts.tokens(missing, context);
    // Masters that come with these wallets may be among those that the view has, and newer there.
    const brought = sources.masters.find(
      others.wallets.map(({ jetton }) => jetton),
      view,
    );
    const known = [...found.masters, ...brought.found];
    const held = new Set(known.map(({ address }) => hashKey(address)));
    const further = others.masters.filter(({ address }) => !held.has(hashKey(address)));
    sources.items.note(missing.items, others.items, view);
    sources.collections.note(missing.collections, others.collections, view);
    sources.wallets.note(missing.wallets, others.wallets, view);
    sources.masters.note(missing.masters, further, view);
    return {
      items: [...found.items, ...others.items],
      collections: [...found.collections, ...others.collections],
      wallets: [...found.wallets, ...others.wallets],
      masters: [...new Map([...known, ...further].map((row) => [hashKey(row.address), row])).values()],
    };
  };
}

/** Jetton wallets as steps have left them: of its own steps the window knows all. */
export function createWalletsAt({ wallets }: Pick<TokenStates, 'wallets'>) {
  return async function walletsAt(places: readonly TracePlace[], sides: Sides): Promise<WalletState[]> {
    const { view, whole, context } = sides;
    const below: TracePlace[] = [];
    const found: WalletState[] = [];
    for (const place of places) {
      const { account, lt, mcSeqno } = place;
      if (mcSeqno < view.first) {
        below.push(place);
        continue;
      }
      const state = wallets.at(view, account, mcSeqno);
      if (state?.lastTransactionLt !== lt) continue;
      const { address, balance, owner, jetton } = state;
      found.push({ address, lt, balance, owner, jetton });
    }
    return below.length === 0 ? found : [...found, ...(await whole.contracts.walletsAt(below, context))];
  };
}

/** Of a kind. A state is the same object for as long as it is remembered: what is made of it can be kept with it. */
export interface NewestStates<R> {
  /** As the window has it; null where none of its steps has changed it. */
  newest(view: View, address: Address): R | null;
  /** As a step of the window has left it; null where that has not changed it. */
  at(view: View, address: Address, mcSeqno: number): R | null;
  /** A state that was packed. */
  read(packed: Buffer, mcSeqno: number): R;
  /** `missing`: the tables are to be asked, and what they answer is to be noted. */
  find(addresses: readonly Address[], view: View): { found: R[]; missing: Address[] };
  /** What the tables answered, also to those that they know nothing of. */
  note(asked: readonly Address[], rows: readonly R[], view: View): void;
}

function createStates<R extends DetectedRecord>(kind: Kind, table: TableWith<R>): NewestStates<R> {
  const remembered = new LRUCache<string, Remembered>(atMost(REMEMBERED));
  const byAddress = layoutOf(kind, 'address');
  const newestRow = createNewest(kind);
  const states = new LRUCache<Buffer, R>(atMost(READ_STATES));
  // Between two steps answer after answer has the same addresses.
  let settled = { first: 0, head: 0, found: new Map<string, R | null>() };

  function settledAt({ first, head }: View): Map<string, R | null> {
    if (settled.first !== first || settled.head !== head || settled.found.size >= SETTLED) {
      settled = { first, head, found: new Map() };
    }
    return settled.found;
  }

  /** Undefined where the tables are to be asked. */
  function look(address: Address, key: string, view: View): R | null | undefined {
    const here = newest(view, address);
    if (here !== null || view.below === null) return here;
    const known = remembered.get(key);
    // A view that has begun anew behind all that was known may be over tables that were made anew.
    if (known === undefined || known.at < view.first) return undefined;
    return known.state && read(known.state.packed, known.state.mcSeqno);
  }

  function read(packed: Buffer, mcSeqno: number): R {
    const known = states.get(packed);
    if (known !== undefined) return known;
    const state = unpackDetected(table, packed, mcSeqno);
    states.set(packed, makeLast(state));
    return state;
  }

  function newest(view: View, address: Address): R | null {
    const row = newestRow(view, address);
    return row && read(row.rest, row.mcSeqno);
  }

  return {
    newest,
    read,
    at(view, address, mcSeqno) {
      const found = view.find(kind, byAddress, [address, mcSeqno]);
      return found && unpackDetected(table, restOf(kind, found.row), mcSeqno);
    },
    find(addresses, view) {
      const found: R[] = [];
      const missing: Address[] = [];
      const known = settledAt(view);
      const seen = new Set<string>();
      for (const address of addresses) {
        const key = hashKey(address);
        if (seen.has(key)) continue;
        seen.add(key);
        let state = known.get(key);
        if (state === undefined) {
          state = look(address, key, view);
          if (state !== undefined) known.set(key, state);
        }
        if (state === undefined) missing.push(address);
        else if (state !== null) found.push(state);
      }
      return { found, missing };
    },
    note(asked, rows, { head }) {
      for (const address of asked) remembered.set(hashKey(address), { at: head, state: null });
      for (const row of rows) {
        const state = { packed: packDetected(table, row), mcSeqno: row.mcSeqno };
        remembered.set(hashKey(row.address), { at: head, state });
      }
    },
  };
}
