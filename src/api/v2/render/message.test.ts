import { Address, type Builder, beginCell, type Cell, storeMessage } from '@ton/core';
import { describe, expect, test } from 'vitest';
import { shelf } from '../../../../test/shelf.ts';
import { specSchemas } from '../../../../test/spec-schemas.ts';
import { openBoc } from '../../../chain/boc.ts';
import { decodeMessage } from '../../../chain/message.ts';
import type { Message } from '../../../chain/model.ts';
import { extMessage, rawMessage } from './message.ts';

const from = new Address(0, Buffer.alloc(32, 1));
const to = new Address(-1, Buffer.alloc(32, 2));

function decoded(cell: Cell): Message {
  const boc = openBoc(cell.toBoc());
  return decodeMessage(boc, boc.roots[0]);
}

function internal(body: Cell, more: { code?: Cell } = {}): Message {
  const info = {
    type: 'internal',
    ihrDisabled: true,
    bounce: true,
    bounced: false,
    src: from,
    dest: to,
    value: { coins: 5n },
    ihrFee: 3n,
    forwardFee: 7n,
    createdLt: 9n,
    createdAt: 0,
  } as const;
  const init = more.code === undefined ? {} : { init: { code: more.code } };
  return decoded(
    beginCell()
      .store(storeMessage({ info, body, ...init }))
      .endCell(),
  );
}

const text = (write: (builder: Builder) => Builder): Cell => write(beginCell().storeUint(0, 32)).endCell();
const base64 = (bytes: string): string => Buffer.from(bytes).toString('base64');

describe('bodies', () => {
  test.each<[string, Cell, string, object]>([
    ['a comment', text((b) => b.storeStringTail('Grüße')), 'Grüße', { text: base64('Grüße') }],
    ['an empty comment', text((b) => b), '', { text: '' }],
    [
      'a long comment',
      text((b) => b.storeStringTail('x'.repeat(500))),
      'x'.repeat(500),
      { text: base64('x'.repeat(500)) },
    ],
    [
      'a comment whose bytes go over the end of cells',
      text((b) => b.storeUint(0x41, 8).storeUint(4, 4).storeRef(beginCell().storeUint(0x243, 12))),
      'ABC',
      { text: base64('ABC') },
    ],
    ['a comment that is not UTF-8', text((b) => b.storeUint(0xff, 8)), '', { text: '/w==' }],
  ])('%s is text', (_, body, message, data) => {
    const shown = extMessage(internal(body));
    expect(shown).toMatchObject({ message, msg_data: { '@type': 'msg.dataText', ...data } });
  });

  test('an encrypted comment is its bytes', () => {
    const body = beginCell().storeUint(0x2167da4b, 32).storeUint(0xfefd, 16).endCell();
    const shown = extMessage(internal(body, { code: body }));
    expect(shown.msg_data).toEqual({ '@type': 'msg.dataEncryptedText', text: '/v0=' });
    expect(shown).not.toHaveProperty('message');
  });

  test.each<[string, Cell, string]>([
    ['nothing', beginCell().endCell(), ''],
    ['a few bits', beginCell().storeUint(0b101, 3).endCell(), 'oA==\n'],
    ['another opcode', beginCell().storeUint(0xdeadbeef, 32).endCell(), '3q2+7w==\n'],
    ['a comment of broken bytes', text((b) => b.storeUint(1, 3)), 'AAAAACA=\n'],
    ['references alone', beginCell().storeRef(beginCell().storeUint(1, 8)).endCell(), ''],
  ])('%s is raw', (_, body, message) => {
    const code = beginCell().storeUint(1, 1).endCell();
    const shown = extMessage(internal(body, { code }));
    expect(shown.message).toBe(message);
    expect(shown.msg_data).toMatchObject({ '@type': 'msg.dataRaw', body: body.toBoc().toString('base64') });
    expect(shown.msg_data).toHaveProperty('init_state', expect.stringMatching(/^te6c/));
    expect(extMessage(internal(body)).msg_data).toHaveProperty('init_state', '');
  });
});

describe.skipIf(shelf === null)('both forms hold to the contract', () => {
  const body = beginCell().storeUint(1, 33).endCell();
  const external = beginCell()
    .store(storeMessage({ info: { type: 'external-in', dest: to, importFee: 8n }, body }))
    .endCell();
  const log = beginCell()
    .store(storeMessage({ info: { type: 'external-out', src: from, createdLt: 4n, createdAt: 2 }, body }))
    .endCell();

  test.each([
    ['internal', internal(body), { source: from.toString(), destination: to.toString(), value: '5', created_lt: '9' }],
    ['external-in', decoded(external), { source: '', destination: to.toString(), value: '0', created_lt: '0' }],
    ['external-out', decoded(log), { source: from.toString(), destination: '', value: '0', created_lt: '4' }],
  ])('%s', (_, message, shown) => {
    const hold = specSchemas('v2');
    hold('Message', extMessage(message));
    hold('MessageStd', rawMessage(message));
    expect(extMessage(message)).toMatchObject({ ...shown, ihr_fee: '0' });
    expect(rawMessage(message)).toMatchObject({
      source: { '@type': 'accountAddress', account_address: shown.source },
      destination: { '@type': 'accountAddress', account_address: shown.destination },
    });
  });
});
