import type { ContractSource } from './contract-records.ts';
import type { Address, Hash } from './model.ts';
import type {
  AccountCells,
  AccountRecord,
  ActionFilter,
  ActionRecord,
  BalanceRecord,
  BlockFilter,
  BlockRecord,
  BookRecord,
  MessageFilter,
  MessageRecord,
  Page,
  QueryContext,
  Rows,
  StepRange,
  StepRun,
  TraceFilter,
  TracePlace,
  TraceRecord,
  TransactionFilter,
  TransactionRecord,
  TransactionsByMessageFilter,
} from './records.ts';

/**
 * The questions one can ask about a chain. Whoever answers (tables, the window of newest steps) answers in these terms, so
 * routes do not know who answered.
 */
export interface ChainSource {
  /** First and last masterchain blocks that are visible; null before there is one. */
  masterchainInfo(context: QueryContext): Promise<{ first: BlockRecord; last: BlockRecord } | null>;
  /** Whether the masterchain block itself is indexed. */
  hasMasterchainBlock(seqno: number, context: QueryContext): Promise<boolean>;
  blocks(filter: BlockFilter, context: QueryContext): Promise<Rows<BlockRecord>>;
  /** The masterchain block and the top block of every shard as of it, by workchain, signed shard, seqno. */
  shardState(mcSeqno: number, context: QueryContext): Promise<BlockRecord[]>;
  /**
   * Whole steps, for who tells all of them: at least one number is read, and as many as are read well at once.
   * @throws when the first lies above the newest step
   */
  steps(range: StepRange, context: QueryContext): Promise<StepRun>;
  transactions(filter: TransactionFilter, context: QueryContext): Promise<Rows<TransactionRecord>>;
  transactionsByMessage(filter: TransactionsByMessageFilter, context: QueryContext): Promise<TransactionRecord[]>;
  adjacentTransactions(
    hash: Hash,
    direction: 'in' | 'out' | undefined,
    context: QueryContext,
  ): Promise<TransactionRecord[]>;
  /** The transactions at these places, in no order. */
  transactionsAt(places: readonly TracePlace[], context: QueryContext): Promise<TransactionRecord[]>;
  messages(filter: MessageFilter, context: QueryContext): Promise<Rows<MessageRecord>>;
  traces(filter: TraceFilter, context: QueryContext): Promise<Rows<TraceRecord>>;
  actions(filter: ActionFilter, context: QueryContext): Promise<Rows<ActionRecord>>;
  /** Known accounts only, in the order of the request; with code and data where they are asked for and known. */
  accountStates(
    accounts: Address[],
    codeHashes: Hash[],
    cells: AccountCells,
    context: QueryContext,
  ): Promise<AccountRecord[]>;
  /** The same as a step left them that is shown: of what is known, code and data where they are still known. */
  accountStatesAt(
    accounts: Address[],
    codeHashes: Hash[],
    cells: AccountCells,
    mcSeqno: number,
    context: QueryContext,
  ): Promise<AccountRecord[]>;
  /** One record for each account asked for, unknown ones with null code. */
  book(accounts: Address[], context: QueryContext): Promise<BookRecord[]>;
  topBalances(page: Page, context: QueryContext): Promise<BalanceRecord[]>;
  /** What contracts are. */
  contracts: ContractSource;
}
