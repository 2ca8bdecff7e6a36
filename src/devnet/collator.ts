import type { Cell } from '../chain/builder.ts';
import { type Change, type Dictionary, updateDictionary } from '../chain/dictionary.ts';
import type { Hash, Shard } from '../chain/model.ts';
import type { CellSet } from '../chain/proof.ts';
import { shardContains } from '../chain/shard-ident.ts';
import { coinSum, type DepthBalance, type ImportFees, importFees, KEY_BITS } from './augmentations.ts';
import { advanceProcessed, deliveredMessages, type EndLtAt, inboundMessages, type Neighbour } from './delivery.ts';
import { createLedger, type Ledger, type LedgerInput } from './ledger.ts';
import { createMessageHeap, type NewMessage } from './message-heap.ts';
import { carriedValue, type ExternalIn, inMsg, outMsg, readMessage, writeEnvelope } from './messages.ts';
import { type OutQueue, type QueueEntry, queueEntry, routeMessage, updateQueue } from './queue.ts';
import type { ProcessedUpto, ShardState } from './state.ts';
import type { ExecutedTransaction } from './transaction.ts';

export interface CollationInput extends Omit<LedgerInput, 'workchain' | 'accounts'> {
  workchain: number;
  shard: Shard;
  /** The state before the block, already split or merged. */
  state: Pick<ShardState, 'accounts' | 'queue' | 'processed' | 'genLt'>;
  neighbours: readonly Neighbour[];
  /** Masterchain block whose queues are seen: the reference, in the masterchain the block itself. */
  mcSeqno: number;
  endLtAt: EndLtAt;
  externals: readonly ExternalIn[];
  /** Accounts to run at the start and at the end of a masterchain block. */
  ticks: readonly Hash[];
  tocks: readonly Hash[];
  maxTransactions: number;
}

export interface Collation {
  inMsgs: Dictionary<ImportFees>;
  outMsgs: Dictionary<bigint>;
  accountBlocks: Dictionary<bigint>;
  accounts: Dictionary<DepthBalance>;
  queue: OutQueue;
  processed: ProcessedUpto[];
  endLt: bigint;
  transactions: number;
  /** Externals that are still waiting because the block was full. */
  left: readonly ExternalIn[];
}

/** A block's messages while it is made. */
interface Traffic {
  input: CollationInput;
  ledger: Ledger;
  ins: Change<ImportFees>[];
  outs: Change<bigint>[];
  removed: Set<QueueEntry>;
  added: QueueEntry[];
  created: ReturnType<typeof createMessageHeap>;
}

/**
 * Runs the messages of one block in the order of the node's collator: delivered ones leave the queue, ticks,
 * messages from queues by lt and hash, external ones, messages created here, tocks. What finds no room
 * stays in a queue.
 */
export function collate(input: CollationInput, loaded: CellSet): Collation {
  const ledger = createLedger({ ...input, accounts: input.state.accounts });
  const traffic: Traffic = {
    input,
    ledger,
    ins: [],
    outs: [],
    removed: new Set(),
    added: [],
    created: createMessageHeap(),
  };
  removeDelivered(traffic);
  for (const hash of input.ticks) send(traffic, ledger.run(hash, 'tick'));
  const last = importQueued(traffic);
  const left = last === 'all' ? importExternals(traffic) : input.externals;
  passOn(traffic, last === 'all');
  for (const hash of input.tocks) send(traffic, ledger.run(hash, 'tock'));
  passOn(traffic, last === 'all');
  const endLt = ledger.endLt();
  const { accounts, blocks } = ledger.finish(loaded);
  const visit = (cell: Cell): void => void loaded.add(cell.key());
  return {
    inMsgs: updateDictionary(null, KEY_BITS.message, importFees, traffic.ins),
    outMsgs: updateDictionary(null, KEY_BITS.message, coinSum, traffic.outs),
    accountBlocks: blocks,
    accounts,
    queue: updateQueue(input.state.queue, traffic.removed, traffic.added, visit),
    processed: advanceProcessed(input.state.processed, input.shard, input.mcSeqno, last),
    endLt,
    transactions: ledger.count(),
    left,
  };
}

function isFull({ input, ledger }: Traffic): boolean {
  return ledger.count() >= input.maxTransactions;
}

function removeDelivered(traffic: Traffic): void {
  const { input, removed, outs } = traffic;
  const { state, workchain, shard } = input;
  const self = { workchain, shard, endLt: state.genLt, processed: state.processed };
  const readers = [self, ...input.neighbours];
  for (const { entry, importLt } of deliveredMessages(state.queue.entries, readers, input.endLtAt)) {
    removed.add(entry);
    const record = outMsg.delivered(entry.envelope, entry.key.subarray(0, 12), importLt);
    outs.push({ key: entry.envelope.message.cell.hash(), leaf: { extra: 0n, value: record } });
  }
}

/** Returns how far the import got. */
function importQueued(traffic: Traffic): QueueEntry | 'all' | null {
  const { input, ledger, ins, outs, removed } = traffic;
  const own = input.state.queue.entries.filter((entry) => !removed.has(entry));
  let last: QueueEntry | null = null;
  for (const { entry, own: fromHere } of inboundMessages(
    { workchain: input.workchain, shard: input.shard, processed: input.state.processed },
    own,
    input.neighbours,
    input.endLtAt,
  )) {
    if (isFull(traffic)) return last;
    const { message } = entry.envelope;
    const transaction = ledger.run(message.destination.hash, { message: message.cell, afterLt: message.createdLt });
    const record = inMsg.final(entry.envelope, transaction.cell);
    const extra = { fees: message.fwdFee, value: carriedValue(message) };
    ins.push({ key: message.cell.hash(), leaf: { extra, value: record } });
    if (fromHere) {
      removed.add(entry);
      outs.push({
        key: message.cell.hash(),
        leaf: { extra: 0n, value: outMsg.dequeuedHere(entry.envelope, record) },
      });
    }
    send(traffic, transaction);
    last = entry;
  }
  return 'all';
}

/** Returns those that found no room. */
function importExternals(traffic: Traffic): readonly ExternalIn[] {
  const { externals } = traffic.input;
  for (let i = 0; i < externals.length; i++) {
    if (isFull(traffic)) return externals.slice(i);
    const { cell, destination } = externals[i];
    const transaction = traffic.ledger.runExternal(destination.hash, cell);
    if (transaction === null) continue;
    const value = inMsg.external(cell, transaction.cell);
    traffic.ins.push({ key: cell.hash(), leaf: { extra: importFees.empty, value } });
    send(traffic, transaction);
  }
  return [];
}

/** Sorts out what a transaction sends: external messages leave, internal ones wait for their turn by lt. */
function send(traffic: Traffic, transaction: ExecutedTransaction): void {
  for (const cell of transaction.out) {
    const message = readMessage(cell);
    if (message.kind === 'internal') traffic.created.push({ message, transaction: transaction.cell });
    else traffic.outs.push({ key: cell.hash(), leaf: { extra: 0n, value: outMsg.external(cell, transaction.cell) } });
  }
}

/** Delivers created messages in lt order within the shard while there is room, and queues the others. */
function passOn(traffic: Traffic, mayDeliver: boolean): void {
  const { workchain, shard } = traffic.input;
  for (let next = traffic.created.pop(); next !== null; next = traffic.created.pop()) {
    const { destination } = next.message;
    const here = destination.workchain === workchain && shardContains(shard, destination.hash);
    if (here && mayDeliver && !isFull(traffic)) deliver(traffic, next);
    else enqueue(traffic, next);
  }
}

function deliver(traffic: Traffic, { message, transaction }: NewMessage): void {
  const { cell, destination, fwdFee } = message;
  const received = traffic.ledger.run(destination.hash, { message: cell, afterLt: message.createdLt });
  const envelope = writeEnvelope(message, 96, 96);
  const imported = inMsg.immediate(envelope, received.cell);
  const key = cell.hash();
  traffic.ins.push({ key, leaf: { extra: { fees: fwdFee, value: 0n }, value: imported } });
  traffic.outs.push({ key, leaf: { extra: 0n, value: outMsg.immediate(envelope, transaction, imported) } });
  send(traffic, received);
}

function enqueue(traffic: Traffic, { message, transaction }: NewMessage): void {
  const route = routeMessage(message.source, message.destination, traffic.input.shard);
  const envelope = writeEnvelope(message, route.current, route.next);
  traffic.added.push(queueEntry(envelope, route.nextHop));
  const leaf = { extra: carriedValue(message), value: outMsg.queued(envelope, transaction) };
  traffic.outs.push({ key: message.cell.hash(), leaf });
}
