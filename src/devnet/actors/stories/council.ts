/** A multisig of three signers and a proposer, whose orders end in every way that orders can. */
import { comment, internal, toNano } from '@ton/core';
import {
  approvalInWords,
  approveOrder,
  cleanUpOrder,
  multisigAddress,
  multisigCode,
  multisigData,
  multisigOrderAddress,
  newOrder,
  type OrderAction,
  type OrderState,
  readMultisigOrder,
  readNextOrder,
} from '../../contracts/multisig.ts';
import type { Cast } from '../cast.ts';
import type { Scene } from '../deeds.ts';
import type { Ledger, Moment } from '../ledger.ts';
import type { Wallet } from '../wallets.ts';
import { type Act, type Story, secondsOf } from './story.ts';

const ORDER_VALUE = toNano('0.2');
const CALL_VALUE = toNano('0.05');
/** Orders that are kept: older ones are cleaned up when they are over. */
const KEPT = 6n;
/** Seconds. */
const LIFETIME_S = 120;
const SHORT_LIFETIME_S = 20;

/** One order after the other: approved at once, proposed and approved in words, left to expire, left half approved. */
const FATES = ['spend', 'reform', 'expire', 'wait'] as const;

export function createCouncil(cast: Cast): Story {
  const { signers, proposer } = cast.council;
  const terms = {
    threshold: 2,
    signers: signers.map(({ address }) => address),
    proposers: [proposer.address],
  };
  const multisig = multisigAddress(terms);
  const init = { code: multisigCode, data: multisigData(terms) };
  /** The order to which its first signer has given a second approval, which is refused. */
  let pressed = -1n;

  const fateOf = (seqno: bigint): (typeof FATES)[number] => FATES[Number(seqno % BigInt(FATES.length))];

  function make(scene: Scene, seqno: bigint, now: Moment): Act {
    const { cast, random } = scene;
    const fate = fateOf(seqno);
    const gift = internal({
      to: random.pick(cast.traders).address,
      value: toNano('0.03'),
      bounce: false,
      body: comment(`by order ${seqno}`),
    });
    const action: OrderAction = fate === 'reform' ? terms : { mode: 3, message: gift };
    const bySigner = fate !== 'reform';
    const expiresAt = secondsOf(now) + (fate === 'expire' ? SHORT_LIFETIME_S : LIFETIME_S);
    const order = { queryId: random.bits64(), seqno, signer: bySigner, index: 0, expiresAt, actions: [action] };
    const by = bySigner ? signers[0] : proposer;
    return { by, messages: [{ to: multisig, value: ORDER_VALUE, bounce: true, body: newOrder(order) }] };
  }

  function call(by: Wallet, seqno: bigint, body: ReturnType<typeof approveOrder>): Act {
    return { by, messages: [{ to: multisigOrderAddress(multisig, seqno), value: CALL_VALUE, bounce: true, body }] };
  }

  /** The next approval of an order that is to be executed; null when it is not, or was. */
  function approval({ random }: Scene, seqno: bigint, order: OrderState): Act | null {
    const fate = fateOf(seqno);
    if (order.executed || (fate !== 'spend' && fate !== 'reform')) return null;
    if (order.approvals === 0n) return call(signers[0], seqno, approvalInWords());
    if (fate === 'reform' && pressed !== seqno) {
      pressed = seqno;
      return call(signers[0], seqno, approveOrder(random.bits64(), 0));
    }
    return call(signers[1], seqno, approveOrder(random.bits64(), 1));
  }

  async function orderAt(ledger: Ledger, seqno: bigint): Promise<OrderState | null> {
    if (seqno < 0n) return null;
    const account = await ledger.account(multisigOrderAddress(multisig, seqno));
    return account?.data ? readMultisigOrder(account.data) : null;
  }

  async function next(scene: Scene, now: Moment): Promise<Act | null> {
    const { ledger, random } = scene;
    const account = await ledger.account(multisig);
    if (!account?.data)
      return { by: signers[0], messages: [{ to: multisig, value: toNano('5'), bounce: false, init }] };
    if (account.balance < toNano('2')) {
      return { by: signers[2], messages: [{ to: multisig, value: toNano('3'), bounce: true }] };
    }
    const seqno = readNextOrder(account.data);
    const newest = await orderAt(ledger, seqno - 1n);
    const approved = newest === null ? null : approval(scene, seqno - 1n, newest);
    if (approved !== null && newest !== null && newest.expiresAt > secondsOf(now) + 5) return approved;
    const old = await orderAt(ledger, seqno - KEPT);
    if (old === null) return make(scene, seqno, now);
    if (!old.executed && old.expiresAt >= secondsOf(now)) return null;
    return call(signers[2], seqno - KEPT, cleanUpOrder(random.bits64(), 2));
  }

  return { next };
}
