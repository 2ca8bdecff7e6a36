/** The kinds of contracts that are told apart, and how each is told (spec v3 semantics 6.2). */
import type { Table, TableWith } from '../../../clickhouse/tables/table.ts';
import type { DetectedRecord } from '../../../src/chain/contract-records.ts';
import { methodId } from '../../../src/chain/interfaces.ts';
import type { Address, Decimal, Hash } from '../../../src/chain/model.ts';
import type { StackValue } from '../../../src/tvm/stack.ts';
import type { GrowingRows } from '../step-rows.ts';
import type { Results } from './stack.ts';
import type { Subject } from './subject.ts';

/** What a kind has besides. */
export type Found<R extends DetectedRecord> = Omit<R, keyof DetectedRecord>;

/** What those are asked who must confirm others: a contract with such a get-method need be of no kind itself. */
export const CONFIRMING = [
  'get_wallet_address',
  'get_nft_address_by_index',
  'get_order_address',
  'get_pool_address',
] as const;

/** What detectors ask besides the contract's own data, all as of the same step. */
export interface Asking {
  /** Runs a get-method. Throws OtherKind when it fails. */
  call(subject: Subject, method: string, args?: readonly StackValue[]): Promise<Results>;
  /** Another contract, which must have the method. Throws OtherKind for none, NotShown for one that is not known. */
  contract(account: Address, method: (typeof CONFIRMING)[number]): Promise<Subject>;
  /** Collections whose items are domains. */
  isDnsCollection(collection: Address): boolean;
  /** Whether the wallet was confirmed before with this owner by this master. */
  isConfirmed(wallet: Address, owner: Address, master: Address): boolean;
  /** Whether the master has confirmed a wallet with this code in a step before. */
  hasConfirmed(master: Address, codeHash: Hash): Promise<boolean>;
}

/**
 * What several calls leave that run at the same time. Where more than one fails, the first by its place counts: which
 * one fails first in time depends on what is remembered, and what follows from a failure on which it is.
 */
export async function answersOf<T extends readonly unknown[]>(
  calls: readonly [...{ [K in keyof T]: Promise<T[K]> }],
): Promise<T> {
  await Promise.allSettled(calls);
  const answers: unknown[] = [];
  for (const call of calls) answers.push(await call);
  return answers as unknown as T;
}

/** What is remembered of the rows of a kind beside the contract itself. */
export interface Tie {
  owner: Address | null;
  /** The master of a jetton wallet, the collection of an item. */
  of: Address | null;
  balance: Decimal;
}

/** The row before, as far as it is remembered. */
export interface KnownRow {
  id: Decimal;
  lt: Decimal;
  tie: Tie | null;
}

export interface Kind<R extends DetectedRecord = DetectedRecord> {
  name: string;
  table: TableWith<R> & Table;
  /** A contract may be of the kind when it has one of these get-methods. */
  methods: ReadonlySet<number>;
  /** It may also be told by its code, hex hashes; without methods by these alone. */
  codes: ReadonlySet<string>;
  /** Throws OtherKind and NotShown. More rows than one are of tables beside. */
  detect(subject: Subject, ask: Asking): Promise<Found<R>>;
  /** Of kinds whose rows others depend on: `columns` as they are selected, an address, an address and an Int256. */
  tie?: { columns: string; of(row: R): Tie };
  /** Where every state is kept, besides the newest. */
  states?: TableWith<R> & Table;
  /** Writes what stands beside a row in tables of its own. */
  beside?(rows: GrowingRows, row: R, before: KnownRow | null): void;
}

export function kind<R extends DetectedRecord>(
  name: string,
  table: TableWith<R>,
  by: { methods?: readonly string[]; codes?: readonly string[] },
  detect: (subject: Subject, ask: Asking) => Promise<Found<R>>,
  { states, ...more }: Pick<Kind<R>, 'tie' | 'beside'> & { states?: TableWith<R> } = {},
): Kind<R> {
  return {
    name,
    table: table as Kind<R>['table'],
    methods: new Set((by.methods ?? []).map(methodId)),
    codes: new Set((by.codes ?? []).map((hash) => hash.toLowerCase())),
    detect,
    ...(states ? { states: states as Kind<R>['table'] } : {}),
    ...more,
  };
}

export const jsonOf = (content: Readonly<Record<string, string>>): string => JSON.stringify(content);
