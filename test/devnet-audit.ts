import { expect } from 'vitest';
import { accountBlocks, accountStatesAfter } from '../src/chain/accounts.ts';
import { type Block, decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import { type Cell, parseBoc, Slice } from '../src/chain/builder.ts';
import { eachLeaf } from '../src/chain/dictionary.ts';
import { sha256Of } from '../src/chain/hash.ts';
import type { Message, Transaction } from '../src/chain/model.ts';
import { applyMerkleUpdate } from '../src/chain/proof.ts';
import type { Chain, ProducedBlock, ProducedStep } from '../src/devnet/model.ts';

const hex = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');

interface Known {
  state: string;
  lastHash: string;
  lastLt: bigint;
}

/** What the blocks of a chain showed so far. */
export interface Audit {
  /** Reads every block of a step with the project's decoder and checks its figures against the ones before. */
  step(step: ProducedStep): void;
  /** Internal messages that were sent and not received yet. */
  inFlight(): Map<string, Message>;
  /** Kinds of message descriptors seen: `in 3` for `msg_import_imm`, `out 1100` for `msg_export_deq`. */
  kinds: Map<string, number>;
  transactions(): number;
}

/** @param supply nanotons of all accounts of the zero states */
export function createAudit(chain: Chain, supply: bigint): Audit {
  const accounts = new Map<string, Known>();
  const flying = new Map<string, Message>();
  const kinds = new Map<string, number>();
  const states = new Map<string, string>();
  let fees = 0n;
  let transactions = 0;

  const checkBlock = (made: ProducedBlock): Block => {
    expect(sha256Of(made.bytes)).toEqual(made.fileHash);
    const block = decodeBlock(openBoc(made.bytes));
    const { header } = block;
    expect([header.workchain, header.shard, header.seqno]).toEqual([made.workchain, made.shard, made.seqno]);
    expect(header.rootHash).toEqual(made.rootHash);
    expect([header.startLt, header.endLt]).toEqual([made.startLt.toString(), made.endLt.toString()]);
    checkLinks(chain, block);
    checkStateUpdate(chain, block, states);
    const list = checkAccounts(block, accounts);
    transactions += list.length;
    checkMessages(block, list, flying);
    fees += checkFlow(block, list);
    checkDescriptors(parseBoc(made.bytes), block, list, kinds);
    return block;
  };

  return {
    step: (step) => {
      const blocks = [...step.shards, step.mc].map(checkBlock);
      const mc = blocks[blocks.length - 1];
      if (step.shards.length > 0) {
        expect(mc.shardHashes().map(({ rootHash }) => hex(rootHash))).toEqual(
          step.shards.map(({ rootHash }) => hex(rootHash)),
        );
      }
      const held = chain
        .head()
        .shards.concat(chain.head().mc)
        .map((place) => balanceOf(chain.state(place)));
      const moving = [...flying.values()].map(({ value, fwdFee }) => BigInt(value ?? 0) + BigInt(fwdFee ?? 0));
      expect([...held, ...moving, fees].reduce((a, b) => a + b, 0n)).toBe(supply);
    },
    inFlight: () => flying,
    kinds,
    transactions: () => transactions,
  };
}

/** Sum of the account balances that a state claims. */
function balanceOf(state: Cell | null): bigint {
  if (state === null) throw new Error('state of a head is not kept');
  const totals = new Slice(state.refs[2]).skip(128);
  return totals.grams();
}

function checkLinks(chain: Chain, { header }: Block): void {
  for (const prev of header.prev) {
    const place = chain.lookup({ workchain: prev.workchain, shard: prev.shard, seqno: prev.seqno });
    expect(place).not.toBeNull();
    expect([place?.rootHash, place?.fileHash, place?.endLt.toString()]).toEqual([
      prev.rootHash,
      prev.fileHash,
      prev.endLt,
    ]);
    expect(BigInt(header.startLt)).toBeGreaterThan(BigInt(prev.endLt));
    expect(header.seqno).toBeGreaterThan(prev.seqno);
  }
  expect(header.seqno).toBe(Math.max(...header.prev.map(({ seqno }) => seqno)) + 1);
  expect(BigInt(header.startLt) % 1_000_000n).toBe(0n);
  expect(BigInt(header.endLt)).toBeGreaterThan(BigInt(header.startLt));
  if (header.masterRef === null) return;
  expect(BigInt(header.startLt)).toBeGreaterThan(BigInt(header.masterRef.endLt));
}

/** The update starts from the state the block before led to, and applied to it gives the state of this block. */
function checkStateUpdate(chain: Chain, { boc, header }: Block, states: Map<string, string>): void {
  const root = parseBoc(boc.bytes);
  const update = root.refs[2];
  const key = (shard: string, seqno: number): string => `${header.workchain}:${shard}:${seqno}`;
  const state = chain.state(header);
  if (state === null) throw new Error('state of a new block is not kept');
  if (header.prev.length === 1) {
    const [prev] = header.prev;
    const before = states.get(key(prev.shard, prev.seqno));
    if (before !== undefined) expect(hex(update.data.subarray(1, 33))).toBe(before);
    const older = chain.state(prev);
    if (older !== null) expect(hex(applyMerkleUpdate(older, update).hash())).toBe(hex(state.hash()));
  }
  expect(hex(update.data.subarray(33, 65))).toBe(hex(state.hash()));
  states.set(key(header.shard, header.seqno), hex(state.hash()));
}

function checkAccounts(block: Block, accounts: Map<string, Known>): Transaction[] {
  const all: Transaction[] = [];
  const after = new Map(accountStatesAfter(block).map((state) => [hex(state.account), state]));
  for (const { account, stateBefore, stateAfter, transactions } of accountBlocks(block)) {
    const key = hex(account);
    let known = accounts.get(key);
    if (known !== undefined) expect(hex(stateBefore)).toBe(known.state);
    for (const transaction of transactions()) {
      if (known !== undefined) {
        expect(hex(transaction.stateBefore)).toBe(known.state);
        expect(hex(transaction.prevHash)).toBe(known.lastHash);
        expect(BigInt(transaction.prevLt)).toBe(known.lastLt);
        expect(BigInt(transaction.lt)).toBeGreaterThan(known.lastLt);
      }
      expect(BigInt(transaction.lt)).toBeGreaterThanOrEqual(BigInt(block.header.startLt));
      expect(BigInt(transaction.lt)).toBeLessThan(BigInt(block.header.endLt));
      expect(transaction.now).toBe(block.header.genUtime);
      known = {
        state: hex(transaction.stateAfter),
        lastHash: hex(transaction.hash),
        lastLt: BigInt(transaction.lt),
      };
      all.push(transaction);
    }
    expect(known?.state).toBe(hex(stateAfter));
    const state = after.get(key);
    if (state?.status !== 'nonexist') {
      expect(state?.lastTransactionLt).toBe(known?.lastLt.toString());
      if (known !== undefined) accounts.set(key, known);
    } else {
      accounts.delete(key);
    }
  }
  return all;
}

/** Every internal message is received once, after it was sent, and never before in lt. */
function checkMessages({ header }: Block, transactions: readonly Transaction[], flying: Map<string, Message>): void {
  const byLt = [...transactions].sort((a, b) => (BigInt(a.lt) < BigInt(b.lt) ? -1 : 1));
  for (const { outMsgs } of byLt) {
    for (const message of outMsgs) {
      if (message.kind !== 'internal') continue;
      expect(flying.has(hex(message.hash))).toBe(false);
      expect(BigInt(message.createdLt ?? 0)).toBeGreaterThanOrEqual(BigInt(header.startLt));
      expect(BigInt(message.createdLt ?? 0)).toBeLessThan(BigInt(header.endLt));
      flying.set(hex(message.hash), message);
    }
  }
  for (const { lt, inMsg } of byLt) {
    if (inMsg?.kind !== 'internal') continue;
    expect(flying.delete(hex(inMsg.hash))).toBe(true);
    expect(BigInt(inMsg.createdLt ?? 0)).toBeLessThan(BigInt(lt));
  }
}

/** Returns the fees that the block itself collected. */
function checkFlow(block: Block, transactions: readonly Transaction[]): bigint {
  const flow = block.valueFlow();
  const n = ({ grams }: { grams: string }): bigint => BigInt(grams);
  expect(n(flow.fromPrevBlk) + n(flow.imported) + n(flow.feesImported) + n(flow.recovered)).toBe(
    n(flow.toNextBlk) + n(flow.exported) + n(flow.feesCollected),
  );
  const own = transactions.reduce((sum, { totalFees }) => sum + BigInt(totalFees), 0n);
  const forwarding = transactions.reduce(
    (sum, { inMsg }) => sum + (inMsg?.kind === 'internal' ? BigInt(inMsg.fwdFee ?? 0) : 0n),
    0n,
  );
  expect(n(flow.feesCollected)).toBe(own + forwarding + n(flow.feesImported));
  return own + forwarding;
}

/** Every message of every transaction has its descriptor, and there are no others but dequeued ones. */
function checkDescriptors(
  root: Cell,
  block: Block,
  transactions: readonly Transaction[],
  kinds: Map<string, number>,
): void {
  const note = (kind: string): void => void kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const extra = root.refs[3];
  const received = new Set(transactions.flatMap(({ inMsg }) => (inMsg === null ? [] : [hex(inMsg.hash)])));
  const sent = new Set(transactions.flatMap(({ outMsgs }) => outMsgs.map(({ hash }) => hex(hash))));
  const ins = new Set<string>();
  eachLeaf(new Slice(extra.refs[0]).maybeRef(), 256, (slice, key) => {
    slice.grams();
    slice.grams();
    slice.skip(1);
    note(`in ${slice.u(3)}`);
    ins.add(hex(key));
  });
  const outs = new Set<string>();
  eachLeaf(new Slice(extra.refs[1]).maybeRef(), 256, (slice, key) => {
    slice.grams();
    slice.skip(1);
    const tag = slice.u(3);
    note(`out ${tag}`);
    if (tag !== 6 && tag !== 4) outs.add(hex(key));
  });
  expect([...ins].sort()).toEqual([...received].sort());
  expect([...outs].sort()).toEqual([...sent].sort());
  expect(block.inMsgCount()).toBe(ins.size);
}
