import { Builder, type Cell, parseBoc, Slice, toBoc } from '../../chain/builder.ts';
import { DecodeError } from '../../chain/errors.ts';
import { merkleProof } from '../../chain/proof.ts';
import type { LiteAnswer, LiteRequest } from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import {
  cellText,
  type Executor,
  ExecutorError,
  type GetMethodCall,
  type GetMethodResult,
  textCell,
} from '../../tvm/executor.ts';
import { readCoins } from '../augmentations.ts';
import { type FoundAccount, findAccount } from './accounts.ts';
import type { Blocks } from './blocks.ts';
import { showLibraries } from './proofs.ts';
import { badRequest } from './refusals.ts';

/** Bits of `runSmcMethod`'s mode: which of its optional parts the answer has. */
const PART = { proofs: 1, stateProof: 2, result: 4, initC7: 8, libraries: 16 } as const;

/** Limits of a node: bytes of parameters, gas of a get-method. */
const MAX_PARAMETERS = 65_536;
const GAS_LIMIT = '300000';

/** What nodes answer for an account that has no code to run. */
const NOT_ACTIVE = -256;

/** `vm_stack#_ depth:(## 24)` of depth 0. */
const EMPTY_STACK = new Builder().u(0, 24).cell();

interface Contract {
  code: Cell;
  data: Cell;
  balance: bigint;
}

/** Code and data of an active `Account`; null for any other. Throws DecodeError. */
function readContract(account: Cell): Contract | null {
  const slice = new Slice(account);
  if (!slice.bit()) return null;
  // addr_std without anycast; StorageInfo: used cells and bits, extra, last paid, due payment
  slice.skip(3 + 8 + 256);
  slice.varUint(3);
  slice.varUint(3);
  if (slice.u(3) === 1) slice.skip(256);
  slice.skip(32);
  if (slice.bit()) slice.grams();
  slice.skip(64);
  const balance = readCoins(slice);
  if (!slice.bit()) return null;
  if (slice.bit()) slice.skip(5);
  if (slice.bit()) slice.skip(2);
  const empty = new Builder().cell();
  const code = slice.maybeRef();
  return code === null ? null : { code, data: slice.maybeRef() ?? empty, balance };
}

/** Runs get-methods on the node's TVM. `executor` is only asked for get-methods. */
export function getMethodHandlers(blocks: Blocks, executor: Executor): LiteHandlers {
  function run(found: FoundAccount, contract: Contract, request: LiteRequest<'runSmcMethod'>): GetMethodResult {
    const { workchain, id } = request.account;
    const master = request.id.workchain === -1 ? blocks.master(request.id) : blocks.masterAt(found.shard.mcSeqno);
    const libraries = showLibraries(blocks.state(master), () => undefined);
    return runSafely(executor, {
      code: cellText(contract.code),
      data: cellText(contract.data),
      address: `${workchain}:${id.toString('hex')}`,
      methodId: Number(request.methodId),
      stack: cellText(readStack(request.params)),
      now: found.shard.genUtime,
      balance: contract.balance.toString(),
      randSeed: Buffer.alloc(32),
      gasLimit: GAS_LIMIT,
      libraries: libraries === null ? null : cellText(libraries),
    });
  }

  return {
    runSmcMethod(request) {
      const { mode, params, methodId } = request;
      if (params.length > MAX_PARAMETERS) throw badRequest('more than 64k parameter bytes passed');
      if (mode & ~0x1f) throw badRequest('unsupported mode in runSmcMethod');
      if (BigInt.asIntN(32, methodId) !== methodId) throw badRequest('a method id has 32 bits');
      const found = findAccount(blocks, request.id, request.account);
      const contract = found.account === null ? null : readContract(found.account);
      if (contract === null) return assemble(found, mode, { exitCode: NOT_ACTIVE, stack: Buffer.alloc(0) });
      const result = run(found, contract, request);
      if (!result.success) throw badRequest(result.reason);
      return assemble(found, mode, { exitCode: result.exitCode, stack: toBoc(textCell(result.stack)) });
    },
  };
}

/** A stack that the TVM cannot even read is the caller's mistake. */
function runSafely(executor: Executor, call: GetMethodCall): GetMethodResult {
  try {
    return executor.runGetMethod(call);
  } catch (error) {
    if (!(error instanceof ExecutorError)) throw error;
    return { success: false, reason: error.message };
  }
}

function readStack(params: Buffer): Cell {
  if (params.length === 0) return EMPTY_STACK;
  try {
    return parseBoc(params);
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(`cannot deserialize parameter list boc: ${error.message}`);
    throw error;
  }
}

/**
 * The parts asked for. The executor does not tell which cells of the account it read, so the state proof shows all of
 * them, and not what c7 was: the answer's mode says that it is missing.
 */
function assemble(
  found: FoundAccount,
  mode: number,
  { exitCode, stack }: { exitCode: number; stack: Buffer },
): LiteAnswer<'runSmcMethod'> {
  const { id, shardblk, shardProof, account } = found;
  const state = account === null ? Buffer.alloc(0) : toBoc(merkleProof(account, () => true));
  return {
    mode: mode & ~PART.initC7,
    id,
    shardblk,
    ...(mode & PART.proofs ? { shardProof, proof: found.proof() } : {}),
    ...(mode & PART.stateProof ? { stateProof: state } : {}),
    ...(mode & PART.libraries ? { libExtras: Buffer.alloc(0) } : {}),
    exitCode,
    ...(mode & PART.result ? { result: stack } : {}),
  };
}
