/** Tells of one contract of a step what it is. */
import type { DetectedRecord } from '../../../src/chain/contract-records.ts';
import { methodId } from '../../../src/chain/interfaces.ts';
import type { Address } from '../../../src/chain/model.ts';
import type { StackValue } from '../../../src/tvm/stack.ts';
import type { BatchAccounts } from '../accounts.ts';
import type { Counters } from '../counters.ts';
import type { CodeStore, KnownCode } from './codes.ts';
import { dnsRecord } from './dns.ts';
import type { IsDnsCollection } from './domains.ts';
import { jettonMaster, jettonWallet } from './jettons.ts';
import { type Asking, CONFIRMING, type Found, type Kind } from './kinds.ts';
import type { KnownRows } from './known.ts';
import { Exhausting, type Gas, gasOfStep, type Methods, type StepView, usualGas } from './methods.ts';
import { nftCollection, nftItem } from './nfts.ts';
import { nftAuction, nftSale, telemintItem } from './sales.ts';
import { dedustPool, multisigOrder, multisigWallet, nominatorPool, vestingContract } from './services.ts';
import { OtherKind, type Results, sameAddress } from './stack.ts';
import { methodsOf, NotShown, runningCode, type Subject, subjectOf, unknownCode } from './subject.ts';

export const KINDS: readonly Kind[] = [
  jettonMaster,
  jettonWallet,
  nftCollection,
  nftItem,
  dnsRecord,
  nftSale,
  nftAuction,
  telemintItem,
  multisigWallet,
  multisigOrder,
  vestingContract,
  dedustPool,
  nominatorPool,
];

/** The kinds that a contract with this code can be of. */
export function kindsOf(codeHash: Buffer, running: KnownCode): readonly Kind[] {
  const methods = methodsOf(codeHash, running);
  const hash = codeHash.toString('hex');
  return KINDS.filter((kind) => {
    if (kind.codes.has(hash)) return true;
    if (kind.methods.size === 0) return false;
    if (methods === null) return true;
    for (const method of kind.methods) if (methods.has(method)) return true;
    return false;
  });
}

const CONFIRMING_METHODS = CONFIRMING.map(methodId);

/** Whether others may be what they are by what contracts with this code say. */
export function mayConfirm(codeHash: Buffer, running: KnownCode): boolean {
  const methods = methodsOf(codeHash, running);
  return methods === null || CONFIRMING_METHODS.some((method) => methods.has(method));
}

export interface DetectionOptions {
  accounts: BatchAccounts;
  /** Brings an account into memory that the batch does not change. */
  reach(account: Address): Promise<BatchAccounts>;
  codes: CodeStore;
  known: Pick<KnownRows, 'get'>;
  hasConfirmed: Asking['hasConfirmed'];
  methods: Methods;
  isDnsCollection: IsDnsCollection;
  step: StepView;
  counters: Pick<Counters, 'unaskedContracts'>;
  signal: AbortSignal;
}

export interface Detected {
  subject: Subject;
  found: { kind: Kind; row: Found<DetectedRecord> }[];
}

export type Lacking = Pick<NotShown, 'missing' | 'holder'>;

export interface Detection {
  /** Null for an account that is nothing of what is told apart. */
  detected: Detected | null;
  /** What the log has not shown and would have to: codes and other accounts. */
  missing: Lacking[];
}

/** Contracts that are looked at at the same time. */
export const AT_ONCE = 256;
const UNASKED: Detection = { detected: null, missing: [] };

/**
 * What contracts of a step are, in their order. Those whose methods use more gas than usual come behind the others,
 * and share what the step has for such: so what is deployed to be dear costs the step a bounded time, and takes nothing
 * from other contracts. What is told follows from the step alone.
 */
export async function* detectAll(
  accounts: readonly Address[],
  options: DetectionOptions,
): AsyncGenerator<Detection & { account: Address }> {
  const dear: Address[] = [];
  for (let i = 0; i < accounts.length; i += AT_ONCE) {
    const some = accounts.slice(i, i + AT_ONCE);
    const detections = await Promise.all(some.map((account) => detect(account, options, usualGas())));
    for (const [at, detection] of detections.entries()) {
      if (detection === null) dear.push(some[at]);
      else yield { account: some[at], ...detection };
    }
  }
  const stepGas = gasOfStep();
  for (const account of dear) {
    const detection = await stepGas.take((gas) => detect(account, options, gas));
    if (detection === null) options.counters.unaskedContracts++;
    yield { account, ...(detection ?? UNASKED) };
  }
}

/**
 * What a contract is as of a step: by its code, its data and its get-methods, with what those say who must confirm it.
 * A contract may be of several kinds.
 * @returns null when that takes more gas than usual, and it was given no more
 */
async function detect(account: Address, options: DetectionOptions, gas: Gas): Promise<Detection | null> {
  const { accounts, codes, signal } = options;
  const missing: Lacking[] = [];
  // Most of what cannot be told yet, without the cost of an exception.
  const unknown = unknownCode(accounts, codes, account);
  if (unknown !== null) return { detected: null, missing: [{ missing: unknown, holder: account }] };
  try {
    const subject = await subjectOf(accounts, codes, account, null, signal);
    if (subject === null) return { detected: null, missing };
    const ask = createAsking(options, gas);
    const found: Detected['found'] = [];
    for (const kind of kindsOf(subject.codeHash, runningCode(codes, subject.codeHash))) {
      const row = await attempt(() => kind.detect(subject, ask), missing);
      // What the next one may use does not depend on when something answers that nobody waits for any more.
      await ask.settled();
      if (gas.isShort) return null;
      if (row === EXHAUSTED) break;
      if (row !== null) found.push({ kind, row });
    }
    return { detected: found.length > 0 ? { subject, found } : null, missing };
  } catch (error) {
    if (!(error instanceof NotShown)) throw error;
    // Its own data: once that is shown it is looked at again anyway.
    return { detected: null, missing: sameAddress(error.missing, account) ? [] : [error] };
  }
}

const EXHAUSTED = Symbol('exhausted');

/** Null for a contract of another kind, and for one that cannot be told yet. */
async function attempt<T>(detecting: () => Promise<T>, missing: Lacking[]): Promise<T | null | typeof EXHAUSTED> {
  try {
    return await detecting();
  } catch (error) {
    if (error instanceof Exhausting) return EXHAUSTED;
    if (error instanceof OtherKind) return null;
    if (!(error instanceof NotShown)) throw error;
    missing.push(error);
    return null;
  }
}

function createAsking(options: DetectionOptions, gas: Gas): Asking & { settled(): Promise<unknown> } {
  const { codes, known, methods, signal, step, isDnsCollection, hasConfirmed } = options;
  const calls = new Map<string, Promise<Results>>();
  const asked: Promise<Results>[] = [];

  async function run(subject: Subject, method: string, args: readonly StackValue[]): Promise<Results> {
    const having = methodsOf(subject.codeHash, runningCode(codes, subject.codeHash));
    if (having !== null && !having.has(methodId(method))) throw new OtherKind(`it has no ${method}`);
    const call = methods.call(subject, method, args, { step, codes, gas, signal });
    asked.push(call);
    return call;
  }

  return {
    settled: () => Promise.allSettled(asked.splice(0)),
    isDnsCollection: (collection) => isDnsCollection(collection, step.globalId),
    hasConfirmed,
    call(subject, method, args = []) {
      if (args.length > 0) return run(subject, method, args);
      // Several kinds ask the same.
      const key = `${subject.account.toString('latin1')}${method}`;
      const call = calls.get(key) ?? run(subject, method, args);
      calls.set(key, call);
      return call;
    },
    async contract(account, method) {
      const reached = await options.reach(account);
      const subject = await subjectOf(reached, codes, account, methodId(method), signal);
      if (subject === null) throw new OtherKind('who should confirm it is no contract');
      return subject;
    },
    isConfirmed(wallet, owner, master) {
      const tie = known.get(jettonWallet.name, wallet)?.tie;
      return !!tie?.owner && !!tie.of && sameAddress(tie.owner, owner) && sameAddress(tie.of, master);
    },
  };
}
