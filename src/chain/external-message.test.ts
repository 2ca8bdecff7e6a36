import {
  Address,
  beginCell,
  Cell as CoreCell,
  external,
  internal,
  loadMessage,
  storeMessage,
  storeMessageRelaxed,
} from '@ton/core';
import { mnemonicNew, mnemonicToPrivateKey } from '@ton/crypto';
import { WalletContractV4 } from '@ton/ton';
import { expect, test } from 'vitest';
import { addressOf } from './address.ts';
import { Builder, type Cell, parseBoc, toBoc } from './builder.ts';
import { DecodeError } from './errors.ts';
import { readExternalMessage, writeExternalMessage } from './external-message.ts';

const to = new Address(0, Buffer.alloc(32, 7));
const body = beginCell().storeUint(0x12345678, 32).storeRef(beginCell().storeStringTail('x').endCell()).endCell();
const init = { code: beginCell().storeUint(1, 8).endCell(), data: beginCell().storeUint(2, 8).endCell() };
const raw = (cell: CoreCell) => parseBoc(cell.toBoc());
const addressBytes = addressOf(0, to.hash);

/** TEP 467 with the serialiser of @ton/core. */
function normal(): Buffer {
  const info = { type: 'external-in', dest: to, importFee: 0n } as const;
  return beginCell()
    .store(storeMessage({ info, body }, { forceRef: true }))
    .endCell()
    .hash();
}

test.each([
  ['body inline', {}],
  ['body in a cell of its own', { forceRef: true }],
])('reads what @ton/core writes: %s', (_, options) => {
  for (const message of [external({ to, body }), external({ to, body, init })]) {
    const cell = beginCell().store(storeMessage(message, options)).endCell();
    const read = readExternalMessage(cell.toBoc());
    expect(read.hash).toEqual(cell.hash());
    expect(read.hashNorm).toEqual(normal());
    expect(read.destination.subarray(4)).toEqual(to.hash);
  }
});

test('a message of a wallet has one normal form, deployed by it or not', async () => {
  const { publicKey, secretKey } = await mnemonicToPrivateKey(await mnemonicNew());
  const wallet = WalletContractV4.create({ workchain: 0, publicKey });
  const transfer = wallet.createTransfer({ seqno: 0, secretKey, messages: [internal({ to, value: 1n })] });
  const messages = [
    external({ to: wallet.address, body: transfer, init: wallet.init }),
    external({ to: wallet.address, body: transfer }),
  ];
  const norms = messages.map(
    (message) => readExternalMessage(beginCell().store(storeMessage(message)).endCell().toBoc()).hashNorm,
  );
  expect(norms[0]).toEqual(norms[1]);
});

test.each([
  ['in the message', 700, 2],
  ['in a cell of its own for its bits', 760, 0],
  ['in a cell of its own for its references', 8, 4],
])('writes what @ton/core reads: the body %s', (_, bits, refs) => {
  const builder = beginCell();
  for (let at = 0; at < bits; at++) builder.storeBit(at % 3 === 0);
  for (let at = 0; at < refs; at++) builder.storeRef(beginCell().storeUint(at, 8).endCell());
  const body = builder.endCell();
  const norms: Buffer[] = [];
  for (const given of [null, { code: raw(init.code), data: raw(init.data) }]) {
    const written = toBoc(writeExternalMessage({ address: addressBytes, body: raw(body), init: given }));
    const read = loadMessage(CoreCell.fromBoc(written)[0].beginParse());
    expect(read.info.dest?.toString()).toBe(to.toString());
    expect(read.body.hash()).toEqual(body.hash());
    expect(read.init?.code?.hash()).toEqual(given === null ? undefined : init.code.hash());
    expect(read.init?.data?.hash()).toEqual(given === null ? undefined : init.data.hash());
    norms.push(readExternalMessage(written).hashNorm);
  }
  expect(norms[0]).toEqual(norms[1]);
});

test('an exotic body stays a cell of its own', () => {
  const library = new Builder().u(2, 8).bytes(Buffer.alloc(32, 7)).cell(true);
  const written = writeExternalMessage({ address: addressBytes, body: library, init: null });
  expect(written.refs.map((cell) => cell.type)).toEqual([2]);
  expect(() => readExternalMessage(toBoc(written))).toThrow('body: exotic cell of type 2');
});

test('refuses a StateInit that nodes cannot read, and says that it is that', () => {
  const cell = new Builder().u(7, 8).cell();
  const library = new Builder().u(2, 8).bytes(Buffer.alloc(32, 7)).cell(true);
  const stateInit = (libraries: Cell | null): Builder =>
    new Builder().u(0, 2).maybeRef(cell).maybeRef(library).maybeRef(libraries);
  /** hml_same of 256 zeros. */
  const libraries = (leaf: Builder): Cell => new Builder().u(0b110, 3).u(256, 9).append(leaf.cell()).cell();
  const message = (init: Cell): Buffer =>
    toBoc(
      new Builder()
        .u(2, 2)
        .u(0, 2)
        .u(4, 3)
        .i(0, 8)
        .bytes(addressBytes.subarray(4))
        .grams(0n)
        .u(3, 2)
        .ref(init)
        .bit(0)
        .cell(),
    );
  /** 2^256 of them, in 257 cells. */
  const folded = Array.from({ length: 256 }).reduce<Cell>(
    (below) => new Builder().u(0, 2).ref(below).ref(below).cell(),
    new Builder().u(0, 2).bit(1).ref(cell).cell(),
  );
  const whole = [stateInit(null), stateInit(libraries(new Builder().bit(1).ref(cell)))];
  for (const init of whole) expect(readExternalMessage(message(init.cell())).destination).toEqual(addressBytes);
  for (const [init, reason] of [
    [new Builder().u(3, 3).cell(), /^init: /],
    [library, 'init: exotic cell of type 2'],
    [stateInit(null).u(1, 1).cell(), 'init: 1 bits, 0 references behind a StateInit'],
    [stateInit(cell).cell(), /^init: /],
    [stateInit(folded).cell(), 'init: more than 1024 cells of libraries'],
    [stateInit(library).cell(), 'init: exotic cell of type 2'],
    [stateInit(libraries(new Builder().bit(1))).cell(), /^init: /],
    [stateInit(libraries(new Builder().u(3, 2).ref(cell))).cell(), 'init: 1 bits, 0 references behind a library'],
  ] as const) {
    expect(() => readExternalMessage(message(init))).toThrow(reason);
  }
});

test('refuses what is nested deeper than nodes take', () => {
  const nested = (levels: number): Cell =>
    Array.from({ length: levels }).reduce<Cell>((cell) => new Builder().ref(cell).cell(), new Builder().cell());
  const message = (levels: number) =>
    toBoc(writeExternalMessage({ address: addressBytes, body: nested(levels), init: null }));
  expect(readExternalMessage(message(512)).destination).toEqual(addressBytes);
  expect(() => readExternalMessage(message(513))).toThrow('deeper than 512');
});

test('refuses Merkle cells that name other hashes', () => {
  const leaf = new Builder().u(1, 8).cell();
  const proof = (hash: Buffer) => new Builder().u(3, 8).bytes(hash).u(0, 16).ref(leaf).cell(true);
  const message = (hash: Buffer) =>
    toBoc(writeExternalMessage({ address: addressBytes, body: new Builder().ref(proof(hash)).cell(), init: null }));
  expect(readExternalMessage(message(leaf.hash())).destination).toEqual(addressBytes);
  expect(() => readExternalMessage(message(Buffer.alloc(32)))).toThrow('Merkle cell names another hash');
});

test('refuses anything else', () => {
  const inner = internal({ to, value: 1n });
  const cell = beginCell().store(storeMessageRelaxed(inner)).endCell();
  const long = Buffer.alloc(70_000);
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('nonsense'),
    long,
    cell.toBoc(),
    body.toBoc(),
    beginCell().endCell().toBoc(),
  ]) {
    expect(() => readExternalMessage(bytes)).toThrow(DecodeError);
  }
});
