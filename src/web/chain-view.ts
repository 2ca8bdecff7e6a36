/** The newest steps and transactions as the page shows them: small values, all text encoded. */

import { friendlyAddress, shardText } from '../chain/address.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { isBounceable } from '../chain/interfaces.ts';
import { CellView } from '../chain/layouts/cell-view.ts';
import { commentOf } from '../chain/layouts/common.ts';
import type { Decimal, Message } from '../chain/model.ts';
import type { BlockRecord, QueryContext, TransactionRecord } from '../chain/records.ts';

/** One masterchain step: the masterchain block and the shard blocks that it commits. */
export interface StepView {
  seqno: number;
  /** Seconds; of the masterchain block, or of the newest block where that one is not indexed. */
  utime: number;
  keyBlock: boolean;
  transactions: number;
  /** The masterchain block first. */
  blocks: BlockView[];
}

export interface BlockView {
  workchain: number;
  shard: string;
  seqno: number;
  /** Root hash, base64. */
  hash: string;
  transactions: number;
}

/** What set a transaction off, in a word. */
export type TransactionKind =
  | 'transfer'
  | 'call'
  | 'external'
  | 'deploy'
  | 'bounce'
  | 'tick'
  | 'tock'
  | 'storage'
  | 'split'
  | 'merge';

export interface TransactionView {
  hash: string;
  /** User-friendly form. */
  account: string;
  utime: number;
  mcSeqno: number;
  kind: TransactionKind;
  /** `0x` and eight digits; null unless the message calls for something. */
  opcode: string | null;
  /** Null when all went well. */
  failure: string | null;
  /** Nanotons that came with the message, or that were sent when it came from outside; null when there are none. */
  value: Decimal | null;
  direction: 'in' | 'out';
  fees: Decimal;
  /** Cut to LONGEST_COMMENT characters. */
  comment: string | null;
}

export interface ChainView {
  /** Greatest indexed masterchain seqno; null before there is one. */
  head: number | null;
  /** `global_id` of the network. */
  network: number | null;
  /** Newest first. */
  steps: StepView[];
  /** Transactions of the newest steps, oldest step first. */
  activity: { seqno: number; transactions: number }[];
  /** Transactions a second of chain time over the steps of `activity`; null when they cover no time. */
  perSecond: number | null;
  /** Newest first. */
  transactions: TransactionView[];
}

export interface ChainViewOptions {
  source: ChainSource;
  /** The head to show, read before the questions are asked: nothing above it is shown. */
  head: number;
  network: number | null;
  testOnly: boolean;
  context: QueryContext;
}

const SHOWN_STEPS = 8;
const SHOWN_ACTIVITY = 48;
const SHOWN_TRANSACTIONS = 20;
/** A step has a masterchain block and mostly one to four shard blocks. */
const ASKED_BLOCKS = 160;
const LONGEST_COMMENT = 160;

/** Two questions to the source, none while there is no step. */
export async function readChainView(options: ChainViewOptions): Promise<ChainView> {
  const { source, head, network, context, testOnly } = options;
  if (head === 0) {
    return { head: null, network, steps: [], activity: [], perSecond: null, transactions: [] };
  }
  const sort = 'desc';
  const window = { utime: {}, sort } as const;
  const [blocks, transactions] = await Promise.all([
    source.blocks({ ...window, lt: {}, page: { limit: ASKED_BLOCKS, offset: 0 } }, context),
    source.transactions(
      {
        ...window,
        ltWindow: {},
        accounts: [],
        excludeAccounts: [],
        hashes: [],
        page: { limit: SHOWN_TRANSACTIONS, offset: 0 },
      },
      context,
    ),
  ]);
  const below = <T extends { mcSeqno: number }>(rows: T[]) => rows.filter(({ mcSeqno }) => mcSeqno <= head);
  const steps = stepViews(below(blocks.rows), blocks.rows.length === ASKED_BLOCKS);
  const activity = steps.slice(0, SHOWN_ACTIVITY);
  return {
    head,
    network,
    steps: steps.slice(0, SHOWN_STEPS),
    activity: activity.map(({ seqno, transactions }) => ({ seqno, transactions })).reverse(),
    perSecond: perSecond(activity),
    transactions: below(transactions.rows).map((record) => transactionView(record, testOnly)),
  };
}

/** Newest first. `cut`: older blocks were not asked for, so the oldest step may lack some and is left out. */
function stepViews(blocks: readonly BlockRecord[], cut: boolean): StepView[] {
  const steps = new Map<number, BlockRecord[]>();
  for (const block of blocks) {
    const step = steps.get(block.mcSeqno);
    if (step === undefined) steps.set(block.mcSeqno, [block]);
    else step.push(block);
  }
  const views = [...steps].sort(([a], [b]) => b - a).map(([seqno, step]) => stepView(seqno, step));
  return cut && views.length > 1 ? views.slice(0, -1) : views;
}

function stepView(seqno: number, step: readonly BlockRecord[]): StepView {
  const blocks = [...step].sort((a, b) => compareBlocks(a, b));
  const master = blocks.find(({ header }) => header.workchain === -1)?.header;
  return {
    seqno,
    utime: master?.genUtime ?? Math.max(...blocks.map(({ header }) => header.genUtime)),
    keyBlock: master?.keyBlock ?? false,
    transactions: blocks.reduce((sum, { txCount }) => sum + txCount, 0),
    blocks: blocks.map(({ header, txCount }) => ({
      workchain: header.workchain,
      shard: shardText(header.shard),
      seqno: header.seqno,
      hash: header.rootHash.toString('base64'),
      transactions: txCount,
    })),
  };
}

function compareBlocks({ header: a }: BlockRecord, { header: b }: BlockRecord): number {
  return a.workchain - b.workchain || (a.shard < b.shard ? -1 : a.shard > b.shard ? 1 : a.seqno - b.seqno);
}

/** The oldest step begins the time: its own transactions happened before. */
function perSecond(steps: readonly StepView[]): number | null {
  if (steps.length < 2) return null;
  const seconds = steps[0].utime - steps[steps.length - 1].utime;
  const transactions = steps.slice(0, -1).reduce((sum, step) => sum + step.transactions, 0);
  return seconds > 0 ? transactions / seconds : null;
}

function transactionView(record: TransactionRecord, testOnly: boolean): TransactionView {
  const { transaction } = record;
  const { inMsg } = transaction;
  const fromOutside = inMsg === null || inMsg.kind !== 'internal';
  const bounceable = isBounceable((record.after ?? record.before)?.codeHash ?? null);
  return {
    hash: transaction.hash.toString('base64'),
    account: friendlyAddress(transaction.account, { bounceable, testOnly }),
    utime: transaction.now,
    mcSeqno: record.mcSeqno,
    kind: kindOf(record),
    opcode: inMsg === null || fromOutside || !inMsg.opcode ? null : `0x${inMsg.opcode.toString(16).padStart(8, '0')}`,
    failure: failureOf(record),
    value: fromOutside ? sentValue(transaction.outMsgs) : inMsg.value,
    direction: fromOutside ? 'out' : 'in',
    fees: transaction.totalFees,
    comment: inMsg === null ? null : shownComment(inMsg),
  };
}

function kindOf({ transaction: { description, inMsg, origStatus, endStatus } }: TransactionRecord): TransactionKind {
  if (description.type === 'tick_tock') return description.isTock ? 'tock' : 'tick';
  if (description.type === 'storage') return 'storage';
  if (description.type !== 'ord') return description.type.startsWith('split') ? 'split' : 'merge';
  if (inMsg?.bounced) return 'bounce';
  if (origStatus !== 'active' && endStatus === 'active') return 'deploy';
  if (inMsg?.kind !== 'internal') return 'external';
  return inMsg.opcode ? 'call' : 'transfer';
}

/** Null when all went well. An account without code runs nothing, which is no failure; sending the value back is. */
export function failureOf({ transaction: { description } }: TransactionRecord): string | null {
  const { compute, action, bounce } = description;
  if (compute !== null && !compute.skipped && !compute.success) return `exit ${compute.exitCode}`;
  if (action !== null && !action.success) return `action ${action.resultCode}`;
  if (compute?.skipped && compute.reason !== 'no_state') return compute.reason.replace('_', ' ');
  return bounce === null ? null : 'bounced';
}

function sentValue(messages: readonly Message[]): Decimal | null {
  const values = messages.flatMap(({ value }) => (value === null ? [] : [BigInt(value)]));
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0n).toString();
}

/** A body of 32 zero bits and text. Only the begin of a long one is shown; the API has all of it. */
function shownComment(message: Message): string | null {
  if (message.kind !== 'internal' || message.opcode !== 0) return null;
  const text = commentOf(CellView.parse(message.bodyBoc()))?.trim();
  if (text === undefined || text === '') return null;
  if (text.length <= LONGEST_COMMENT) return text;
  // Cut between code points, never inside one.
  return `${[...text.slice(0, LONGEST_COMMENT)].slice(0, -1).join('')}…`;
}
