/** Fees of an external message before it is sent, by the rules of tonlib (`query.estimateFees`). */
import { workchainOf } from '../chain/address.ts';
import { openBoc } from '../chain/boc.ts';
import { Builder, type Cell, Slice } from '../chain/builder.ts';
import { DecodeError } from '../chain/errors.ts';
import { writeExternalMessage } from '../chain/external-message.ts';
import { outActions } from '../chain/layouts/messages.ts';
import type { Address } from '../chain/model.ts';
import { decodeTransaction } from '../chain/transaction.ts';
import { type Account, EMPTY } from './account.ts';
import { type ChainView, librariesFor } from './contract.ts';
import { type CellText, cellText, textCell } from './executor.ts';
import type { TvmPool } from './pool.ts';
import {
  type ForwardPrices,
  forwardFee,
  forwardPrices,
  gasBought,
  gasFee,
  gasPrices,
  sizeBelow,
  storageFee,
} from './prices.ts';

export interface FeeQuery {
  address: Address;
  /** Null for an account that does not exist. */
  account: Account | null;
  /** Unix seconds: generation time of the shard block that shows the account. */
  now: number;
  body: Cell;
  /** Code and data of a contract that is deployed by the message: they stand in for the account's own. */
  init: { code: Cell; data: Cell } | null;
  /** Every check of a signature succeeds. */
  ignoreSignatures: boolean;
}

/** Nanotons. */
export interface Fees {
  /** Of the message itself, by the size of all of it but its root. */
  inForward: bigint;
  /** From the last payment to `now`. */
  storage: bigint;
  /** 0 when the contract does not accept the message. */
  gas: bigint;
  /** Of what the contract sends; nothing is taken off for what is paid ahead. */
  forward: bigint;
}

/** A contract does what an estimate cannot tell the price of. */
export class EstimateError extends Error {
  constructor(reason: string) {
    super(`estimate_fee: ${reason}`);
    this.name = 'EstimateError';
  }
}

/** @throws {EstimateError}, {TvmError} and its kinds, DecodeError for a configuration without prices */
export async function estimateFees(
  pool: TvmPool,
  view: ChainView,
  query: FeeQuery,
  signal: AbortSignal,
): Promise<Fees> {
  const config = view.config.root;
  const masterchain = workchainOf(query.address) === -1;
  const inForward = messageFee(writeExternalMessage(query), config, masterchain);
  const storage = storageOf(query, config, masterchain);
  const run = await runMessage(pool, view, query, signal);
  const gas = run === null ? 0n : gasFee(gasPrices(config, masterchain), run.gasUsed);
  const forward = run?.actions == null ? 0n : actionFees(textCell(run.actions), config, masterchain);
  return { inForward, storage, gas, forward };
}

function messageFee(message: Cell, config: Cell, masterchain: boolean): bigint {
  return forwardFee(forwardPrices(config, masterchain), sizeBelow(message));
}

function storageOf({ account, now }: FeeQuery, config: Cell, masterchain: boolean): bigint {
  if (account === null) return 0n;
  const { usedCells: cells, usedBits: bits, lastPaid } = account.storage;
  return storageFee(config, masterchain, { cells, bits }, lastPaid, now);
}

interface Run {
  gasUsed: bigint;
  /** Null when the contract failed after it had accepted. */
  actions: CellText | null;
}

/** Runs the message on the contract with the balance as it stands; null when it is not accepted. */
async function runMessage(pool: TvmPool, view: ChainView, query: FeeQuery, signal: AbortSignal): Promise<Run | null> {
  const { account, init, address, now, ignoreSignatures } = query;
  const config = view.config.root;
  const masterchain = workchainOf(address) === -1;
  const own = account?.status.type === 'active' ? account.status : null;
  const code = init?.code ?? own?.code ?? null;
  const balance = BigInt(account?.balance ?? 0);
  const prices = gasPrices(config, masterchain);
  // Without code nothing runs, without gas nothing has to be accepted: both count as a run of no gas.
  if (code === null || gasBought(prices, balance) === 0n) return { gasUsed: 0n, actions: null };
  const state = { code, data: init?.data ?? own?.data ?? EMPTY };
  // The account is deployed already: a StateInit that is not the address's own would be refused.
  const message = writeExternalMessage({ ...query, init: null });
  const job = {
    kind: 'transaction',
    // What the message itself costs is taken from the balance before the contract runs.
    shardAccount: cellText(shardAccount(query, state, balance + messageFee(message, config, masterchain))),
    message: cellText(message),
    context: {
      now,
      lt: LT,
      randSeed: Buffer.alloc(32),
      prevBlocks: view.prevBlocks,
      libraries: await librariesFor(view, [code], signal),
      ignoreSignatures,
    },
  } as const;
  const result = await pool.run(job, view.config, signal);
  if (!result.accepted) return null;
  const boc = openBoc(Buffer.from(result.transaction, 'base64'));
  const { compute } = decodeTransaction(boc, boc.roots[0], workchainOf(address)).description;
  if (compute === null || compute.skipped) return null;
  return { gasUsed: BigInt(compute.gasUsed), actions: compute.success ? result.actions : null };
}

const LT = '1000000';

/** `ShardAccount` of an active account that has paid its storage. */
function shardAccount(query: FeeQuery, { code, data }: { code: Cell; data: Cell }, balance: bigint): Cell {
  const { address, now } = query;
  const account = new Builder().u(12, 4).i(workchainOf(address), 8).bytes(address.subarray(4));
  account.varUint(0n, 3).varUint(0n, 3).u(0, 3).u(now, 32).bit(0);
  account
    .u(0, 64 - 48)
    .u(0, 48)
    .grams(balance)
    .bit(0);
  account.u(0b100, 3).maybeRef(code).maybeRef(data).bit(0);
  return new Builder().ref(account.cell()).bytes(Buffer.alloc(32)).u(0, 16).u(0, 48).cell();
}

const MAX_ACTIONS = 20;

/** Price of all messages in an `OutList`. */
function actionFees(list: Cell, config: Cell, masterchain: boolean): bigint {
  const prices = { true: forwardPrices(config, true), false: forwardPrices(config, false) };
  let fees = 0n;
  let at = new Slice(list);
  for (let n = 0; at.refsLeft > 0; n++) {
    if (n === MAX_ACTIONS) throw new EstimateError(`action list too long: more than ${MAX_ACTIONS} actions`);
    const previous = at.open();
    fees += actionFee(at, prices, masterchain);
    at = previous;
  }
  return fees;
}

function actionFee(action: Slice, prices: Record<'true' | 'false', ForwardPrices>, masterchain: boolean): bigint {
  const tag = action.u(32);
  if (tag === outActions.setCode.tag) throw new EstimateError('action_set_code unsupported');
  if (tag === outActions.reserve.tag || tag === outActions.changeLibrary.tag) return 0n;
  const mode = tag === outActions.send.tag ? action.u(8) : 0xff;
  if (mode & ~0xf3 || (mode & 0xc0) === 0xc0) throw new EstimateError("can't parse send_msg");
  try {
    const { size, toMasterchain } = sentMessage(action.ref());
    return forwardFee(prices[`${masterchain || toMasterchain}`], size);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new EstimateError("can't parse send_msg");
  }
}

/** A `MessageRelaxed`: init and body count without their own roots, and whole where they stand in a cell of their own. */
function sentMessage(cell: Cell): { size: ReturnType<typeof sizeBelow>; toMasterchain: boolean } {
  const slice = new Slice(cell);
  const internal = !slice.bit();
  let toMasterchain = false;
  if (internal) {
    slice.skip(3);
    skipAddress(slice);
    toMasterchain = skipAddress(slice) === -1;
    slice.grams();
    slice.maybeRef();
    slice.grams();
    slice.grams();
  } else {
    slice.tag(1, 1, 'ext_out_msg_info');
    skipAddress(slice);
    skipAddress(slice);
  }
  slice.skip(64 + 32);
  // What is left are init and body: everything that is referred to from here on.
  const rest = new Builder();
  while (slice.refsLeft > 0) rest.ref(slice.ref());
  return { size: sizeBelow(rest.cell()), toMasterchain };
}

/** Passes over a `MsgAddress`; the workchain of `addr_std`, null for all others. */
function skipAddress(slice: Slice): number | null {
  const tag = slice.u(2);
  if (tag === 0) return null;
  if (tag === 1) {
    slice.skip(slice.u(9));
    return null;
  }
  if (slice.bit()) slice.skip(slice.u(5));
  if (tag === 2) {
    const workchain = slice.i(8);
    slice.skip(256);
    return workchain;
  }
  const bits = slice.u(9);
  slice.skip(32 + bits);
  return null;
}
