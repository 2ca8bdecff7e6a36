/**
 * Whether accounts take the messages that wait for them: each on the newest state, or behind one that waits longer, as
 * a wallet takes several orders in a row.
 */
import type { StoredPendingMessage } from '../../streams/pending-record.ts';
import { parseBoc } from '../chain/builder.ts';
import type { Address } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { serialize } from '../chain/serialize.ts';
import { accountLeft, beginningOf, type Emulated, type Emulator, readMessage } from '../emulation/emulator.ts';
import { type AccountBefore, EMULATION_LIMITS, NotAccepted } from '../emulation/trace.ts';
import type { Step } from '../state/steps.ts';
import { aheadOf } from './nodes.ts';
import { type OpenTrace, type PendingStore, rootOf } from './store.ts';

/** A trace whose root is emulated, and its account as the root leaves it on a step; null where it is not accepted. */
export interface Standing {
  one: OpenTrace;
  left: AccountBefore | null;
}

const ROOT_ALONE = { ...EMULATION_LIMITS, transactions: 1 };

/** @param knownAhead what is remembered of the account behind the root of a trace */
export function createRoots(
  store: PendingStore,
  emulator: Emulator,
  knownAhead: (one: OpenTrace) => AccountBefore | undefined,
) {
  /**
   * Traces that begin with the account, the oldest first: those whose root is emulated, but for those that were on a
   * later step, and those whose root is in a signed block that no step has yet. Others may wait behind these, too.
   */
  function waitingFor(account: Address, { header }: Step): OpenTrace[] {
    return store
      .byAccount(account)
      .filter(
        (one) =>
          one.nodes[0].node.finality !== 'finalized' &&
          one.nodes[0].transaction.account.equals(account) &&
          one.nodes[0].node.mcSeqno <= header.seqno + 1,
      )
      .sort((a, b) => a.trace.begunMs - b.trace.begunMs);
  }

  async function leftBy(
    one: OpenTrace,
    step: Step,
    before: AccountBefore | undefined,
    nowMs: number | undefined,
    context: QueryContext,
  ): Promise<AccountBefore | null> {
    const [{ bag, transaction }] = one.nodes;
    if (transaction.inMsg === null) return null;
    const { account } = transaction;
    const message = parseBoc(serialize(bag, transaction.inMsg.cell));
    const beginning = { message, destination: account, createdLt: null, hop: 0, depth: 0 };
    for (const ahead of before === undefined ? [undefined] : [undefined, before]) {
      const how = {
        limits: ROOT_ALONE,
        ...(nowMs === undefined ? {} : { nowMs }),
        ...(ahead && { ahead: aheadOf(account, ahead) }),
      };
      try {
        const { transactions } = await emulator.run([beginning], step, how, context);
        return accountLeft(transactions[0]);
      } catch (error) {
        if (!(error instanceof NotAccepted)) throw error;
      }
    }
    return null;
  }

  return {
    /**
     * What a message leads to.
     * @throws {NotAccepted} where its account takes it neither as it stands nor behind a message that waits
     */
    async emulate(
      message: Pick<StoredPendingMessage, 'boc' | 'destination'>,
      step: Step,
      context: QueryContext,
    ): Promise<Emulated> {
      const beginning = beginningOf(readMessage(message.boc));
      try {
        return await emulator.run([beginning], step, {}, context);
      } catch (error) {
        const newest = error instanceof NotAccepted ? waitingFor(message.destination, step).at(-1) : undefined;
        const before = newest && knownAhead(newest);
        if (before === undefined) throw error;
        return emulator.run([beginning], step, { ahead: aheadOf(message.destination, before) }, context);
      }
    },
    /**
     * How what is emulated and waits for an account stands on a step, the oldest first.
     * @param nowMs of the next block; now unless given
     */
    async standing(
      account: Address,
      step: Step,
      nowMs: number | undefined,
      context: QueryContext,
    ): Promise<Standing[]> {
      const found: Standing[] = [];
      let before: AccountBefore | undefined;
      for (const one of waitingFor(account, step)) {
        const left = await leftBy(one, step, before, nowMs, context);
        if (rootOf(one) === null) found.push({ one, left });
        before = left ?? before;
      }
      return found;
    },
  };
}

export type Roots = ReturnType<typeof createRoots>;
