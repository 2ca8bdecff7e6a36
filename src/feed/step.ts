/** One step as it is told: its events, and what is beside them, each part read when somebody listens to it. */
import { type TokenInfos, tokenInfos } from '../api/v3/render/metadata.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type {
  BlockRecord,
  BookRecord,
  MessageRecord,
  QueryContext,
  TraceRecord,
  TransactionRecord,
} from '../chain/records.ts';
import {
  type ActionsEvent,
  blockEvents,
  type FeedEvent,
  isMessage,
  isOfTrace,
  messageEvents,
  messagesOf,
  stateEvents,
  type TraceEvent,
  transactionEvents,
} from './events.ts';
import { accountKey } from './hearing.ts';
import type { Surroundings } from './notification.ts';
import { comparePlaces } from './place.ts';
import type { Senders } from './senders.ts';
import { transferEvents, type WalletStates, walletEvents } from './token-events.ts';
import {
  actionsEvent,
  actionsOf,
  aloneEvent,
  type EndedTrace,
  endedTraces,
  groupEvent,
  type SettledTraces,
  traceEvent,
  tracesOf,
  transactionsOf,
} from './trace-events.ts';

/** Parts of a step that are read only when they are wanted. */
export const PARTS = [
  'states',
  'blocks',
  'messages',
  'wallets',
  'jettonTransfers',
  'nftTransfers',
  'groups',
  'actions',
] as const;
export type Part = (typeof PARTS)[number];

/** What those who are told of a step want to know beside its transactions. */
export interface Wants {
  parts: ReadonlySet<Part>;
  /** Traces in full: normalised hashes of the messages that began them, standard base64. */
  traces: Pick<ReadonlySet<string>, 'size' | 'has'>;
  addressBook: boolean;
  metadata: boolean;
}

export interface FeedStep extends Surroundings {
  readonly mcSeqno: number;
  /** Whether the step is there at all: numbers may be left out in imported sequences. */
  readonly exists: boolean;
  /** Of the masterchain block, Unix seconds; 0 when the step is not there. */
  readonly utime: number;
  /** Normalised hashes of the messages that began traces of its transactions, standard base64. */
  readonly traces: Iterable<string>;
  /** In their order; of each part once it was loaded. */
  readonly events: readonly FeedEvent[];
  /** Its own. */
  readonly transactions: number;
  /** Roughly what it takes in memory, in transactions. */
  readonly weight: number;
  has(wants: Wants): boolean;
  load(wants: Wants, signal: AbortSignal): Promise<void>;
}

export interface StepFacts {
  mcSeqno: number;
  utime: number;
  exists: boolean;
  /** By lt and account. */
  records: readonly TransactionRecord[];
  /** In the order of the listing of blocks. */
  blocks: readonly BlockRecord[];
  /** By trace id: normalised hash of the message that began it, standard base64; empty where there is none. */
  traceHashes: ReadonlyMap<string, string>;
}

/** Whom steps ask for what is beside their transactions; what several ask at the same time is one question. */
export interface Asked {
  source: ChainSource;
  senders: Senders;
  settled: SettledTraces;
  wallets: WalletStates;
}

export interface StepOptions extends StepFacts, Asked {
  context: (signal: AbortSignal) => QueryContext;
  /** The step has become heavier. */
  onLoaded: (step: FeedStep) => void;
}

export function createStep(options: StepOptions): FeedStep {
  return new ReadStep(options);
}

class ReadStep implements FeedStep {
  events: readonly FeedEvent[];
  readonly #options: StepOptions;
  readonly #loaded = new Set<Part>();
  #senders: ReadonlyMap<string, Hash> = new Map();
  #settled: ReadonlyMap<string, TraceRecord> | null = null;
  #ended: readonly EndedTrace[] = [];
  #actions: Awaited<ReturnType<typeof actionsOf>> | null = null;
  readonly #whole = new Map<string, readonly TransactionRecord[] | null>();
  readonly #told = new Set<string>();
  #book = new Map<string, BookRecord>();
  #tokens: TokenInfos | null = null;
  readonly #underWay = new WeakMap<AbortSignal, Map<string, Promise<void>>>();
  /** Events whose addresses are in the book, and have their tokens told. */
  #booked = -1;
  #described = -1;

  constructor(options: StepOptions) {
    this.#options = options;
    this.events = transactionEvents(options.mcSeqno, options.records);
  }

  get mcSeqno(): number {
    return this.#options.mcSeqno;
  }
  get exists(): boolean {
    return this.#options.exists;
  }
  get utime(): number {
    return this.#options.utime;
  }
  get traces(): Iterable<string> {
    return this.#options.traceHashes.values();
  }
  get transactions(): number {
    return this.#options.records.length;
  }
  get weight(): number {
    let elsewhere = 0;
    for (const transactions of this.#whole.values()) elsewhere += transactions?.length ?? 0;
    return this.events.length + this.#book.size + elsewhere + 1;
  }

  has({ parts, traces, addressBook, metadata }: Wants): boolean {
    for (const part of parts) if (!this.#loaded.has(part)) return false;
    if (this.#missingTraces(traces)) return false;
    if (addressBook && this.#booked !== this.events.length) return false;
    return !metadata || this.#described === this.events.length;
  }

  async load({ parts, traces, addressBook, metadata }: Wants, signal: AbortSignal): Promise<void> {
    const missing = [...parts].filter((part) => !this.#loaded.has(part));
    await Promise.all(missing.map((part) => this.#once(part, signal, (context) => this.#loadPart(part, context))));
    if (this.#missingTraces(traces)) await this.#loadTraces(traces, this.#options.context(signal));
    const { length } = this.events;
    if (addressBook || metadata) {
      await this.#once(`book ${length}`, signal, (context) => this.#loadBook(length, context));
    }
    if (metadata && this.#described !== length) {
      await this.#once(`tokens ${length}`, signal, (context) => this.#loadTokens(length, context));
    }
    this.#options.onLoaded(this);
  }

  /** What is on its way for one who waits as long is not asked for again. */
  #once(name: string, signal: AbortSignal, work: (context: QueryContext) => Promise<void>): Promise<void> {
    const underWay = this.#underWay.get(signal) ?? new Map<string, Promise<void>>();
    this.#underWay.set(signal, underWay);
    const known = underWay.get(name);
    if (known !== undefined) return known;
    const made = work(this.#options.context(signal)).finally(() => underWay.delete(name));
    underWay.set(name, made);
    return made;
  }

  async #loadPart(part: Part, context: QueryContext): Promise<void> {
    const { mcSeqno, records, source } = this.#options;
    switch (part) {
      case 'states':
        return this.#add(part, stateEvents(mcSeqno, records));
      case 'blocks':
        return this.#add(part, blockEvents(mcSeqno, this.#options.blocks));
      case 'messages':
        return this.#loadMessages(context);
      case 'wallets':
        return this.#add(part, await walletEvents(stateEvents(mcSeqno, records), this.#options.wallets, context));
      case 'jettonTransfers':
      case 'nftTransfers': {
        const kind = part === 'jettonTransfers' ? 'jetton_transfer' : 'nft_transfer';
        // Of each step by itself: what came to light in a later one was not told then.
        return this.#add(part, await transferEvents(kind, mcSeqno, records, source.contracts, context));
      }
      case 'groups':
        return this.#loadGroups(context);
      case 'actions': {
        const actions = await this.#loadActions(context);
        const events = this.#ended.map((one) => actionsEvent(mcSeqno, one, actions.get(hashKey(one.traceId)) ?? []));
        return this.#add(part, events);
      }
      default:
        part satisfies never;
    }
  }

  /** Once: another may have loaded it meanwhile. */
  #add(part: Part, more: readonly FeedEvent[]): void {
    if (this.#loaded.has(part)) return;
    this.#loaded.add(part);
    this.#put(more);
  }

  #put(more: readonly FeedEvent[]): void {
    if (more.length > 0) this.events = [...this.events, ...more].sort((a, b) => comparePlaces(a.place, b.place));
  }

  async #loadMessages(context: QueryContext): Promise<void> {
    const { mcSeqno, records, senders } = this.#options;
    const messages = records.map(messagesOf);
    this.#senders = await senders.of(records, messages, context);
    this.#add('messages', messageEvents(mcSeqno, records, messages));
  }

  async #loadEnds(context: QueryContext): Promise<ReadonlyMap<string, TraceRecord>> {
    const { mcSeqno, records, settled: ask } = this.#options;
    if (this.#settled === null) {
      const settled = await ask(tracesOf(records), context);
      this.#ended = endedTraces(mcSeqno, records, settled);
      this.#settled = settled;
    }
    return this.#settled;
  }

  async #loadActions(context: QueryContext) {
    await this.#loadEnds(context);
    this.#actions ??= await actionsOf(this.#options.mcSeqno, this.#ended, this.#options.source, context);
    return this.#actions;
  }

  async #transactionsOf(ended: EndedTrace, context: QueryContext): Promise<readonly TransactionRecord[] | null> {
    const key = hashKey(ended.traceId);
    const known = this.#whole.get(key);
    if (known !== undefined) return known;
    const { records, source } = this.#options;
    const found = await transactionsOf(ended, records, source, context);
    this.#whole.set(key, found);
    return found;
  }

  async #loadGroups(context: QueryContext): Promise<void> {
    const { mcSeqno, records } = this.#options;
    const settled = await this.#loadEnds(context);
    const events: FeedEvent[] = [];
    for (const ended of this.#ended) {
      events.push(groupEvent(mcSeqno, ended, await this.#transactionsOf(ended, context), records));
    }
    for (const [index, record] of records.entries()) {
      const trace = record.traceId && settled.get(hashKey(record.traceId));
      if (record.traceId === null || trace?.state === 'broken') events.push(aloneEvent(mcSeqno, index, record));
    }
    this.#add('groups', events);
  }

  async #loadTraces(traces: Wants['traces'], context: QueryContext): Promise<void> {
    const { mcSeqno } = this.#options;
    const actions = await this.#loadActions(context);
    for (const ended of this.#ended) {
      const key = hashKey(ended.traceId);
      const hash = this.#hashOfTrace(ended.traceId);
      if (!traces.has(hash) || this.#told.has(key)) continue;
      const transactions = await this.#transactionsOf(ended, context);
      if (this.#told.has(key)) continue;
      this.#told.add(key);
      this.#put([traceEvent(mcSeqno, ended, hash, transactions, actions.get(key) ?? [])]);
    }
  }

  /** Whether one of these traces may end here and was not told yet. */
  #missingTraces(traces: Wants['traces']): boolean {
    if (traces.size === 0) return false;
    const isWanted = (id: string, hash: string): boolean => traces.has(hash) && !this.#told.has(id);
    if (this.#settled === null) {
      for (const [id, hash] of this.#options.traceHashes) if (isWanted(id, hash)) return true;
      return false;
    }
    return this.#ended.some(({ traceId }) => isWanted(hashKey(traceId), this.#hashOfTrace(traceId)));
  }

  async #loadBook(length: number, context: QueryContext): Promise<void> {
    if (this.#booked === length) return;
    const accounts = new Map(this.events.flatMap(addressesOf).map((account) => [accountKey(account), account]));
    const asked = [...accounts].flatMap(([key, account]) => (this.#book.has(key) ? [] : [account]));
    const found = asked.length === 0 ? [] : await this.#options.source.book(asked, context);
    for (const record of found) this.#book.set(accountKey(record.account), record);
    this.#booked = length;
  }

  async #loadTokens(length: number, context: QueryContext): Promise<void> {
    this.#tokens = await tokenInfos([...this.#book.values()], this.#options.source.contracts, context);
    this.#described = length;
  }

  #hashOfTrace(traceId: Buffer | null): string {
    return (traceId && this.#options.traceHashes.get(hashKey(traceId))) ?? '';
  }

  traceHash(event: FeedEvent): string {
    if (event.type === 'block') return '';
    if (event.type === 'trace_transactions') return this.#hashOfTrace(event.records[0]?.traceId ?? null);
    return this.#hashOfTrace(isOfTrace(event) ? event.traceId : event.record.traceId);
  }

  messageRecord(event: FeedEvent): MessageRecord {
    if (!isMessage(event)) throw new Error(`an event of type ${event.type} has no message`);
    const { message, record, index } = event;
    const { globalVersion, transaction, form } = record;
    const received = event.type === 'message';
    const inTxHash = received ? transaction.hash : null;
    const outTxHash = received ? (this.#senders.get(hashKey(message.hash)) ?? null) : transaction.hash;
    const shown = form === undefined ? {} : { form: { transaction: form, index } };
    return { message, globalVersion, inTxHash, outTxHash, ...shown };
  }

  bookRecords(accounts: readonly Address[]): BookRecord[] {
    return accounts.flatMap((account) => this.#book.get(accountKey(account)) ?? []);
  }

  metadata(accounts: readonly Address[]): string {
    return this.#tokens?.json(accounts) ?? '{}';
  }
}

const mentioned = ({ actions }: ActionsEvent | TraceEvent): Address[] =>
  actions.flatMap(({ mentions }) => [...mentions.values()]);

/** All that an event prints. */
function addressesOf(event: FeedEvent): Address[] {
  switch (event.type) {
    case 'block':
      return [];
    case 'trace_transactions':
      return event.records.flatMap(transactionAddresses);
    case 'actions':
      return mentioned(event);
    case 'trace':
      return [...(event.transactions ?? []).flatMap(transactionAddresses), ...mentioned(event)];
    case 'jettons_change':
      return [event.wallet.address, event.wallet.owner, event.wallet.jetton];
    case 'jetton_transfer':
    case 'nft_transfer': {
      const { record, token, from, to, response } = event;
      return [record.transaction.account, token, from, to, response].filter((address) => address !== null);
    }
    case 'transactions':
      return transactionAddresses(event.record);
    case 'account_state_change':
    case 'message':
    case 'external_out':
      // Of their transaction, which has them all.
      return [];
  }
}

export function transactionAddresses({ transaction: { account, inMsg, outMsgs } }: TransactionRecord): Address[] {
  const ends = [inMsg, ...outMsgs].flatMap((message) => [message?.source ?? null, message?.destination ?? null]);
  return [account, ...ends.filter((address) => address !== null)];
}
