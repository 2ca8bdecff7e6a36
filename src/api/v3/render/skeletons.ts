import { addressOf } from '../../../chain/address.ts';
import { Builder, toBoc } from '../../../chain/builder.ts';
import { CellView } from '../../../chain/layouts/cell-view.ts';
import { excess } from '../../../chain/layouts/common.ts';
import { jettonInternalTransfer, jettonNotify, jettonTransfer } from '../../../chain/layouts/jettons.ts';
import type { Layout } from '../../../chain/layouts/layout.ts';
import type { Message, Transaction, TransactionDescription } from '../../../chain/model.ts';
import type { KnownState, TransactionRecord } from '../../../chain/records.ts';

/** Texts that no two transactions share are empty. */
const NOTHING = Buffer.alloc(0);
/** The basechain, and no account id. */
const NOWHERE = Buffer.from([0x80, 0, 0, 0]);
const MASTERCHAIN = Buffer.from([0x7f, 0xff, 0xff, 0xff]);
/** How a bag begins. */
const BAG = Buffer.from('b5ee9c724101', 'hex');
const EMPTY = toBoc(new Builder().cell());
const BOUNCED = toBoc(new Builder().u(0xffffffff, 32).cell());
const EMPTY_COMMENT = Buffer.from('b5ee9c7201010101000600000800000000', 'hex');

function bodyOf<T>(layout: Layout<T>, fields: T): Pick<Message, 'opcode' | 'bodyBoc'> {
  const builder = new Builder();
  layout.write(builder, fields);
  const boc = toBoc(builder.cell());
  return { opcode: layout.opcode, bodyBoc: () => boc };
}

const ACCOUNT = addressOf(0, Buffer.alloc(32));
const AMOUNT = { query_id: '0', amount: '1000000' };
const PAYLOAD = { inReference: false, cell: CellView.from(new Builder().cell()) };
const FORWARD = { forward_ton_amount: '1', forward_payload: PAYLOAD };

const JETTON_TRANSFER = bodyOf(jettonTransfer, {
  ...AMOUNT,
  destination: ACCOUNT,
  response_destination: ACCOUNT,
  custom_payload: null,
  ...FORWARD,
});

const JETTON_INTERNAL_TRANSFER = bodyOf(jettonInternalTransfer, {
  ...AMOUNT,
  from: ACCOUNT,
  response_address: ACCOUNT,
  ...FORWARD,
});

const JETTON_NOTIFY = bodyOf(jettonNotify, { ...AMOUNT, sender: ACCOUNT, forward_payload: PAYLOAD });

const COMPUTE = {
  skipped: false,
  success: true,
  msgStateUsed: false,
  accountActivated: false,
  gasFees: '0',
  gasUsed: '0',
  gasLimit: '1000000',
  gasCredit: null,
  mode: 0,
  exitCode: 0,
  exitArg: null,
  vmSteps: 0,
  vmInitStateHash: NOTHING,
  vmFinalStateHash: NOTHING,
} as const;

const ACTION = {
  success: true,
  valid: true,
  noFunds: false,
  statusChange: 'unchanged',
  totalFwdFees: null,
  totalActionFees: null,
  resultCode: 0,
  resultArg: null,
  totActions: 0,
  specActions: 0,
  skippedActions: 0,
  msgsCreated: 0,
  actionListHash: NOTHING,
  totMsgCells: '0',
  totMsgBits: '0',
} as const;

const ORDINARY: TransactionDescription = {
  type: 'ord',
  aborted: false,
  destroyed: false,
  creditFirst: false,
  isTock: null,
  installed: null,
  storage: { collected: '0', due: null, statusChange: 'unchanged' },
  credit: { dueFeesCollected: null, credit: { grams: '0', extra: {} } },
  compute: COMPUTE,
  action: ACTION,
  bounce: null,
  splitInfo: null,
};

const MESSAGE: Message = {
  cell: 0,
  kind: 'internal',
  hash: NOTHING,
  source: NOWHERE,
  destination: NOWHERE,
  externalBits: null,
  value: '0',
  extraCurrencies: {},
  ihrDisabled: true,
  bounce: true,
  bounced: false,
  fwdFee: '266669',
  ihrFeeOrFlags: '0',
  createdLt: '',
  createdAt: 1_700_000_000,
  importFee: null,
  bodyHash: NOTHING,
  ...bodyOf(excess, { query_id: '0' }),
  init: null,
  hashNorm: () => null,
};

const EXTERNAL: Message = {
  ...MESSAGE,
  kind: 'external_in',
  source: null,
  value: null,
  extraCurrencies: null,
  ihrDisabled: null,
  bounce: null,
  bounced: null,
  fwdFee: null,
  ihrFeeOrFlags: null,
  createdLt: null,
  createdAt: null,
  importFee: '0',
  hashNorm: () => Buffer.from([0]),
};

const COMMENT: Message = {
  ...MESSAGE,
  opcode: 0,
  bodyBoc: () => EMPTY_COMMENT,
};

const STATE: KnownState = {
  status: 'active',
  balance: '',
  extraCurrencies: {},
  frozenHash: null,
  codeHash: NOTHING,
  dataHash: NOTHING,
};

interface Parts {
  description?: Partial<TransactionDescription>;
  transaction?: Partial<Transaction>;
  inMsg?: Message | null;
  outMsgs?: Message[];
  before?: KnownState | null;
  globalVersion?: number;
}

function skeleton(parts: Parts): TransactionRecord {
  const { description, transaction, inMsg = MESSAGE, outMsgs = [], before = STATE, globalVersion = 12 } = parts;
  return {
    transaction: {
      cell: 0,
      account: NOWHERE,
      hash: NOTHING,
      lt: '',
      now: 1_700_000_000,
      prevHash: NOTHING,
      prevLt: '',
      origStatus: 'active',
      endStatus: 'active',
      totalFees: '0',
      totalFeesExtra: {},
      stateBefore: NOTHING,
      stateAfter: NOTHING,
      description: { ...ORDINARY, ...description },
      inMsg,
      outMsgs,
      ...transaction,
    },
    block: { workchain: 0, shard: '8000000000000000', seqno: 0 },
    mcSeqno: 0,
    traceId: NOTHING,
    externalHash: NOTHING,
    globalVersion,
    before,
    after: STATE,
  };
}

/** Transactions of the kinds that are seen most, without what differs from one to the next; the commonest last. */
export function skeletons(): TransactionRecord[] {
  return [
    skeleton({
      description: {
        type: 'tick_tock',
        creditFirst: null,
        isTock: false,
        credit: null,
        action: { ...ACTION, success: false, resultArg: 0 },
      },
      transaction: { account: MASTERCHAIN },
      inMsg: null,
    }),
    skeleton({
      description: {
        aborted: true,
        creditFirst: true,
        compute: { skipped: true, reason: 'no_state' },
        action: null,
        bounce: { type: 'ok', cells: '0', bits: '0', msgFees: '0', fwdFees: '0' },
      },
      transaction: { origStatus: 'nonexist', endStatus: 'uninit', prevLt: '0' },
      inMsg: { ...MESSAGE, bounce: false, bounced: true, opcode: 0xffffffff, bodyBoc: () => BOUNCED },
      before: null,
      globalVersion: 0,
    }),
    skeleton({
      description: { creditFirst: true },
      inMsg: { ...MESSAGE, init: { hash: NOTHING, boc: () => BAG } },
      before: { ...STATE, status: 'uninit', codeHash: null, dataHash: null },
    }),
    skeleton({ description: { creditFirst: true, action: ACTION }, inMsg: COMMENT }),
    skeleton({
      description: {
        creditFirst: true,
        credit: null,
        compute: { ...COMPUTE, gasLimit: '0', gasCredit: '10000' },
        action: { ...ACTION, totalFwdFees: '400000', totalActionFees: '133331', totActions: 1, msgsCreated: 1 },
      },
      inMsg: EXTERNAL,
      outMsgs: [{ ...MESSAGE, opcode: null, bodyBoc: () => EMPTY }],
    }),
    skeleton({ inMsg: { ...MESSAGE, ...JETTON_NOTIFY } }),
    skeleton({
      inMsg: { ...MESSAGE, ...JETTON_INTERNAL_TRANSFER },
      outMsgs: [{ ...MESSAGE, ...JETTON_NOTIFY }, MESSAGE],
    }),
    skeleton({
      description: {
        action: { ...ACTION, totalFwdFees: '400000', totalActionFees: '133331', totActions: 1, msgsCreated: 1 },
      },
      inMsg: { ...MESSAGE, ...JETTON_TRANSFER },
      outMsgs: [{ ...MESSAGE, ...JETTON_INTERNAL_TRANSFER }],
    }),
  ];
}
