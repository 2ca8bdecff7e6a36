/** Accounts at a step: from our own data where it has them, else from a liteserver at that very step. */
import { LRUCache } from 'lru-cache';
import { workchainOf } from '../chain/address.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, BlockHeader, Hash } from '../chain/model.ts';
import type { AccountRecord, QueryContext } from '../chain/records.ts';
import { blockIdExtToTl } from '../node/lite-api.ts';
import { type ProvenAccount, provenAccount } from '../node/lite-proofs.ts';
import type { Liteservers } from '../node/liteservers.ts';
import { type AccountState, absent, NO_TRANSACTION, stateOfProof } from './account.ts';
import type { StateMetrics } from './metrics.ts';
import { forNodes } from './nodes.ts';
import { type Step, topOf } from './steps.ts';

/** What is asked of an account. */
export interface AccountWish {
  /** Whether code and data are wanted; without them our own data answers more often. */
  cells: boolean;
}

export interface Accounts {
  /** @throws {NodeError} `not_found` where nobody has the state any more @throws {NoNetworkError} */
  account(account: Address, step: Step, wish: AccountWish, context: QueryContext): Promise<AccountState>;
  /** The `Account` cell itself as a liteserver shows it. @throws {NodeError} @throws {NoNetworkError} */
  accountCell(account: Address, step: Step, context: QueryContext): Promise<ProvenAccount>;
}

/** Bytes of accounts that liteservers have shown and that are kept. */
const KEPT_BYTES = 64 * 1024 ** 2;
const ENTRY_BYTES = 500;

/** An account as of a step; it has stayed so since, unless a transaction of it is indexed. */
interface Shown {
  proven: ProvenAccount;
  mcSeqno: number;
}

export function createAccounts(source: ChainSource, liteservers: Liteservers, metrics: StateMetrics): Accounts {
  const kept = new LRUCache<string, Shown>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ proven }) => ENTRY_BYTES + (proven.boc?.length ?? 0),
  });

  async function ask(account: Address, { header }: Step, context: QueryContext): Promise<ProvenAccount> {
    const [workchain, id] = [workchainOf(account), account.subarray(4)];
    const answer = await liteservers.query(
      { method: 'getAccountState', id: blockIdExtToTl(header), account: { workchain, id } },
      { ...forNodes(context), minMcSeqno: header.seqno },
    );
    metrics.answered('account', 'liteserver');
    const proven = provenAccount(answer, header, workchain, id);
    return { ...proven, boc: proven.boc && Buffer.from(proven.boc) };
  }

  /**
   * What a liteserver shows, asked for once as long as it stays the same.
   * @param last hash of the account's last transaction as of the step; null when none is indexed
   */
  async function shown(account: Address, step: Step, last: Hash | null, context: QueryContext): Promise<ProvenAccount> {
    const key = hashKey(account) + (last === null ? '' : hashKey(last));
    const known = kept.get(key);
    if (known !== undefined && (last !== null || known.mcSeqno <= step.header.seqno)) {
      metrics.answered('account', 'kept');
      const top = topOf(step, account);
      return { ...known.proven, genUtime: top?.genUtime ?? known.proven.genUtime };
    }
    const proven = await ask(account, step, context);
    if (last === null || last.equals(proven.lastTransactionHash)) {
      kept.set(key, { proven, mcSeqno: step.header.seqno });
    }
    return proven;
  }

  async function newest(account: Address, cells: boolean, context: QueryContext): Promise<AccountRecord | undefined> {
    return (await source.accountStates([account], [], cells ? 'all' : 'none', context))[0];
  }

  /** The last transaction of an account in a shard up to its block. */
  async function before(account: Address, top: BlockHeader, { signal, timeoutMs }: QueryContext) {
    const ltWindow = { end: (BigInt(top.endLt) - 1n).toString() };
    const page = { limit: 1, offset: 0 };
    const filter = { accounts: [account], excludeAccounts: [], hashes: [], utime: {}, ltWindow, page };
    // Read as a whole: of who asked, its form might be enough.
    return (await source.transactions({ ...filter, sort: 'desc' }, { signal, timeoutMs })).rows[0];
  }

  /** What the last transaction up to a block left: its code and data where they are still those of today. */
  async function past(now: AccountRecord, top: BlockHeader, context: QueryContext): Promise<AccountState | null> {
    const row = await before(now.account, top, context);
    if (row === undefined || row.after === null) return null;
    const { account, lt, hash, stateAfter } = row.transaction;
    const { codeHash, dataHash } = row.after;
    const cells = {
      codeBoc: same(codeHash, now.codeHash) ? now.codeBoc : null,
      dataBoc: same(dataHash, now.dataHash) ? now.dataBoc : null,
    };
    const known = { hash: stateAfter, lastTransactionLt: lt, lastTransactionHash: hash, methods: null };
    return ofRecord({ ...row.after, account, ...known, ...cells }, top);
  }

  return {
    async account(account, step, { cells }, context) {
      const top = topOf(step, account);
      if (top === null) {
        if (isNowhere(account, step)) return absent(account, step.header.genUtime);
        return stateOfProof(account, await ask(account, step, context));
      }
      const record = await newest(account, cells, context);
      if (record === undefined) return stateOfProof(account, await shown(account, step, null, context));
      const own = isUpTo(record, top) ? ofRecord(record, top) : await past(record, top, context);
      if (own === null) return stateOfProof(account, await ask(account, step, context));
      if (cells && !isWhole(own)) {
        return stateOfProof(account, await shown(account, step, own.lastTransaction.hash, context));
      }
      metrics.answered('account', 'own');
      return own;
    },
    async accountCell(account, step, context) {
      if (isNowhere(account, step)) return { ...NO_ACCOUNT, genUtime: step.header.genUtime };
      const top = topOf(step, account);
      // What is so before the index begins may be otherwise when it does: no transaction would tell.
      if (top === null) return ask(account, step, context);
      const record = await newest(account, false, context);
      if (record === undefined) return shown(account, step, null, context);
      if (!isUpTo(record, top)) return ask(account, step, context);
      return shown(account, step, record.lastTransactionHash, context);
    },
  };
}

const NO_ACCOUNT = { boc: null, lastTransactionHash: NO_TRANSACTION.hash, lastTransactionLt: NO_TRANSACTION.lt };

/** The workchains of TON; what others a chain has shows in the tops of its steps. */
const WORKCHAINS = [-1, 0];

/** Whether the account is in a workchain that is not there: no liteserver has anything to prove of it. */
function isNowhere(account: Address, { tops }: Step): boolean {
  const workchain = workchainOf(account);
  return !WORKCHAINS.includes(workchain) && !tops?.some((top) => top.workchain === workchain);
}

/** Whether the newest state is that of the step: no later block of the shard changed it. */
function isUpTo({ lastTransactionLt }: AccountRecord, top: BlockHeader): boolean {
  return compareDecimal(lastTransactionLt, top.endLt) < 0;
}

function ofRecord(record: AccountRecord, { genUtime }: BlockHeader): AccountState {
  const { account, status, lastTransactionLt: lt, lastTransactionHash: hash } = record;
  if (status === 'nonexist') return absent(account, genUtime);
  return {
    account,
    status,
    balance: record.balance,
    extraCurrencies: record.extraCurrencies,
    frozenHash: record.frozenHash,
    codeHash: record.codeHash,
    dataHash: record.dataHash,
    hash: record.hash,
    code: record.codeBoc,
    data: record.dataBoc,
    lastTransaction: { lt, hash },
    genUtime,
  };
}

function isWhole({ codeHash, code, dataHash, data }: AccountState): boolean {
  return (codeHash === null) === (code === null) && (dataHash === null) === (data === null);
}

function same(a: Hash | null, b: Hash | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}
