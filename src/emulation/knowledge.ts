/**
 * What actions ask of contracts when the trace is emulated: of those that it deploys, and of those that it reaches and
 * the tables do not know, what the projector would tell of the states that it leaves, by the same detectors; of all
 * others, what the tables have.
 */
import type { ClickHouse } from '../../clickhouse/client.ts';
import { encodeState } from '../../clickhouse/states.ts';
import type { PendingWallet } from '../../streams/pending-trace.ts';
import type { BatchAccounts, BatchPlace } from '../../streams/project/accounts.ts';
import { type CodeStore, createCodeStore } from '../../streams/project/contracts/codes.ts';
import { type Detected as DetectedContract, detectAll } from '../../streams/project/contracts/detection.ts';
import { dnsCollections } from '../../streams/project/contracts/domains.ts';
import { jettonMaster, jettonWallet } from '../../streams/project/contracts/jettons.ts';
import { createMethods } from '../../streams/project/contracts/methods.ts';
import { nftCollection, nftItem } from '../../streams/project/contracts/nfts.ts';
import { newCounters } from '../../streams/project/counters.ts';
import { createKnownStore, saidOf } from '../../streams/project/known-contracts.ts';
import type { StoredAccount } from '../../streams/project/packed.ts';
import { traceTransaction } from '../chain/actions/chain-trace.ts';
import { type Classification, classify } from '../chain/actions/classify.ts';
import type { KnownContracts, KnownJettonWallet } from '../chain/actions/known.ts';
import type { RawAddress, Trace } from '../chain/actions/trace.ts';
import { rawAddress } from '../chain/address.ts';
import { openBoc } from '../chain/boc.ts';
import type { ContractSource, ShownTokens } from '../chain/contract-records.ts';
import type { JettonWalletState } from '../chain/contracts/reader.ts';
import { hashKey } from '../chain/hash.ts';
import { WALLET_CODES } from '../chain/interface-marks.ts';
import { CellView } from '../chain/layouts/cell-view.ts';
import type { Address, Hash } from '../chain/model.ts';
import { stateOfProof } from '../state/account.ts';
import type { TvmPool } from '../tvm/pool.ts';
import { accountLeft, type Emulated } from './emulator.ts';
import type { AccountBefore, EmulatedTransaction } from './trace.ts';

/** What was emulated of a trace, and on what. */
type Ran = Pick<Emulated, 'transactions' | 'surroundings' | 'nowMs'>;

export interface Knowledge {
  /**
   * Tells what a trace does.
   * @param emulated the part of it that is emulated; null for none
   * @param mcSeqno the step behind which the tables are asked
   */
  classify(trace: Trace, emulated: Ran | null, mcSeqno: number, signal: AbortSignal): Promise<Classification>;
  /**
   * The jetton wallets among accounts as blocks have left them: those that the tables know, or that are as they were
   * emulated; null for what is none, and for what its step will tell.
   * @param emulated what was emulated of the trace that they are of
   */
  wallets(
    left: readonly LeftAccount[],
    emulated: Ran | null,
    mcSeqno: number,
    signal: AbortSignal,
  ): Promise<(PendingWallet | null)[]>;
  /** The tokens that an emulated trace deploys. */
  deployed(emulated: Ran, mcSeqno: number, signal: AbortSignal): Promise<ShownTokens>;
}

/** An account as a block has left it. */
export interface LeftAccount {
  account: Address;
  dataHash: Hash | null;
  /** What well-known code keeps in its data: a wallet, if its master says so. */
  claims: JettonWalletState | null;
}

export interface KnowledgeOptions {
  clickhouse: ClickHouse;
  /** Most questions are answered by it, which has the newest steps at hand; the others by the tables. */
  contracts: Pick<ContractSource, 'tokens' | 'sellers'>;
  pool: TvmPool;
  /** Collections whose items are domains, beside those known by name. */
  dnsCollections: readonly string[];
  /** Of the network; null until it is known. */
  globalId(): number | null;
}

/** Rounds of looking up what was asked for, as the projector's. */
const MAX_ROUNDS = 8;
/** All that the tables have counts. */
const EVERYTHING: BatchPlace = { number: 0, firstMcSeqno: Number.MAX_SAFE_INTEGER };
/** Contracts remembered within a step. */
const CACHED = 4_000;
/** Contracts of one trace that are looked at. */
const MAX_DETECTED = 32;

const WALLETS = new Set(WALLET_CODES.map((hash) => hashKey(Buffer.from(hash, 'base64'))));

type Said = Map<string, object>;

/** By kind of contract where it is told. */
const TOKEN_KINDS: ReadonlyMap<string, keyof ShownTokens> = new Map([
  [nftItem.name, 'items'],
  [nftCollection.name, 'collections'],
  [jettonMaster.name, 'masters'],
  [jettonWallet.name, 'wallets'],
]);

type Detected = { [K in keyof ShownTokens]: ShownTokens[K][number][] };

const keyOf = (kind: string, address: RawAddress): string => `${kind} ${address}`;

export function createKnowledge(options: KnowledgeOptions): Knowledge {
  const { clickhouse, contracts, pool, dnsCollections: more, globalId } = options;
  const counters = newCounters();
  const methods = createMethods(counters, pool);
  const isDnsCollection = dnsCollections(more);
  /** What the tables say may be another thing after each step. */
  const ask = (mcSeqno: number) => ({
    mcSeqno,
    known: createKnownStore(clickhouse, { cached: CACHED, shown: contracts }),
    codes: createCodeStore(clickhouse),
  });
  let stored = ask(-1);

  /** Who asks behind an older step than others did is told by the same: what contracts are is asked of the newest. */
  function storedAt(mcSeqno: number): typeof stored {
    if (mcSeqno > stored.mcSeqno) stored = ask(mcSeqno);
    return stored;
  }

  /** Accounts as they stand behind the emulation, in the shape in which the projector's detectors read them. */
  function accountsOf({ transactions, surroundings }: Ran, codes: CodeStore) {
    // An account that the trace ends is told of as it was last, as the projector keeps it.
    const active = transactions.filter(({ after }) => after.status === 'active');
    const left = new Map(active.map((one) => [hashKey(one.transaction.account), one]));
    const held = new Map<string, { account: StoredAccount; data: Buffer | null }>();

    async function reach(address: Address, signal: AbortSignal): Promise<BatchAccounts> {
      const key = hashKey(address);
      if (!held.has(key)) await hold(address, left.get(key) ?? (await surroundings.account(address)), signal);
      return accounts;
    }

    async function hold(address: Address, found: EmulatedTransaction | AccountBefore, signal: AbortSignal) {
      const { boc, lastTransactionHash, lastTransactionLt } = 'left' in found ? accountLeft(found) : found;
      const proven = { boc, lastTransactionHash, lastTransactionLt, genUtime: 0 };
      const state = stateOfProof(address, proven);
      if (state.codeHash !== null && state.code !== null) {
        codes.put(state.codeHash, state.code, EVERYTHING.number);
        codes.written(EVERYTHING.number);
        await codes.loadWithLibraries([state.codeHash], signal);
      }
      const account = { lt: lastTransactionLt, hash: state.hash, state: encodeState(state), storedData: null };
      held.set(hashKey(address), { account, data: state.data });
    }

    const accounts: BatchAccounts = {
      get: (address) => held.get(hashKey(address))?.account ?? null,
      put: () => undefined,
      dataOf: async (address) => held.get(hashKey(address))?.data ?? null,
      putData: () => undefined,
    };
    return { accounts, reach };
  }

  function createDetecting(emulated: Ran, codes: CodeStore, signal: AbortSignal) {
    const said: Said = new Map();
    const tokens = { items: [], collections: [], masters: [], wallets: [] } as Detected;
    const seen = new Set<string>();
    const { accounts, reach } = accountsOf(emulated, codes);
    const { surroundings, nowMs } = emulated;
    const options = {
      accounts,
      reach: (account: Address) => reach(account, signal),
      codes,
      known: { get: () => null },
      hasConfirmed: async () => false,
      methods,
      isDnsCollection,
      step: { now: Math.floor(nowMs / 1000), config: surroundings.view.config, globalId: globalId() },
      counters,
      signal,
    };

    async function look(address: Address): Promise<void> {
      if (seen.has(hashKey(address)) || seen.size >= MAX_DETECTED) return;
      seen.add(hashKey(address));
      await reach(address, signal);
      for await (const { detected } of detectAll([address], options)) {
        if (detected !== null) learn(address, detected);
      }
    }

    function learn(address: Address, { subject, found }: DetectedContract): void {
      const { codeHash } = subject;
      for (const { kind, row } of found) {
        const list = TOKEN_KINDS.get(kind.name);
        if (list !== undefined) tokens[list].push({ address, ...row } as never);
        const known = saidOf(kind.table, { ...row, codeHash });
        if (known !== null) said.set(keyOf(known.kind, rawAddress(address)), known.said);
      }
    }

    return {
      said,
      tokens,
      /** Looks at contracts that it has not looked at. Resolves to whether it has learned something. */
      async detect(addresses: readonly Address[]): Promise<boolean> {
        const { size } = said;
        for (const address of addresses) await look(address);
        return said.size > size;
      },
    };
  }

  /** As the tables know them. */
  async function knownWallets(
    accounts: readonly Address[],
    mcSeqno: number,
    signal: AbortSignal,
  ): Promise<(KnownJettonWallet | undefined)[]> {
    const { known: store } = storedAt(mcSeqno);
    const look = () => {
      const { contracts, missing } = store.known();
      return { found: accounts.map((account) => contracts.jettonWallet(rawAddress(account))), missing };
    };
    const { found, missing } = look();
    if (missing.size === 0) return found;
    await store.loadMissing(missing, EVERYTHING, signal);
    return look().found;
  }

  return {
    async wallets(left, emulated, mcSeqno, signal) {
      const known = await knownWallets(
        left.map(({ account }) => account),
        mcSeqno,
        signal,
      );
      const told = left.map(({ claims }, i): PendingWallet | null => {
        const { owner, jetton } = known[i] ?? {};
        if (claims === null || owner !== rawAddress(claims.owner) || jetton !== rawAddress(claims.master)) return null;
        return { owner: claims.owner, jetton: claims.master, balance: claims.balance };
      });
      if (emulated === null) return told;
      // What the tables do not know, and code that has to be run: as it was emulated, where that came true.
      const transactions = new Map(emulated.transactions.map((one) => [hashKey(one.transaction.account), one]));
      const detecting = createDetecting(emulated, storedAt(mcSeqno).codes, signal);
      for (const [i, { account, dataHash }] of left.entries()) {
        const { before, after } = transactions.get(hashKey(account)) ?? {};
        const isFresh = before !== undefined && before.status !== 'active';
        if (told[i] !== null || (known[i] === undefined && !isFresh)) continue;
        if (dataHash === null || !after?.dataHash?.equals(dataHash)) continue;
        await detecting.detect([account]);
        const wallet = detecting.tokens.wallets.find(({ address }) => address.equals(account));
        if (wallet === undefined) continue;
        told[i] = { owner: wallet.owner, jetton: wallet.jetton, balance: wallet.balance };
      }
      return told;
    },
    async deployed(emulated, mcSeqno, signal) {
      const detecting = createDetecting(emulated, storedAt(mcSeqno).codes, signal);
      await detecting.detect(deployedBy(emulated.transactions));
      return detecting.tokens;
    },
    async classify(trace, emulated, mcSeqno, signal) {
      const { known: store, codes } = storedAt(mcSeqno);
      const detecting = emulated === null ? null : createDetecting(emulated, codes, signal);
      const transactions = emulated?.transactions ?? [];
      await detecting?.detect(deployedBy(transactions));
      const states = statesLeft(transactions);
      for (let round = 1; ; round++) {
        const { contracts, missing } = store.known();
        const unknown = new Set<RawAddress>();
        const told = classify(trace, knownOf(contracts, detecting?.said ?? new Map(), states, unknown));
        if (round === MAX_ROUNDS) return told;
        if (missing.size > 0) await store.loadMissing(missing, EVERYTHING, signal);
        else if (!(await detecting?.detect(addressesOf(unknown, transactions)))) return told;
      }
    },
  };
}

function deployedBy(transactions: readonly EmulatedTransaction[]): Address[] {
  const found = new Map<string, { address: Address; codeHash: Hash | null; deployed: boolean }>();
  for (const { transaction, before, after } of transactions) {
    const key = hashKey(transaction.account);
    const deployed = found.get(key)?.deployed ?? before.status !== 'active';
    found.set(key, { address: transaction.account, codeHash: after.codeHash, deployed });
  }
  const isContract = (codeHash: Hash | null): boolean => codeHash !== null && !WALLETS.has(hashKey(codeHash));
  return [...found.values()].flatMap(({ address, codeHash, deployed }) =>
    deployed && isContract(codeHash) ? [address] : [],
  );
}

interface Left {
  isWallet: boolean;
  data(): CellView | undefined;
}

function statesLeft(transactions: readonly EmulatedTransaction[]): Map<RawAddress, Left> {
  const found = new Map<RawAddress, Left & { codeHash: Hash | null }>();
  for (const one of transactions) {
    const { before, after, transaction } = one;
    const address = rawAddress(transaction.account);
    // What ends a sale leaves no code of it.
    const codeHash = after.codeHash ?? before.codeHash ?? found.get(address)?.codeHash ?? null;
    const data = (): CellView | undefined => {
      const { boc, lastTransactionHash, lastTransactionLt } = accountLeft(one);
      const proven = { boc, lastTransactionHash, lastTransactionLt, genUtime: 0 };
      const { data: bag } = stateOfProof(transaction.account, proven);
      return bag === null ? undefined : CellView.of(openBoc(bag), 0);
    };
    found.set(address, { codeHash, isWallet: codeHash === null || WALLETS.has(hashKey(codeHash)), data });
  }
  return found;
}

function addressesOf(names: ReadonlySet<RawAddress>, transactions: readonly EmulatedTransaction[]): Address[] {
  const accounts = new Map(transactions.map(({ transaction: { account } }) => [rawAddress(account), account]));
  return [...names].flatMap((name) => accounts.get(name) ?? []);
}

/**
 * Of wallets nothing is asked: they are none of what can be known.
 * @param unknown takes the other accounts of the trace of which the tables have nothing
 */
function knownOf(
  stored: KnownContracts,
  fresh: Said,
  left: ReadonlyMap<RawAddress, Left>,
  unknown: Set<RawAddress>,
): KnownContracts {
  const of =
    <V>(kind: string, ask: (address: RawAddress) => V | undefined) =>
    (address: RawAddress): V | undefined => {
      const own = fresh.get(keyOf(kind, address)) as V | undefined;
      if (own !== undefined) return own;
      const state = left.get(address);
      if (state?.isWallet) return undefined;
      const said = ask(address);
      if (said === undefined && state !== undefined) unknown.add(address);
      return said;
    };
  return {
    jettonWallet: of('jettonWallet', stored.jettonWallet),
    nftItem: of('nftItem', stored.nftItem),
    nftSale: of('nftSale', stored.nftSale),
    nftAuction: of('nftAuction', stored.nftAuction),
    multisigOrder: of('multisigOrder', stored.multisigOrder),
    dedustPool: of('dedustPool', stored.dedustPool),
    isNominatorPool: (address) =>
      fresh.has(keyOf('nominatorPool', address)) || (!left.get(address)?.isWallet && stored.isNominatorPool(address)),
    data: (address) => left.get(address)?.data() ?? stored.data(address),
  };
}

/** A trace as actions read it. */
export function traceOf(
  ends: Pick<Trace, 'id' | 'externalHash' | 'externalHashNorm' | 'mcSeqnoEnd'>,
  transactions: readonly EmulatedTransaction['transaction'][],
): Trace {
  let [endLt, endUtime] = ['0', 0];
  for (const { lt, now } of transactions) {
    if (BigInt(lt) > BigInt(endLt)) endLt = lt;
    endUtime = Math.max(endUtime, now);
  }
  return { ...ends, endLt, endUtime, transactions: transactions.map(traceTransaction) };
}
