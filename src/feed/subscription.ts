/** What is subscribed, whoever has said it in whatever words. */
import type { Address, Decimal } from '../chain/model.ts';

export const V2_TYPES = ['transactions', 'actions', 'trace', 'account_state_change', 'jettons_change'] as const;
/** Beyond the protocol. */
export const OWN_TYPES = ['block', 'message', 'external_out', 'jetton_transfer', 'nft_transfer'] as const;
/** Transactions as the traces that they are in end, in place of `transactions`: `readTypes` (protocol.ts) says when. */
export const GROUPED_TYPE = 'trace_transactions';
/** Of v1: levels by their types. */
type PendingType = 'pending_transactions' | 'pending_actions';
export type EventType = (typeof V2_TYPES)[number] | (typeof OWN_TYPES)[number] | typeof GROUPED_TYPE | PendingType;
export type Finality = 'pending' | 'confirmed' | 'finalized';

/** From where a stream begins; null for what comes from now on. `existing`: with what there was lately, as it stands. */
export type Start = { cursor: string } | { mcSeqno: number } | { utime: number } | { existing: true } | null;

/** What passes besides addresses; absent fields let everything pass. */
export interface Filter {
  /** All accounts; addresses are not needed then. */
  everything: boolean;
  workchain: number | null;
  /** Of the in-message; of an action that tells one. */
  opcodes: ReadonlySet<number> | null;
  /** Of the account after the transaction, as raw bytes in latin1. */
  codeHashes: ReadonlySet<string> | null;
  /**
   * Inclusive: nanotons of the in-message; units of a jetton where one is transferred or a wallet changes; of an action
   * its value or amount.
   */
  minValue: Decimal | null;
  maxValue: Decimal | null;
  /** `in`: the address received something; `out`: it sent something. */
  direction: 'in' | 'out' | null;
  /** Keys of masters and of collections: what is about one of them passes, and nothing else. */
  jettonMasters: ReadonlySet<string> | null;
  nftCollections: ReadonlySet<string> | null;
  /** Of the in-message, as raw bytes in latin1; looked at of transactions alone (`msg_body_hash`). */
  bodyHash: string | null;
}

export interface Subscription {
  types: ReadonlySet<EventType>;
  /** It hears that a state which it was told of is in no block any more. */
  statesBack: boolean;
  addresses: readonly Address[];
  /** Standard base64 of normalised hashes of external messages. */
  traceHashes: ReadonlySet<string>;
  minFinality: Finality;
  addressBook: boolean;
  metadata: boolean;
  actionTypes: readonly string[];
  supportedActionTypes: readonly string[];
  filter: Filter;
  /** `cursor` and `event_id` stand in every notification. */
  cursors: boolean;
  /** Seconds between `head` events; null for none. */
  headSeconds: number | null;
  /** What is done with a client that is too far behind: end the connection with its cursor, or leave out and say what. */
  onLag: 'disconnect' | 'skip';
  start: Start;
  /** Under which the service remembers what was acknowledged. */
  name: string | null;
  /** By key of an address, where each has types of its own; null where all have the same. */
  typesOf: ReadonlyMap<string, ReadonlySet<EventType>> | null;
  /** It is told in the words of v1. */
  isV1: boolean;
}

const NO_FILTER: Filter = {
  everything: false,
  workchain: null,
  opcodes: null,
  codeHashes: null,
  minValue: null,
  maxValue: null,
  direction: null,
  jettonMasters: null,
  nftCollections: null,
  bodyHash: null,
};

/** Of a connection before its first `subscribe`. */
export const NOTHING: Subscription = {
  types: new Set(),
  statesBack: false,
  addresses: [],
  traceHashes: new Set(),
  minFinality: 'finalized',
  addressBook: false,
  metadata: false,
  actionTypes: [],
  supportedActionTypes: [],
  filter: NO_FILTER,
  cursors: false,
  headSeconds: null,
  onLag: 'disconnect',
  start: null,
  name: null,
  typesOf: null,
  isV1: false,
};

/** Whether a stream goes on from a place that its client names: then it is told places. */
export function goesOn(start: Start): boolean {
  return start !== null && !('existing' in start);
}
