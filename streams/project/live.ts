import { encodeState, encodeStates } from '../../clickhouse/states.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { hashKey } from '../../src/chain/hash.ts';
import { methodIds } from '../../src/chain/interfaces.ts';
import type { AccountState, Hash } from '../../src/chain/model.ts';
import type { KnownState } from '../../src/chain/records.ts';
import type { LiveAccount, LiveBlock, LiveCode, LiveStep, LiveTransaction } from '../live-steps.ts';
import type { Step } from '../steps.ts';
import { storedForm, wholeCells } from './cells.ts';
import type { DecodedBlock } from './decode.ts';
import type { Placed } from './order.ts';
import type { OpenMessage } from './packed.ts';

/** What is known around a transaction when its rows are written. */
export interface LiveLinks {
  traceId: Hash;
  externalHash: Hash | null;
  before: KnownState | null;
  /** The in-message as it was sent, where that is known. */
  arrival: OpenMessage | null;
}

/** The contents of one step, collected while its rows are written. */
export interface LiveDraft {
  transaction(placed: Placed, links: LiveLinks): void;
  /**
   * The state after an account's last transaction in a block; the newest by lt stays.
   * @param before the code hash of the state before
   * @param data what became known of its data with this step
   */
  state(state: AccountState, block: DecodedBlock, before: Hash | null, data: LiveAccount['data']): void;
  /** @param previous masterchain seqno of the step before it in the log, 0 for the first */
  seal(step: Step, previous: number): LiveStep;
}

/** @param maxBytes largest code or data that is taken along, as in the tables */
export function createLiveDraft(blocks: readonly DecodedBlock[], maxBytes: number): LiveDraft {
  const transactions = new Map<DecodedBlock, LiveTransaction[]>(blocks.map((block) => [block, []]));
  const accounts = new Map<string, LiveAccount>();
  const codes = new Map<string, LiveCode>();

  function noteCode(state: AccountState, block: DecodedBlock, before: Hash | null): void {
    const { codeHash, codeCell } = state;
    if (codeHash === null || codeCell === null || before?.equals(codeHash)) return;
    if (!state.codeComplete || codes.has(hashKey(codeHash))) return;
    const boc = fitting(wholeCells(block.boc, codeCell), maxBytes);
    if (boc) codes.set(hashKey(codeHash), { hash: codeHash, methods: methodIds(boc) ?? [], boc });
  }

  return {
    transaction({ transaction, block, payload, after }, { traceId, externalHash, before, arrival }) {
      transactions.get(block)?.push({
        account: transaction.account,
        lt: transaction.lt,
        traceId,
        externalHash,
        states: encodeStates(before, after),
        sender: arrival && {
          txHash: arrival.outTxHash,
          lt: arrival.outLt,
          mcSeqno: arrival.outMcSeqno,
          globalVersion: arrival.globalVersion,
        },
        payload,
      });
    },
    state(state, block, before, data) {
      noteCode(state, block, before);
      const key = hashKey(state.account);
      const other = accounts.get(key);
      if (other && compareDecimal(other.lt, state.lastTransactionLt) >= 0) return;
      accounts.set(key, {
        account: state.account,
        lt: state.lastTransactionLt,
        hash: state.hash,
        lastTransactionHash: state.lastTransactionHash,
        state: encodeState(state),
        data: data ?? shownData(state, block, maxBytes),
      });
    },
    seal: (step, previous) => ({
      ...headOf(step, previous),
      blocks: blocks.map((block) => liveBlock(block, transactions.get(block) ?? [])),
      accounts: [...accounts.values()].sort((a, b) => a.account.compare(b.account)),
      codes: [...codes.values()].sort((a, b) => a.hash.compare(b.hash)),
    }),
  };
}

/** A step that could not be decoded: readers go past it, there is nothing in it. */
export function emptyLiveStep(step: Step, previous: number): LiveStep {
  return { ...headOf(step, previous), blocks: [], accounts: [], codes: [] };
}

function headOf(step: Step, previous: number): Pick<LiveStep, 'mcSeqno' | 'previous' | 'globalId' | 'rootHash'> {
  const last = step.blocks[step.blocks.length - 1];
  return { mcSeqno: step.mcSeqno, previous, globalId: last.globalId, rootHash: last.id.rootHash };
}

function liveBlock({ record, info, shardTops }: DecodedBlock, transactions: LiveTransaction[]): LiveBlock {
  const { header } = record;
  return {
    workchain: header.workchain,
    shard: header.shard,
    seqno: header.seqno,
    globalId: header.globalId,
    globalVersion: Math.min(header.genSoftware?.version ?? 0, 255),
    genUtime: header.genUtime,
    startLt: header.startLt,
    endLt: header.endLt,
    rootHash: header.rootHash,
    fileHash: header.fileHash,
    randSeed: record.randSeed,
    createdBy: record.createdBy,
    info,
    shardTops: shardTops.map(({ workchain, shard, seqno }) => ({ workchain, shard, seqno })),
    transactions,
  };
}

/**
 * Data that the block shows in full. Taken along also when the tables have it: so a step has the same bytes when its
 * batch is repeated after a crash.
 */
function shownData(state: AccountState, block: DecodedBlock, maxBytes: number): LiveAccount['data'] {
  if (state.dataHash === null || state.dataCell === null || !state.dataComplete) return null;
  const boc = fitting(wholeCells(block.boc, state.dataCell), maxBytes);
  return boc && { hash: state.dataHash, boc };
}

function fitting(cells: Buffer | null, maxBytes: number): Buffer | null {
  return cells === null || cells.length > maxBytes ? null : storedForm(cells);
}
