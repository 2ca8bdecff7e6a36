/** Transactions as nodes of pending traces, and which traces they are of. */
import { encodeStates } from '../../clickhouse/states.ts';
import type { PendingNode } from '../../streams/pending-trace.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, BlockIdExt } from '../chain/model.ts';
import type { TransactionRecord } from '../chain/records.ts';
import type { Emulated } from '../emulation/emulator.ts';
import type { AccountBefore } from '../emulation/trace.ts';
import { hashNormOf, type OpenNode, openNode } from './merge.ts';
import type { SignedTransaction } from './signed-blocks.ts';
import type { OpenTrace, PendingStore } from './store.ts';

export function aheadOf(account: Address, before: AccountBefore): (address: Address) => AccountBefore | undefined {
  return (address) => (address.equals(account) ? before : undefined);
}

export function emulatedNodes({ transactions, step }: Emulated): PendingNode[] {
  return transactions.map(({ boc, block, before, after }) => ({
    finality: 'pending',
    block,
    blockHash: null,
    mcSeqno: step.header.seqno + 1,
    transaction: boc,
    states: encodeStates(before, after),
    wallet: null,
  }));
}

/** As it stands in the index. */
export function finalNode({ stored, block, mcSeqno, transaction }: TransactionRecord): OpenNode {
  if (stored === undefined) throw new Error(`transaction ${transaction.hash.toString('hex')} came without its bytes`);
  const { payload, states } = stored;
  const wallet = null;
  return openNode({ finality: 'finalized', block, blockHash: null, mcSeqno, transaction: payload, states, wallet });
}

/** With what its account says of itself. */
export interface SignedNode extends OpenNode {
  claims: SignedTransaction['claims'];
}

export function confirmedNode({ boc, states, claims }: SignedTransaction, id: BlockIdExt, mcSeqno: number): SignedNode {
  const { workchain, shard, seqno, rootHash: blockHash } = id;
  const block = { workchain, shard, seqno };
  const node = { finality: 'confirmed', block, blockHash, mcSeqno, transaction: boc, states, wallet: null } as const;
  return { ...openNode(node), claims };
}

/** The traces that transactions of a step are of. */
export function touchedBy(
  store: PendingStore,
  records: readonly TransactionRecord[],
): Map<OpenTrace, TransactionRecord[]> {
  const begun = new Map<string, OpenTrace>();
  for (const {
    transaction: { inMsg },
  } of records) {
    if (inMsg?.kind !== 'external_in') continue;
    const one = store.get(hashNormOf(inMsg));
    if (one !== undefined) begun.set(hashKey(inMsg.hash), one);
  }
  const touched = new Map<OpenTrace, TransactionRecord[]>();
  for (const record of records) {
    const { externalHash } = record;
    const one = externalHash && (begun.get(hashKey(externalHash)) ?? store.byMessage(externalHash));
    if (one) add(touched, one, record);
  }
  return touched;
}

/** The traces that transactions of a block are of, by the messages that lead to them; in the order of their lt. */
export function touchedByNodes<N extends OpenNode>(store: PendingStore, nodes: readonly N[]): Map<OpenTrace, N[]> {
  const sent = new Map<string, OpenTrace>();
  for (const one of store.all()) {
    // Nothing follows from one that is whole.
    if (one.finality === 'finalized') continue;
    for (const node of one.nodes) noteSent(sent, one, node);
  }
  const touched = new Map<OpenTrace, N[]>();
  for (const node of nodes) {
    const { inMsg } = node.transaction;
    if (inMsg === null) continue;
    const one = inMsg.kind === 'external_in' ? store.get(hashNormOf(inMsg)) : sent.get(hashKey(inMsg.hash));
    if (one === undefined) continue;
    add(touched, one, node);
    noteSent(sent, one, node);
  }
  return touched;
}

function noteSent(sent: Map<string, OpenTrace>, one: OpenTrace, { transaction }: OpenNode): void {
  for (const { hash, destination } of transaction.outMsgs) if (destination !== null) sent.set(hashKey(hash), one);
}

function add<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const own = map.get(key);
  if (own) own.push(value);
  else map.set(key, [value]);
}
