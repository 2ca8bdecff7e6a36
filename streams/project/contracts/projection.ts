/** What contracts are, from the states that a step leaves: rows by kind, and what verified contracts were told to do. */
import { setMaxListeners } from 'node:events';
import type { ClickHouse } from '../../../clickhouse/client.ts';
import { decodeState } from '../../../clickhouse/states.ts';
import { accountData, accounts as accountTable, codes as codeTable } from '../../../clickhouse/tables/accounts.ts';
import {
  jettonBalances,
  jettonBurns,
  jettonHolders,
  jettonTransfers,
  jettonWalletCodes,
} from '../../../clickhouse/tables/jettons.ts';
import { nftTransfers } from '../../../clickhouse/tables/nfts.ts';
import { contractWaits } from '../../../clickhouse/tables/services.ts';
import { compareDecimal } from '../../../src/chain/decimal.ts';
import { hashKey } from '../../../src/chain/hash.ts';
import type { Address, Hash } from '../../../src/chain/model.ts';
import { type BatchAccounts, type BatchPlace, createAccountStore } from '../accounts.ts';
import type { Counters } from '../counters.ts';
import type { DecodedStep } from '../decode.ts';
import { createPauses } from '../pause.ts';
import type { OpenProjection, Projection, ProjectionContext } from '../projection.ts';
import type { GrowingRows } from '../step-rows.ts';
import { createCodeStore } from './codes.ts';
import { AT_ONCE, type Detected, detectAll, KINDS } from './detection.ts';
import { dnsCollections } from './domains.ts';
import { writeEvents } from './events.ts';
import { jettonWallet } from './jettons.ts';
import type { Kind } from './kinds.ts';
import { createKnownRows, idOf } from './known.ts';
import { type Confirmed, createLateEvents } from './late-events.ts';
import { createMethods, type StepView } from './methods.ts';
import { createPairs } from './pairs.ts';
import { candidatesOf, codesOf, learnedIn, planBatch } from './plan.ts';
import { askable, missingCode } from './subject.ts';
import { createWaits } from './waits.ts';

const CACHED_ACCOUNTS = 100_000;
const CACHED_DATA_BYTES = 32 * 1024 * 1024;
/** A few get-methods for each of them, and the requests of the batch. */
const MAX_LISTENERS = 8 * AT_ONCE;

export const contracts: Projection = {
  name: 'contracts',
  version: 5,
  tables: [
    ...KINDS.flatMap(({ table, states }) => (states ? [table, states] : [table])),
    jettonWalletCodes,
    jettonHolders,
    jettonBalances,
    jettonTransfers,
    jettonBurns,
    nftTransfers,
    contractWaits,
  ],
  open: openContracts,
};

type Memory = ReturnType<typeof createMemory>;

function createMemory(clickhouse: ClickHouse, counters: Counters) {
  return {
    store: createAccountStore({ clickhouse, cachedAccounts: CACHED_ACCOUNTS, cachedDataBytes: CACHED_DATA_BYTES }),
    codes: createCodeStore(clickhouse),
    known: createKnownRows(clickhouse, KINDS),
    waits: createWaits(clickhouse),
    pairs: createPairs(clickhouse),
    lateEvents: createLateEvents(clickhouse, counters),
  };
}

function openContracts({ clickhouse, config, counters, name }: ProjectionContext): OpenProjection {
  const memory = createMemory(clickhouse, counters);
  const methods = createMethods(counters);
  const isDnsCollection = dnsCollections(config.dnsCollections);

  function projectBatch(
    { store, codes, known, waits, pairs, lateEvents }: Memory,
    batch: BatchPlace,
    views: ReadonlyMap<number, StepView>,
    signal: AbortSignal,
  ) {
    setMaxListeners(MAX_LISTENERS, signal);
    return async (made: readonly GrowingRows[]): Promise<void> => {
      pairs.clear();
      const accounts = await planBatch(made, { batch, store, codes, known, waits, signal });
      const pause = createPauses();
      for (const rows of made) {
        await pause();
        const step = views.get(rows.mcSeqno);
        if (step === undefined) throw new Error(`step ${rows.mcSeqno} is not of the batch`);
        const { changed, isFresh } = await takeStates(rows, accounts);
        const confirmed = await tellStates(rows, changed, accounts, step);
        writeEvents(rows, known);
        const late = confirmed.filter(({ account }) => !isFresh(account));
        await lateEvents.write(rows, { confirmed: late, known, batch, signal });
        lateEvents.hold(rows, known, batch.number);
      }
    };

    /**
     * Brings memory to the end of the step.
     * @returns what is to be looked at, by account, and which of that was no contract before
     */
    async function takeStates(
      rows: GrowingRows,
      accounts: BatchAccounts,
    ): Promise<{ changed: Address[]; isFresh(account: Address): boolean }> {
      const looked = new Map<string, Address>();
      const states = new Map<string, Buffer | null>();
      const look = (account: Address): void => void looked.set(hashKey(account), account);
      const lookAtWaiting = (shown: Address): void => {
        for (const one of waits.take(shown, rows, batch.number)) look(one);
      };
      for (const { codeHash, boc } of rows.of(codeTable)) codes.put(codeHash, boc, batch.number);
      await codes.loadWithLibraries(
        rows.of(codeTable).map(({ codeHash }) => codeHash),
        signal,
      );
      const learned = learnedIn(rows);
      const data = new Map(rows.of(accountData).map((row) => [hashKey(row.account), row]));
      for (const { account, lt, hash, state, codeHash } of rows.of(accountTable)) {
        const key = hashKey(account);
        const before = accounts.get(account);
        states.set(key, before?.state ?? null);
        const shown = data.get(key);
        data.delete(key);
        const can = candidatesOf(codes, codeHash);
        const isKept = can !== null && (can.kinds.length > 0 || can.confirms);
        const newest = shown ? { hash: shown.dataHash, lt: shown.lt } : (before?.storedData ?? null);
        // Of accounts that are nothing, or not told yet, it is not kept which data the tables have: these are asked then.
        accounts.put(account, { lt, hash: Buffer.from(hash), state, storedData: isKept ? newest : null });
        // The same account may be something with its next code, and have this data still.
        if (shown) accounts.putData(account, shown.boc, { lasting: can === null || isKept });
        if (can === null || can.kinds.length > 0) look(account);
        const isWaitedFor = isKept || (can !== null && learned.has(key));
        if (isWaitedFor && (before === null || shown)) lookAtWaiting(account);
      }
      // Data that a node was asked for.
      for (const { account, lt, dataHash, boc } of data.values()) {
        const stored = accounts.get(account);
        if (stored === null) continue;
        accounts.put(account, { ...stored, storedData: { hash: dataHash, lt } });
        accounts.putData(account, boc);
        look(account);
        lookAtWaiting(account);
      }
      for (const { codeHash } of rows.of(codeTable)) {
        for (const one of waits.take(missingCode(codeHash), rows, batch.number)) {
          look(one);
          lookAtWaiting(one);
        }
      }
      const isFresh = (account: Address): boolean => {
        const before = states.get(hashKey(account));
        return before !== undefined && (before === null || decodeState(before).codeHash === null);
      };
      return { changed: [...looked.values()].sort((a, b) => a.compare(b)), isFresh };
    }

    async function tellStates(
      rows: GrowingRows,
      changed: readonly Address[],
      accounts: BatchAccounts,
      step: StepView,
    ): Promise<Confirmed[]> {
      const confirmed: Confirmed[] = [];
      const reach = async (account: Address): Promise<BatchAccounts> => {
        const reached = await store.begin(batch, [account], signal);
        await codes.loadWithLibraries(codesOf([account], reached), signal);
        return reached;
      };
      const hasConfirmed = async (master: Address, codeHash: Hash): Promise<boolean> =>
        (await pairs.since(master, codeHash, batch, signal)) < rows.mcSeqno;
      const options = { accounts, reach, codes, known, hasConfirmed, methods, isDnsCollection, step, signal, counters };
      const places = new Map<Kind, number>();
      for await (const { account, detected, missing } of detectAll(changed, options)) {
        for (const one of missing) {
          counters.waitingContracts++;
          waits.add(one.missing, account, rows, batch.number);
          name(askable(one));
        }
        if (detected === null) continue;
        const kinds = writeDetected({ known, pairs }, rows, detected, places, batch.number);
        if (kinds.length > 0) confirmed.push({ account, kinds });
      }
      return confirmed;
    }
  }

  /** @returns the kinds that it is found to be of for the first time */
  function writeDetected(
    { known, pairs }: Pick<Memory, 'known' | 'pairs'>,
    rows: GrowingRows,
    { subject, found }: Detected,
    places: Map<Kind, number>,
    batch: number,
  ): string[] {
    const fresh: string[] = [];
    const { account: address, lt: lastTransactionLt, codeHash, dataHash } = subject;
    for (const { kind, row } of found) {
      const before = known.get(kind.name, address);
      if (before !== null && compareDecimal(before.lt, lastTransactionLt) >= 0) continue;
      const place = places.get(kind) ?? 0;
      if (before === null) {
        places.set(kind, place + 1);
        fresh.push(kind.name);
      }
      const id = before?.id ?? idOf(rows.mcSeqno, place);
      const whole = { ...row, address, id, mcSeqno: rows.mcSeqno, lastTransactionLt, codeHash, dataHash };
      rows.add(kind.table, whole);
      if (kind.states) rows.add(kind.states, whole);
      kind.beside?.(rows, whole, before);
      const { tie } = kind;
      if (before === null && kind.name === jettonWallet.name) {
        const master = tie?.of(whole).of;
        if (master) pairs.put(master, codeHash, rows, batch);
      }
      known.put(kind.name, address, { id, lt: lastTransactionLt, tie: tie?.of(whole) ?? null }, batch);
    }
    return fresh;
  }

  return {
    async begin(batch: BatchPlace, steps: readonly DecodedStep[], signal: AbortSignal) {
      const views = new Map(steps.map((step) => [step.mcSeqno, methods.view(step)]));
      return { project: projectBatch(memory, batch, views, signal) };
    },
    written(batch: number): void {
      for (const part of Object.values(memory)) part.written(batch);
    },
    close: () => methods.close(),
  };
}
