import { describe, expect, it } from 'vitest';
import { blockTransactions } from '../../src/chain/accounts.ts';
import { decodeBlock } from '../../src/chain/block.ts';
import { openBoc } from '../../src/chain/boc.ts';
import type { Message, Transaction } from '../../src/chain/model.ts';
import { readSequence, sequenceFile } from '../../test/recorded-sequence.ts';
import { shelf } from '../../test/shelf.ts';
import type { OpenMessage } from './packed.ts';
import { createOpenMessages, linkTrace, startsTrace } from './traces.ts';

const hash = (byte: number): Buffer => Buffer.alloc(32, byte);
const sent: OpenMessage = {
  traceId: hash(1),
  externalHash: hash(2),
  outTxHash: hash(3),
  outLt: '1000',
  outMcSeqno: 7,
  globalVersion: 4,
};

/** Sent at an lt that grows with it. */
const message = (byte: number) => ({ hash: hash(byte), createdLt: String(1000 + byte) });

describe('createOpenMessages', () => {
  it('gives a message out once', () => {
    const open = createOpenMessages(10, () => undefined);
    open.put(message(9), sent, 1);
    expect(open.has(hash(9))).toBe(true);
    expect(open.take(hash(9))).toEqual(sent);
    expect(open.take(hash(9))).toBeNull();
  });

  it('drops the oldest above its limit, and tells of it', () => {
    let dropped = 0;
    const open = createOpenMessages(2, () => dropped++);
    open.written(5);
    for (const byte of [1, 2, 3, 4]) open.put(message(byte), sent, 5);
    expect([1, 2, 3, 4].map((byte) => open.has(hash(byte)))).toEqual([false, false, true, true]);
    expect(dropped).toBe(2);
  });

  it('tells how far what it has dropped may go', () => {
    const open = createOpenMessages(2, () => undefined);
    open.written(5);
    for (const byte of [4, 3]) open.put(message(byte), sent, 5);
    expect(open.droppedLt).toBe('0');
    open.put(message(1), sent, 5);
    expect(open.droppedLt).toBe('1004');
  });

  it('keeps what no table has yet, whatever the limit', () => {
    const open = createOpenMessages(1, () => undefined);
    for (const byte of [1, 2, 3]) open.put(message(byte), sent, 1);
    expect(open.size).toBe(3);
    open.written(1);
    expect(open.size).toBe(3);
    open.put(message(4), sent, 2);
    expect(open.size).toBe(1);
    expect(open.take(hash(4))).toEqual(sent);
  });
});

describe.skipIf(shelf === null)('traces (spec v3 semantics 3.1)', () => {
  const transactions = (): Transaction[] =>
    readSequence(sequenceFile('local-ton4j-2024_a')).flatMap(({ boc }) => [
      ...blockTransactions(decodeBlock(openBoc(Buffer.from(boc, 'base64')))),
    ]);
  const find = (all: Transaction[], what: string, is: (inMsg: Message | null) => boolean): Transaction => {
    const found = all.find(({ inMsg }) => is(inMsg));
    if (found === undefined) throw new Error(`no transaction ${what} in the recording`);
    return found;
  };

  it('begin without an in-message, with an external one, and with one of the system', () => {
    const all = transactions();
    const tock = find(all, 'without in-message', (inMsg) => inMsg === null);
    const external = find(all, 'with an external message', (inMsg) => inMsg?.kind === 'external_in');
    const internal = find(all, 'with an internal message', (inMsg) => inMsg?.kind === 'internal');
    expect([tock, external].map(({ inMsg }) => startsTrace(inMsg))).toEqual([true, true]);
    const system = Buffer.concat([Buffer.from('7fffffff', 'hex'), Buffer.alloc(32)]);
    const from = (source: Buffer): Message => Object.create(internal.inMsg, { source: { value: source } });
    expect(startsTrace(from(system))).toBe(true);
    expect(startsTrace(from(Buffer.concat([Buffer.from('80000000', 'hex'), Buffer.alloc(32)])))).toBe(false);
    expect(linkTrace(tock, null)).toEqual({ traceId: tock.hash, externalHash: null, sent: null });
    expect(linkTrace(external, null)).toEqual({
      traceId: external.hash,
      externalHash: external.inMsg?.hash,
      sent: null,
    });
  });

  it('go on with a known sender, also when that is -1:00..00, and begin broken without one', () => {
    const internal = find(transactions(), 'with an internal message', (inMsg) => inMsg?.kind === 'internal');
    const { traceId, externalHash } = sent;
    expect(linkTrace(internal, sent)).toEqual({ traceId, externalHash, sent });
    expect(linkTrace(internal, null)).toEqual({
      traceId: internal.hash,
      externalHash: internal.inMsg?.hash,
      sent: null,
    });
  });
});
