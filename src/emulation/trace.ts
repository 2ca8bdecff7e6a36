/**
 * What a message would do: the transaction that receives it and all that follow from it, as far as the limits go, run
 * by the node's executor on given accounts. Blocks that nobody has made yet are made up: the messages that a shard
 * passes to itself stay in one block, as a collator does it, those to other shards arrive in the next.
 */
import { workchainOf } from '../chain/address.ts';
import { type Boc, cellType, LIBRARY, openBoc } from '../chain/boc.ts';
import { Builder, type Cell, parseBoc } from '../chain/builder.ts';
import { hashKey } from '../chain/hash.ts';
import { decodeMessage } from '../chain/message.ts';
import type { Address, BlockId, Decimal, Hash, Message, Transaction } from '../chain/model.ts';
import type { KnownState } from '../chain/records.ts';
import { serialize } from '../chain/serialize.ts';
import { FULL_SHARD, shardContains } from '../chain/shard-ident.ts';
import { decodeTransaction } from '../chain/transaction.ts';
import { knownState } from '../state/account.ts';
import { readAccount } from '../tvm/account.ts';
import { type ChainView, librariesFor } from '../tvm/contract.ts';
import { type CellText, cellText } from '../tvm/executor.ts';
import type { TvmPool } from '../tvm/pool.ts';

/** Where a shard stands: its next block is made up behind it. */
export interface ShardTop extends BlockId {
  endLt: Decimal;
}

/** An account before the first message: the `Account` cell as a bag, null for none; zeros where it had no transaction. */
export interface AccountBefore {
  boc: Buffer | null;
  lastTransactionHash: Hash;
  lastTransactionLt: Decimal;
}

export interface Surroundings {
  pool: TvmPool;
  view: ChainView;
  /** The masterchain block and every shard of the step that is gone on from; a workchain without one is one shard. */
  tops: readonly ShardTop[];
  account(address: Address): Promise<AccountBefore>;
}

export interface EmulationLimits {
  transactions: number;
  /** Transactions one below the other. */
  depth: number;
  /** Of all transactions: each holds the messages that it sends, and the next one holds them again. */
  bytes: number;
}

/** Those of TON Center's emulator, which counts no bytes: of recorded traces none comes near so many. */
export const EMULATION_LIMITS: EmulationLimits = { transactions: 256, depth: 32, bytes: 4 * 1024 * 1024 };

/** Milliseconds from one made-up block to the next: what TON Center's emulator assumes. */
export const BLOCK_MS = 370;
const LT_ALIGN = 1_000_000n;

/** What is run first. */
export interface Beginning {
  message: Cell;
  /** Where it goes. */
  destination: Address;
  /** Created lt of an internal message; null for one from outside, which comes at the beginning of the block. */
  createdLt: Decimal | null;
  /** Blocks before it: 0 for the next block. */
  hop: number;
  depth: number;
}

export interface EmulationOptions {
  /** Unix milliseconds at which the next block is made. */
  nowMs: number;
  randSeed: Buffer;
  /** Of the messages that are run first: every check of a signature succeeds. */
  ignoreSignatures?: boolean;
  limits?: EmulationLimits;
  signal: AbortSignal;
}

export interface EmulatedTransaction {
  /** The transaction as a bag of its own. */
  boc: Buffer;
  transaction: Transaction;
  block: BlockId;
  before: KnownState;
  after: KnownState;
  /** `ShardAccount` behind it. */
  left: CellText;
  depth: number;
}

export interface Emulation {
  /** In the order in which they ran: a parent is before its children. */
  transactions: EmulatedTransaction[];
  /** Some message was left out: a limit was reached. */
  isIncomplete: boolean;
}

/** The contract did not accept a message from outside: nothing would happen. */
export class NotAccepted extends Error {
  override name = 'NotAccepted';
  constructor(
    /** Of the contract; null when it did not come to run. */
    readonly exitCode: number | null,
    reason: string,
  ) {
    super(reason);
  }
}

/** An account while it is emulated. */
interface Live {
  text: CellText;
  state: KnownState;
  libraries: CellText | null;
  /** Behind its last transaction. */
  endLt: bigint;
}

/** A message on its way. */
interface Waiting {
  message: Cell;
  destination: Address;
  createdLt: bigint;
  key: string;
  depth: number;
}

/** @throws {NotAccepted} @throws {TvmError} and what `account` throws: the whole is given up then */
export async function emulate(
  beginnings: readonly Beginning[],
  surroundings: Surroundings,
  options: EmulationOptions,
): Promise<Emulation> {
  const run = createRun(surroundings, options);
  let hop = Math.min(...beginnings.map((one) => one.hop));
  const later = [...beginnings];
  let waiting: Waiting[] = [];
  while (waiting.length > 0 || later.length > 0) {
    for (let i = 0; i < later.length; ) {
      if (later[i].hop > hop) i++;
      else waiting.push(run.begin(later.splice(i, 1)[0], hop));
    }
    waiting = await run.block(waiting, hop);
    hop++;
  }
  return run.result;
}

function createRun(surroundings: Surroundings, options: EmulationOptions) {
  const { pool, view, tops } = surroundings;
  const { nowMs, randSeed, signal, limits = EMULATION_LIMITS } = options;
  const live = new Map<string, Live>();
  const result: Emulation = { transactions: [], isIncomplete: false };
  let bytes = 0;
  const base = tops.reduce((most, { endLt }) => later(most, BigInt(endLt)), 0n);
  const startLt = (hop: number): bigint => (base / LT_ALIGN + 1n + BigInt(hop)) * LT_ALIGN;

  async function open(address: Address): Promise<Live> {
    const key = hashKey(address);
    const known = live.get(key);
    if (known !== undefined) return known;
    const { boc, lastTransactionHash, lastTransactionLt } = await surroundings.account(address);
    const account = boc === null ? NO_ACCOUNT : parseBoc(boc);
    const cell = new Builder().ref(account).bytes(lastTransactionHash).big(BigInt(lastTransactionLt), 64).cell();
    const opened = await liveOf(cellText(cell), 0n);
    live.set(key, opened);
    return opened;
  }

  async function liveOf(text: CellText, endLt: bigint): Promise<Live> {
    const bag = openBoc(Buffer.from(text, 'base64'));
    const account = bag.refs[bag.refStart[bag.roots[0]]];
    return { text, state: knownState(bag, account), libraries: await librariesOf(bag, account), endLt };
  }

  /** Of code and data that name none, nothing is asked. */
  async function librariesOf(bag: Boc, account: number): Promise<CellText | null> {
    if (!hasLibraries(bag)) return null;
    const read = readAccount(parseBoc(serialize(bag, account)));
    if (read === null || read.status.type !== 'active') return null;
    const { code, data } = read.status;
    return librariesFor(
      view,
      [code, data].filter((cell) => cell !== null),
      signal,
    );
  }

  /** Of what a message deploys. */
  async function librariesIn(message: Message | null): Promise<CellText | null> {
    const init = message?.init ?? null;
    if (init === null) return null;
    const boc = init.boc();
    return hasLibraries(openBoc(boc)) ? librariesFor(view, [parseBoc(boc)], signal) : null;
  }

  async function transact({ message, destination, createdLt, depth }: Waiting, hop: number, top: ShardTop) {
    signal.throwIfAborted();
    const account = await open(destination);
    const least = later(startLt(hop), account.endLt);
    const lt = createdLt < least ? least : createdLt + 1n;
    const text = cellText(message);
    const bag = openBoc(Buffer.from(text, 'base64'));
    const init = account.state.status === 'active' ? null : await librariesIn(decodeMessage(bag, bag.roots[0]));
    const job = {
      kind: 'transaction',
      shardAccount: account.text,
      message: text,
      context: {
        now: Math.floor((nowMs + hop * BLOCK_MS) / 1000),
        lt: lt.toString(),
        randSeed,
        libraries: account.libraries ?? init,
        prevBlocks: view.prevBlocks,
        ignoreSignatures: depth === 0 && (options.ignoreSignatures ?? false),
      },
    } as const;
    const outcome = await pool.run(job, view.config, signal);
    if (!outcome.accepted) throw new NotAccepted(outcome.exitCode, outcome.reason);
    const boc = Buffer.from(outcome.transaction, 'base64');
    const opened = openBoc(boc);
    const transaction = decodeTransaction(opened, opened.roots[0], workchainOf(destination));
    const after = await liveOf(outcome.shardAccount, lt + 1n + BigInt(transaction.outMsgs.length));
    live.set(hashKey(destination), after);
    const { workchain, shard, seqno } = top;
    bytes += boc.length;
    result.transactions.push({
      boc,
      transaction,
      block: { workchain, shard, seqno: seqno + 1 + hop },
      before: account.state,
      after: after.state,
      left: outcome.shardAccount,
      depth,
    });
    return { bag: opened, transaction };
  }

  /** Runs what waits in one shard, then what it sends to itself; gives what goes elsewhere. */
  async function shardBlock(waiting: readonly Waiting[], hop: number, top: ShardTop): Promise<Waiting[]> {
    const imported = waiting.toSorted(inOrder);
    const created: Waiting[] = [];
    const leaving: Waiting[] = [];
    for (let next = imported.shift() ?? created.shift(); next; next = imported.shift() ?? created.shift()) {
      const isFull = result.transactions.length >= limits.transactions || bytes >= limits.bytes;
      if (isFull || next.depth >= limits.depth) {
        result.isIncomplete = true;
        continue;
      }
      const { bag, transaction } = await transact(next, hop, top);
      for (const message of transaction.outMsgs) {
        const { destination } = message;
        if (destination === null) continue;
        const sent = sentOn(bag, message, destination, next.depth + 1);
        if (topFor(tops, destination) === top) insert(created, sent);
        else leaving.push(sent);
      }
    }
    return leaving;
  }

  return {
    result,
    begin({ message, destination, createdLt, depth }: Beginning, hop: number): Waiting {
      return {
        message,
        destination,
        createdLt: createdLt === null ? startLt(hop) : BigInt(createdLt),
        key: message.key(),
        depth,
      };
    },
    /** One block of every shard that something waits for. */
    async block(waiting: readonly Waiting[], hop: number): Promise<Waiting[]> {
      const byTop = new Map<ShardTop, Waiting[]>();
      for (const one of waiting) {
        const top = topFor(tops, one.destination);
        const own = byTop.get(top);
        if (own) own.push(one);
        else byTop.set(top, [one]);
      }
      const leaving: Waiting[] = [];
      for (const [top, own] of byTop) leaving.push(...(await shardBlock(own, hop, top)));
      return leaving;
    },
  };
}

function later(a: bigint, b: bigint): bigint {
  if (a < b) return b;
  return a;
}

/** `account_none$0`. */
const NO_ACCOUNT = new Builder().bit(0).cell();

/** Of a workchain that the step does not show: all of it, from nothing on. */
const UNSHOWN = new Map<number, ShardTop>();

/** The shard that an account is in. */
export function topFor(tops: readonly ShardTop[], address: Address): ShardTop {
  const workchain = workchainOf(address);
  const id = address.subarray(4);
  const found = tops.find((top) => top.workchain === workchain && shardContains(top.shard, id));
  if (found !== undefined) return found;
  const known = UNSHOWN.get(workchain);
  if (known !== undefined) return known;
  const whole: ShardTop = { workchain, shard: FULL_SHARD, seqno: 0, endLt: '0' };
  if (UNSHOWN.size < 256) UNSHOWN.set(workchain, whole);
  return whole;
}

function sentOn(bag: Boc, message: Message, destination: Address, depth: number): Waiting {
  return {
    message: parseBoc(serialize(bag, message.cell)),
    destination,
    createdLt: BigInt(message.createdLt ?? 0),
    key: hashKey(message.hash),
    depth,
  };
}

const inOrder = (a: Waiting, b: Waiting): number =>
  a.createdLt < b.createdLt ? -1 : a.createdLt > b.createdLt ? 1 : a.key < b.key ? -1 : 1;

function insert(list: Waiting[], one: Waiting): void {
  let at = list.length;
  while (at > 0 && inOrder(list[at - 1], one) > 0) at--;
  list.splice(at, 0, one);
}

function hasLibraries(bag: Boc): boolean {
  for (let i = 0; i < bag.count; i++) if (cellType(bag, i) === LIBRARY) return true;
  return false;
}
