/**
 * Accounts as signed shard blocks leave them that no step has yet: what follows from such a block is emulated on these.
 * A block shows what it has changed; the rest is filled in from the state of the step.
 */
import { openAccounts } from '../chain/accounts.ts';
import { workchainOf } from '../chain/address.ts';
import { type Boc, openBoc } from '../chain/boc.ts';
import { Builder, toBoc } from '../chain/builder.ts';
import { skipCurrencies } from '../chain/currency.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { DecodeError } from '../chain/errors.ts';
import { mergePruned } from '../chain/merge.ts';
import type { Address, BlockIdExt, Decimal, Hash } from '../chain/model.ts';
import type { Behind } from '../emulation/emulator.ts';
import type { AccountBefore, ShardTop } from '../emulation/trace.ts';
import { type Step, topOf } from '../state/steps.ts';

/** What a signed block leaves behind. */
export interface SignedState {
  bag: Boc;
  /** Root of the state in the bag: what has changed, all else pruned. */
  root: number;
  endLt: Decimal;
  /** Unix seconds. */
  genUtime: number;
  /** Bytes that it takes, about. */
  memory: number;
  /** The accounts with transactions in it. */
  accounts: readonly { account: Address; lastTransactionHash: Hash; lastTransactionLt: Decimal }[];
}

/** An account as a block leaves it. */
interface Left {
  block: SignedState;
  lastTransactionHash: Hash;
  lastTransactionLt: Decimal;
  /** As the block before has left it that changed it, where no step has that one either. */
  before: Left | null;
}

/** Blocks of all shards that no step has, and their memory: of more the oldest are forgotten. */
const MOST_BLOCKS = 64;
const MOST_MEMORY = 128 * 1024 * 1024;

export function createSignedStates() {
  /** The oldest first. */
  let kept: { id: BlockIdExt; state: SignedState }[] = [];

  /** The newest of an account that is not in the step. */
  function leftOf(account: Address, step: Step): Left | null {
    const end = topOf(step, account)?.endLt;
    if (end === undefined) return null;
    let left: Left | null = null;
    for (const { id, state } of kept) {
      if (id.workchain !== workchainOf(account) || compareDecimal(state.endLt, end) <= 0) continue;
      const found = state.accounts.find((one) => one.account.equals(account));
      if (found !== undefined) left = { block: state, ...found, before: left };
    }
    return left;
  }

  return {
    note(id: BlockIdExt, state: SignedState): void {
      const isReplaced = (one: BlockIdExt): boolean =>
        one.workchain === id.workchain && one.shard === id.shard && one.seqno >= id.seqno;
      kept = [...kept.filter((one) => !isReplaced(one.id)), { id, state }].slice(-MOST_BLOCKS);
      let memory = kept.reduce((sum, one) => sum + one.state.memory, 0);
      for (; memory > MOST_MEMORY && kept.length > 1; kept.shift()) memory -= kept[0].state.memory;
    },
    /** A step is told: what it has is forgotten. */
    pass({ tops }: Step): void {
      kept = kept.filter(({ id, state }) =>
        tops?.some((top) => top.workchain === id.workchain && compareDecimal(top.endLt, state.endLt) < 0),
      );
    },
    clear(): void {
      kept = [];
    },
    /** What is behind a step. */
    behind(step: Step): Behind {
      const tops = new Map<string, ShardTop>();
      for (const { id, state } of kept) tops.set(keyOf(id), { ...id, endLt: state.endLt });
      return {
        genUtime: Math.max(0, ...kept.map(({ state }) => state.genUtime)),
        top: (of) => {
          const signed = tops.get(keyOf(of));
          return signed !== undefined && signed.seqno > of.seqno ? signed : of;
        },
        account: (address, before) => {
          const left = leftOf(address, step);
          return left === null ? before : accountOf(address, left, before);
        },
      };
    },
  };
}

/** `account_none$0`. */
const NO_ACCOUNT = toBoc(new Builder().bit(0).cell());

const keyOf = ({ workchain, shard }: Pick<BlockIdExt, 'workchain' | 'shard'>): string => `${workchain} ${shard}`;

/** As the step has it where what the blocks show cannot be made whole. */
function accountOf(account: Address, left: Left, inStep: AccountBefore): AccountBefore {
  const before = left.before === null ? inStep : accountOf(account, left.before, inStep);
  const { block, lastTransactionHash, lastTransactionLt } = left;
  try {
    const found = openAccounts(block.bag, block.root)(account);
    if (found === null) return { boc: null, lastTransactionHash, lastTransactionLt };
    found.skip(5);
    skipCurrencies(found);
    const boc = mergePruned(block.bag, found.nextRef(), openBoc(before.boc ?? NO_ACCOUNT));
    return boc === null ? inStep : { boc, lastTransactionHash, lastTransactionLt };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return inStep;
  }
}
