import { readFileSync } from 'node:fs';
import {
  Address,
  beginCell,
  Cell,
  type TransactionDescription as CoreDescription,
  Dictionary,
  ExternalAddress,
  loadTransaction,
  storeMessage,
  storeSplitMergeInfo,
  storeTransactionComputePhase,
  storeTransactionCreditPhase,
  storeTransactionDescription,
  storeTransactionsStoragePhase,
} from '@ton/core';
import { describe, expect, test } from 'vitest';
import { blockFile } from '../../test/recorded-blocks.ts';
import { shelf } from '../../test/shelf.ts';
import { blockTransactions } from './accounts.ts';
import { decodeBlock } from './block.ts';
import { openBoc } from './boc.ts';
import { DecodeError } from './errors.ts';
import { decodeMessage } from './message.ts';
import type { Message, Transaction, TransactionDescription } from './model.ts';
import { serialize } from './serialize.ts';
import { decodeTransaction } from './transaction.ts';

/** A transaction around a description, without messages (`transaction$0111`). */
function transactionCell(description: Cell): Cell {
  return beginCell()
    .storeUint(0b0111, 4)
    .storeUint(0x77n, 256)
    .storeUint(0xffff_ffff_ffff_fffen, 64)
    .storeUint(1n, 256)
    .storeUint(0x20_0000_0000_0001n, 64)
    .storeUint(0xffffffff, 32)
    .storeUint(0, 15)
    .storeUint(0b1100, 4)
    .storeRef(beginCell().storeUint(0, 2).endCell())
    .storeCoins(2n ** 119n)
    .storeBit(false)
    .storeRef(beginCell().storeUint(0x72, 8).storeUint(2n, 256).storeUint(3n, 256).endCell())
    .storeRef(description)
    .endCell();
}

function decodeDescribed(description: CoreDescription | Cell): Transaction {
  const written =
    description instanceof Cell ? description : beginCell().store(storeTransactionDescription(description)).endCell();
  const cell = transactionCell(written);
  const boc = openBoc(cell.toBoc());
  return decodeTransaction(boc, boc.roots[0], -1);
}

const nothing: TransactionDescription = {
  type: 'ord',
  aborted: null,
  destroyed: null,
  creditFirst: null,
  isTock: null,
  installed: null,
  storage: null,
  credit: null,
  compute: null,
  action: null,
  bounce: null,
  splitInfo: null,
};
const coreStorage = { storageFeesCollected: 5n, storageFeesDue: 6n, statusChange: 'frozen' } as const;
const storage = { collected: '5', due: '6', statusChange: 'frozen' };
const coreDeleted = { storageFeesCollected: 0n, statusChange: 'deleted' } as const;
const deleted = { collected: '0', due: null, statusChange: 'deleted' };
const coreSkipped = { type: 'skipped', reason: 'no-gas' } as const;
const skipped = { skipped: true, reason: 'no_gas' };
const coreVm = {
  type: 'vm',
  success: true,
  messageStateUsed: true,
  accountActivated: false,
  gasFees: 2n ** 60n,
  gasUsed: 100n,
  gasLimit: 2n ** 40n,
  gasCredit: 10_000n,
  mode: 3,
  exitCode: -14,
  exitArg: -2147483648,
  vmSteps: 4294967295,
  vmInitStateHash: 11n,
  vmFinalStateHash: 12n,
} as const;
const coreAction = {
  success: false,
  valid: true,
  noFunds: true,
  statusChange: 'deleted',
  totalFwdFees: 1n,
  totalActionFees: 2n,
  resultCode: -37,
  resultArg: 9,
  totalActions: 255,
  specActions: 1,
  skippedActions: 2,
  messagesCreated: 3,
  actionListHash: 13n,
  totalMessageSize: { cells: 4n, bits: 2n ** 55n },
} as const;
const coreSplit = {
  currentShardPrefixLength: 3,
  accountSplitDepth: 4,
  thisAddress: 0xabn,
  siblingAddress: 0xcdn,
} as const;
const id = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex');
const splitInfo = { curShardPfxLen: 3, accSplitDepth: 4, thisAddr: id(0xabn), siblingAddr: id(0xcdn) };
const compute = {
  skipped: false,
  success: true,
  msgStateUsed: true,
  accountActivated: false,
  gasFees: (2n ** 60n).toString(),
  gasUsed: '100',
  gasLimit: (2n ** 40n).toString(),
  gasCredit: '10000',
  mode: 3,
  exitCode: -14,
  exitArg: -2147483648,
  vmSteps: 4294967295,
  vmInitStateHash: id(11n),
  vmFinalStateHash: id(12n),
};
const action = {
  success: false,
  valid: true,
  noFunds: true,
  statusChange: 'deleted',
  totalFwdFees: '1',
  totalActionFees: '2',
  resultCode: -37,
  resultArg: 9,
  totActions: 255,
  specActions: 1,
  skippedActions: 2,
  msgsCreated: 3,
  actionListHash: id(13n),
  totMsgCells: '4',
  totMsgBits: (2n ** 55n).toString(),
};

describe('descriptions as @ton/core writes them', () => {
  const preparedCell = transactionCell(
    beginCell()
      .store(storeTransactionDescription({ type: 'storage', storagePhase: coreDeleted }))
      .endCell(),
  );
  const prepared = loadTransaction(preparedCell.beginParse());
  const kinds: [CoreDescription | Cell, { type: string; [field: string]: unknown }][] = [
    [
      {
        type: 'generic',
        creditFirst: true,
        storagePhase: coreStorage,
        creditPhase: { dueFeesColelcted: 7n, credit: { coins: 8n } },
        computePhase: coreVm,
        actionPhase: coreAction,
        bouncePhase: { type: 'negative-funds' },
        aborted: true,
        destroyed: false,
      },
      {
        type: 'ord',
        creditFirst: true,
        storage,
        credit: { dueFeesCollected: '7', credit: { grams: '8', extra: {} } },
        compute,
        action,
        bounce: { type: 'negfunds' },
        aborted: true,
        destroyed: false,
      },
    ],
    [
      { type: 'storage', storagePhase: coreDeleted },
      { type: 'storage', storage: deleted },
    ],
    [
      {
        type: 'tick-tock',
        isTock: true,
        storagePhase: coreStorage,
        computePhase: coreVm,
        actionPhase: coreAction,
        aborted: false,
        destroyed: true,
      },
      { type: 'tick_tock', isTock: true, storage, compute, action, aborted: false, destroyed: true },
    ],
    [
      {
        type: 'split-prepare',
        splitInfo: coreSplit,
        storagePhase: coreStorage,
        computePhase: coreVm,
        // @ton/core writes this one in place of a reference.
        actionPhase: null,
        aborted: false,
        destroyed: true,
      },
      { type: 'split_prepare', splitInfo, storage, compute, aborted: false, destroyed: true },
    ],
    [
      { type: 'split-install', splitInfo: coreSplit, prepareTransaction: prepared, installed: true },
      { type: 'split_install', splitInfo, installed: true },
    ],
    // @ton/core does not write the merges: tags and order by block.tlb, the parts by @ton/core.
    [
      beginCell()
        .storeUint(0b0110, 4)
        .store(storeSplitMergeInfo(coreSplit))
        .store(storeTransactionsStoragePhase(coreStorage))
        .storeBit(true)
        .endCell(),
      { type: 'merge_prepare', splitInfo, storage, aborted: true },
    ],
    [
      beginCell()
        .storeUint(0b0111, 4)
        .store(storeSplitMergeInfo(coreSplit))
        .storeRef(preparedCell)
        .storeBit(false)
        .storeBit(true)
        .store(storeTransactionCreditPhase({ credit: { coins: 8n } }))
        .store(storeTransactionComputePhase(coreSkipped))
        .storeBit(false)
        .storeBit(true)
        .storeBit(false)
        .endCell(),
      {
        type: 'merge_install',
        splitInfo,
        credit: { dueFeesCollected: null, credit: { grams: '8', extra: {} } },
        compute: skipped,
        aborted: true,
        destroyed: false,
      },
    ],
  ];

  test.each(kinds.map(([core, expected]) => ({ core, expected })))('$expected.type', ({ core, expected }) => {
    expect(decodeDescribed(core).description).toEqual({ ...nothing, ...expected });
  });

  test('numbers at the end of their ranges', () => {
    expect(decodeDescribed({ type: 'storage', storagePhase: coreDeleted })).toMatchObject({
      account: Buffer.concat([Buffer.from('7fffffff', 'hex'), id(0x77n)]),
      lt: '18446744073709551614',
      prevLt: '9007199254740993',
      now: 4294967295,
      totalFees: (2n ** 119n).toString(),
      origStatus: 'nonexist',
      endStatus: 'uninit',
    });
  });

  test.each([
    ['00', 'no_state'],
    ['01', 'bad_state'],
    ['10', 'no_gas'],
    ['110', 'suspended'],
  ])('compute skipped, reason %s', (bits, reason) => {
    const description = beginCell().storeUint(0, 4).storeUint(0, 3).storeUint(0, 1);
    for (const bit of bits) description.storeBit(bit === '1');
    const cell = transactionCell(description.storeUint(0, 4).endCell());
    const boc = openBoc(cell.toBoc());
    expect(decodeTransaction(boc, 0, 0).description.compute).toEqual({ skipped: true, reason });
  });

  test('an unknown kind is refused with its place', () => {
    const boc = openBoc(transactionCell(beginCell().storeUint(0b1000, 4).endCell()).toBoc());
    expect(() => decodeTransaction(boc, 0, 0)).toThrow(DecodeError);
    expect(() => decodeTransaction(boc, 0, 0)).toThrow(/^transaction\/description: unknown kind/);
  });
});

function decodeCell(cell: Cell): Message {
  const boc = openBoc(cell.toBoc());
  return decodeMessage(boc, boc.roots[0]);
}

const account = new Address(0, id(0xaan));
const code = beginCell().storeUint(1, 8).endCell();

describe('messages as @ton/core writes them', () => {
  const internal = {
    type: 'internal',
    ihrDisabled: true,
    bounce: false,
    bounced: true,
    src: new Address(-1, id(1n)),
    dest: account,
    value: { coins: 5n, other: Dictionary.empty(Dictionary.Keys.Uint(32), Dictionary.Values.BigVarUint(5)) },
    ihrFee: 3n,
    forwardFee: 4n,
    createdLt: 2n ** 63n,
    createdAt: 4000000000,
  } as const;

  test('internal, extra currencies, init and body inline or by reference', () => {
    internal.value.other.set(239, 2n ** 200n).set(4294967279, 7n);
    const body = beginCell().storeUint(0xdeadbeef, 32).storeRef(code).storeUint(1, 3).endCell();
    const init = { code, data: beginCell().storeUint(5, 5).endCell() };
    const initHash = beginCell().storeUint(0b00110, 5).storeRef(init.code).storeRef(init.data).endCell().hash();
    for (const forceRef of [true, false]) {
      const cell = beginCell()
        .store(storeMessage({ info: internal, init, body }, { forceRef }))
        .endCell();
      const message = decodeCell(cell);
      expect(message).toMatchObject({
        kind: 'internal',
        hash: cell.hash(),
        source: Buffer.concat([Buffer.from('7fffffff', 'hex'), id(1n)]),
        destination: Buffer.concat([Buffer.from('80000000', 'hex'), id(0xaan)]),
        value: '5',
        extraCurrencies: { 239: (2n ** 200n).toString(), 4294967279: '7' },
        ihrDisabled: true,
        bounce: false,
        bounced: true,
        ihrFeeOrFlags: '3',
        fwdFee: '4',
        createdLt: (2n ** 63n).toString(),
        createdAt: 4000000000,
        importFee: null,
        opcode: 0xdeadbeef,
        bodyHash: body.hash(),
      });
      expect(Cell.fromBoc(message.bodyBoc())[0].hash()).toEqual(body.hash());
      expect(message.init?.hash).toEqual(initHash);
      expect(Cell.fromBoc(message.init?.boc() ?? Buffer.alloc(0))[0].hash()).toEqual(initHash);
      expect(message.hashNorm()).toBeNull();
    }
  });

  test('two encodings of one external message have one normalised hash', () => {
    const body = beginCell().storeUint(0x12345, 31).endCell();
    const encodings = [
      storeMessage({ info: { type: 'external-in', dest: account, importFee: 0n }, body }, { forceRef: true }),
      storeMessage({ info: { type: 'external-in', dest: account, importFee: 9n }, body }),
      storeMessage({
        info: { type: 'external-in', src: new ExternalAddress(5n, 9), dest: account, importFee: 0n },
        init: { code },
        body,
      }),
    ].map((store) => beginCell().store(store).endCell());
    const messages = encodings.map(decodeCell);
    // By reference, without fee, source and init: the normal form itself.
    for (const message of messages) expect(message.hashNorm()).toEqual(encodings[0].hash());
    expect(messages.map((message) => message.externalBits)).toEqual([null, null, 9]);
    expect(messages.map((message) => message.importFee)).toEqual(['0', '9', '0']);
    expect(messages.map((message) => message.opcode)).toEqual([null, null, null]);
  });

  test('external out', () => {
    const info = { type: 'external-out', src: account, createdLt: 1n, createdAt: 2 } as const;
    for (const [dest, bits] of [
      [new ExternalAddress(1n, 256), 256],
      [null, null],
    ] as const) {
      const cell = beginCell().store(storeMessage({ info: { ...info, dest }, body: new Cell() }));
      expect(decodeCell(cell.endCell())).toMatchObject({
        kind: 'external_out',
        externalBits: bits,
        destination: null,
        createdLt: '1',
        createdAt: 2,
        value: null,
        bodyHash: new Cell().hash(),
      });
    }
  });
});

describe.skipIf(shelf === null)('transactions of a recorded block', () => {
  const plain = (transaction: Transaction): unknown =>
    JSON.parse(JSON.stringify(transaction, (key, value) => (key === 'cell' ? undefined : value)));

  test('one alone, and each of its messages alone, are read as in the block', () => {
    const { boc, ...block } = decodeBlock(openBoc(readFileSync(blockFile('0_8000000000000000_71398501'))));
    let messages = 0;
    for (const transaction of blockTransactions({ boc, ...block })) {
      const alone = openBoc(serialize(boc, transaction.cell));
      expect(plain(decodeTransaction(alone, alone.roots[0], 0))).toEqual(plain(transaction));
      for (const message of [transaction.inMsg, ...transaction.outMsgs]) {
        if (message === null) continue;
        const single = openBoc(serialize(boc, message.cell));
        const read = decodeMessage(single, single.roots[0]);
        expect(read.hash.equals(message.hash)).toBe(true);
        expect(Cell.fromBoc(read.bodyBoc())[0].hash().equals(message.bodyHash)).toBe(true);
        if (read.init !== null) expect(Cell.fromBoc(read.init.boc())[0].hash().equals(read.init.hash)).toBe(true);
        messages++;
      }
    }
    expect(messages).toBeGreaterThan(300);
  });
});
