/** Decoded things with their place in the chain, and the filters by which one asks for them. */
import type {
  AccountStatus,
  Address,
  BlockHeader,
  BlockId,
  Decimal,
  ExtraCurrencies,
  Hash,
  Message,
  Shard,
  Transaction,
} from './model.ts';

export interface BlockRecord {
  header: BlockHeader;
  /** Masterchain block that committed this one (its own seqno for a masterchain block). */
  mcSeqno: number;
  createdBy: Hash;
  randSeed: Hash;
  txCount: number;
}

/** What is known of an account state besides its hash. */
export interface KnownState {
  status: AccountStatus;
  balance: Decimal;
  extraCurrencies: ExtraCurrencies;
  /** The same, where no block shows them and a node was asked. */
  learnedExtra?: ExtraCurrencies;
  frozenHash: Hash | null;
  codeHash: Hash | null;
  dataHash: Hash | null;
}

/** How sure a transaction is: emulated, in a block that is signed, in one that the masterchain has registered. */
export type Finality = 'pending' | 'confirmed' | 'finalized';

export interface TransactionRecord {
  transaction: Transaction;
  block: BlockId;
  mcSeqno: number;
  traceId: Hash | null;
  /** Hash of the message that began the trace; null when it began without one. */
  externalHash: Hash | null;
  /** Global version of the block's software: decides `ihr_fee` against `extra_flags` (from 12 on). */
  globalVersion: number;
  /** Null when only the hash is known. */
  before: KnownState | null;
  after: KnownState | null;
  /**
   * The bytes that `transaction`, `before` and `after` are read from, where there are such: equal bytes, equal values.
   * Who has them need not decode what was decoded before.
   */
  stored?: StoredBytes;
  /** `finalized` where it is left out. */
  finality?: Finality;
  /** The transaction as it is shown, where it is kept so: between those who make such forms and those who show them. */
  form?: Buffer;
}

export interface StoredBytes {
  /** The transaction as a bag of cells of its own. */
  payload: Buffer;
  /** The states beside it, as the source packs them. */
  states: Buffer;
}

export interface MessageRecord {
  message: Message;
  globalVersion: number;
  /** The transaction that received the message, and the one that sent it; null when not seen. */
  inTxHash: Hash | null;
  outTxHash: Hash | null;
  /** The form of a transaction that shows the message, and its place there: 0 the in-message, then the others. */
  form?: { transaction: Buffer; index: number };
}

/** Of which accounts code and data are wanted with the state; of wallets the data alone. */
export type AccountCells = 'none' | 'all' | 'wallets';

export interface AccountRecord extends KnownState {
  account: Address;
  hash: Hash;
  lastTransactionHash: Hash;
  lastTransactionLt: Decimal;
  /** Serialised code and data; null when not asked for or never seen in full. */
  codeBoc: Buffer | null;
  dataBoc: Buffer | null;
  /** Get-method ids of the code, ascending; null when the code was never seen. */
  methods: number[] | null;
}

/** What the address book needs of an account. */
export interface BookRecord {
  account: Address;
  codeHash: Hash | null;
  methods: number[] | null;
}

export interface BalanceRecord {
  account: Address;
  balance: Decimal;
}

/** Where a transaction stands. */
export interface TracePlace {
  account: Address;
  lt: Decimal;
  mcSeqno: number;
  /** The first step that it may be of, where that is not known. */
  since?: number;
}

/** How a trace stands (spec v3 semantics 3.1), and where its transactions are. */
export interface TraceRecord {
  traceId: Hash;
  externalHash: Hash | null;
  mcSeqnoStart: number;
  mcSeqnoEnd: number;
  startLt: Decimal;
  startUtime: number;
  endLt: Decimal;
  endUtime: number;
  transactions: number;
  messages: number;
  pendingMessages: number;
  state: 'pending' | 'complete' | 'broken';
  classification: 'unclassified' | 'ok' | 'failed';
  /** None where it is too large to be shown with its transactions. */
  places: readonly TracePlace[];
}

/** An action of a complete trace. */
export interface ActionRecord {
  traceId: Hash;
  traceEndLt: Decimal;
  traceEndUtime: number;
  /** Step in which the trace ended. */
  mcSeqno: number;
  /** Place among the actions of the trace, by their ends. */
  number: number;
  actionId: Hash;
  startLt: Decimal;
  endLt: Decimal;
  startUtime: number;
  endUtime: number;
  /** As filters compare it. */
  type: string;
  success: boolean;
  /** Types of the actions that it is a part of, innermost first. */
  ancestors: readonly string[];
  /** Of the trace; the normalised hash only where it differs. */
  externalHash: Hash | null;
  externalHashNorm: Hash | null;
  /** Hashes, one behind the other. */
  transactions: Buffer;
  /** JSON: the details, then the accounts that it is found by. */
  content: string;
  /** What is to be known to show it, where that is kept: between those who make such forms and those who show them. */
  form?: Buffer;
}

/** An action of a trace that is not complete in the index: its root may be emulated. */
export interface PendingActionRecord extends Omit<ActionRecord, 'traceId' | 'form'> {
  traceId: Hash | null;
  /** Types of the actions that it is a part of, innermost first. */
  ancestors: readonly string[];
  finality: Finality;
}

/** A trace that is not complete in the index. */
export interface PendingTraceRecord extends Omit<TraceRecord, 'traceId' | 'places'> {
  traceId: Hash | null;
  /** Some of what is emulated was left out. */
  isIncomplete: boolean;
}

export type Sort = 'asc' | 'desc';

export interface Page {
  limit: number;
  offset: number;
}

/** Inclusive on both ends. */
export interface Bounds<T> {
  start?: T | undefined;
  end?: T | undefined;
}

export interface BlockFilter {
  workchain?: number | undefined;
  shard?: Shard | undefined;
  seqno?: number | undefined;
  rootHash?: Hash | undefined;
  fileHash?: Hash | undefined;
  mcSeqno?: number | undefined;
  utime: Bounds<number>;
  lt: Bounds<Decimal>;
  sort: Sort;
  page: Page;
  cursor?: string | undefined;
}

export interface TransactionFilter {
  workchain?: number | undefined;
  shard?: Shard | undefined;
  seqno?: number | undefined;
  mcSeqno?: number | undefined;
  accounts: Address[];
  excludeAccounts: Address[];
  hashes: Hash[];
  /** `hash` was given without a value. */
  emptyHash?: boolean | undefined;
  lt?: Decimal | undefined;
  utime: Bounds<number>;
  ltWindow: Bounds<Decimal>;
  sort: Sort;
  page: Page;
  cursor?: string | undefined;
}

export interface TransactionsByMessageFilter {
  messageHashes: Hash[];
  bodyHash?: Hash | undefined;
  opcode?: number | undefined;
  direction?: 'in' | 'out' | undefined;
  source?: Address | undefined;
  destination?: Address | undefined;
  sort: Sort;
  page: Page;
}

export interface MessageFilter {
  messageHashes: Hash[];
  bodyHash?: Hash | undefined;
  /** `null` asks for messages without an internal address on that side. */
  source?: Address | null | undefined;
  destination?: Address | null | undefined;
  opcode?: number | undefined;
  direction?: 'in' | 'out' | undefined;
  utime: Bounds<number>;
  ltWindow: Bounds<Decimal>;
  excludeExternals: boolean;
  onlyExternals: boolean;
  sort: Sort;
  page: Page;
  cursor?: string | undefined;
}

/** What a filter of messages says that keeps nothing out. */
export const ANY_MESSAGE: Omit<MessageFilter, 'sort' | 'page'> = {
  messageHashes: [],
  utime: {},
  ltWindow: {},
  excludeExternals: false,
  onlyExternals: false,
};

/** Complete traces; such as are named are found too when they are broken. */
export interface TraceFilter {
  account?: Address | undefined;
  /** Such as are named are found while they grow, too, as they stand. */
  growing?: boolean | undefined;
  traceIds: Hash[];
  txHashes: Hash[];
  messageHashes: Hash[];
  /** Step in which they ended. */
  mcSeqno?: number | undefined;
  /** Of their ends, as `ltWindow`. */
  utime: Bounds<number>;
  ltWindow: Bounds<Decimal>;
  sort: Sort;
  page: Page;
  cursor?: string | undefined;
}

export interface ActionFilter {
  accounts: Address[];
  excludeAccounts: Address[];
  traceIds: Hash[];
  actionIds: Hash[];
  txHashes: Hash[];
  messageHashes: Hash[];
  /** Step in which their traces ended. */
  mcSeqno?: number | undefined;
  /** Of the ends of their traces, as `ltWindow`. */
  utime: Bounds<number>;
  ltWindow: Bounds<Decimal>;
  types: string[];
  excludeTypes: string[];
  /** Told with one of these opcodes, about one of these jettons (masters), with a value or amount inside the bounds. */
  opcodes?: number[];
  jettons?: Address[];
  value?: Bounds<Decimal>;
  /**
   * Types that the client knows: others are shown only when `types` names them, and parts of those that are known not at
   * all. Null for all there is, wholes and parts.
   */
  supported: ReadonlySet<string> | null;
  /** Only as they were told up to this step, whatever was learned since. Default: as they are told at the head. */
  told?: number | undefined;
  /** Of what lies below some steps: among what passes is some that these steps have told again. */
  toldBelow?: boolean | undefined;
  sort: Sort;
  page: Page;
  cursor?: string | undefined;
}

/** What a filter of actions says that keeps nothing out. */
export const ANY_ACTION: Omit<ActionFilter, 'sort' | 'page'> = {
  accounts: [],
  excludeAccounts: [],
  traceIds: [],
  actionIds: [],
  txHashes: [],
  messageHashes: [],
  utime: {},
  ltWindow: {},
  types: [],
  excludeTypes: [],
  supported: null,
};

/** A page of rows; `nextCursor` is null on the last page and where keyset paging does not apply. */
export interface Rows<T> {
  rows: T[];
  nextCursor: string | null;
}

/** Steps from one number to another. */
export interface StepRange {
  first: number;
  last: number;
  /** Transactions from which on no further step is begun. */
  enough: number;
}

/** All that a step holds. */
export interface StepRecords {
  mcSeqno: number;
  /** Of its masterchain block, Unix seconds; null of a step that was imported without it. */
  utime: number | null;
  /** By lt and account, each with its form where it has one. */
  transactions: TransactionRecord[];
  /** In the order of the listing of blocks. */
  blocks: BlockRecord[];
}

/** Steps of a range, ascending. */
export interface StepRun {
  /** Without those that are not there: numbers may be left out in imported sequences. */
  steps: StepRecords[];
  /** Up to where the range was read: never above the newest step. */
  last: number;
}

/** Carried by every question: ends it early. */
export interface QueryContext {
  signal: AbortSignal;
  /** Milliseconds for each query of the request. */
  timeoutMs: number;
  /** For each question to liteservers; the same unless given. */
  nodeTimeoutMs?: number | undefined;
  /**
   * Set by who shows a row with a form by that alone. Of a transaction in a listing nothing else is read then but its
   * place (account, lt, time), of a message nothing but its keys: more can be asked of the row only until the answer.
   */
  formsSuffice?: boolean;
  /** The same, of messages that are named: not even their forms are read. */
  keysSuffice?: boolean;
}
