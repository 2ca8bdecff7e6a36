import { decodeState } from '../../../clickhouse/states.ts';
import { openBoc } from '../../../src/chain/boc.ts';
import { cellHash, hashKey } from '../../../src/chain/hash.ts';
import { WALLET_CODES } from '../../../src/chain/interface-marks.ts';
import type { Address, Decimal, ExtraCurrencies, Hash } from '../../../src/chain/model.ts';
import type { Missing } from '../../missing.ts';
import type { BatchAccounts } from '../accounts.ts';
import type { CodeStore, KnownCode } from './codes.ts';
import { OtherKind } from './stack.ts';

/** A contract as of the end of a step. */
export interface Subject {
  account: Address;
  /** Lt of its last transaction. */
  lt: Decimal;
  codeHash: Hash;
  dataHash: Hash;
  balance: Decimal;
  extraCurrencies: ExtraCurrencies;
  code: KnownCode;
  /** The data cell as a bag of its own. */
  data: Buffer;
}

/** The log has not shown it yet: a code by its hash, or an account. `holder`: an account that has the code. */
export class NotShown extends Error {
  override name = 'NotShown';
  constructor(
    readonly missing: Buffer,
    readonly holder: Address | null = null,
  ) {
    super(`${missing.toString('hex')} was not shown`);
  }
}

/** In the place of the workchain: no address begins with it. */
const CODE_MARK = Buffer.from('code');

/** What a node is to be asked for, of what is waited for. */
export function askable({ missing, holder }: Pick<NotShown, 'missing' | 'holder'>): Missing {
  if (!missing.subarray(0, 4).equals(CODE_MARK)) return { account: missing, hash: null };
  return { account: holder, hash: missing.subarray(4) };
}

/** How a code is named among what is waited for. */
export function missingCode(hash: Hash): Buffer {
  return Buffer.concat([CODE_MARK, hash]);
}

const WALLETS = new Set(WALLET_CODES.map((hash) => Buffer.from(hash, 'base64').toString('latin1')));
const NO_METHODS: ReadonlySet<number> = new Set();

/** The code that runs: behind a library cell the one that it stands for. Null when it is not known. */
export function runningOf(codes: CodeStore, hash: Hash): KnownCode | null {
  const code = codes.held(hash);
  return code?.standsFor ? codes.held(code.standsFor) : code;
}

/** The same. Throws NotShown. */
export function runningCode(codes: CodeStore, hash: Hash): KnownCode {
  const running = runningOf(codes, hash);
  if (running === null) throw new NotShown(missingOf(codes, hash));
  return running;
}

function missingOf(codes: CodeStore, hash: Hash): Buffer {
  return missingCode(codes.held(hash)?.standsFor ?? hash);
}

/** What of its code is not known, of an account in memory that has code and data; null when all is. */
export function unknownCode(accounts: BatchAccounts, codes: CodeStore, account: Address): Buffer | null {
  const stored = accounts.get(account);
  if (stored === null) return null;
  const { codeHash, dataHash } = decodeState(stored.state);
  if (codeHash === null || dataHash === null || runningOf(codes, codeHash) !== null) return null;
  return missingOf(codes, codeHash);
}

/** Get-methods that a code has; null when that cannot be told from it. */
export function methodsOf(hash: Hash, running: KnownCode): ReadonlySet<number> | null {
  return WALLETS.has(hashKey(hash)) ? NO_METHODS : running.methods;
}

/**
 * The contract of an account that was brought into memory; null for one without code or data. Its code must be held.
 * @throws {NotShown} @throws {OtherKind} when it has not the method that it is asked for
 */
export async function subjectOf(
  accounts: BatchAccounts,
  codes: CodeStore,
  account: Address,
  needs: number | null,
  signal: AbortSignal,
): Promise<Subject | null> {
  const stored = accounts.get(account);
  if (stored === null) throw new NotShown(account);
  const { codeHash, dataHash, balance, extraCurrencies } = decodeState(stored.state);
  if (codeHash === null || dataHash === null) return null;
  const code = codes.held(codeHash);
  const running = runningOf(codes, codeHash);
  if (code === null || running === null) throw new NotShown(missingOf(codes, codeHash), account);
  const methods = methodsOf(codeHash, running);
  if (needs !== null && methods !== null && !methods.has(needs)) throw new OtherKind('it has no such get-method');
  const { storedData } = stored;
  if (storedData && !storedData.hash.equals(dataHash)) throw new NotShown(account);
  const data = await accounts.dataOf(account, signal);
  if (data === null || (!storedData && !hasHash(data, dataHash))) throw new NotShown(account);
  return { account, lt: stored.lt, codeHash, dataHash, balance, extraCurrencies, code, data };
}

function hasHash(bag: Buffer, hash: Hash): boolean {
  const boc = openBoc(bag);
  return cellHash(boc, boc.roots[0]).equals(hash);
}
