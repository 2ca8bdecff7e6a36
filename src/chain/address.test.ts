import { Address as CoreAddress } from '@ton/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressOf, friendlyAddress, parseAddress, parseHash, parseShard, rawAddress, shardText } from './address.ts';

const RAW = '0:A4A4F37202C3F07616A25E1C8CC71DEF6242CAA4FF35A3B7A3CBE93D92FE24C2';
const HEX = 'e4a4f37202c3f07616a25e1c8cc71def6242caa4ff35a3b7a3cbe93d92fe24c2';
const BASE64 = '5KTzcgLD8HYWol4cjMcd72JCyqT/NaO3o8vpPZL+JMI=';

describe('addresses', () => {
  // Pairs printed by the reference service.
  it.each([
    [
      '0:09331D93672E0054952D514A98C3121971894BAC88281CD698423B7DD82063A5',
      'UQAJMx2TZy4AVJUtUUqYwxIZcYlLrIgoHNaYQjt92CBjpZlr',
      false,
    ],
    [
      '-1:04F64C6AFBFF3DD10D8BA6707790AC9670D540F37A9448B0337BAA6A5A92ACAC',
      'Ef8E9kxq-_890Q2LpnB3kKyWcNVA83qUSLAze6pqWpKsrB5K',
      true,
    ],
  ])('reads and prints %s', (raw, friendly, bounceable) => {
    const address = parseAddress(raw)!;
    expect(friendlyAddress(address, { bounceable, testOnly: false })).toBe(friendly);
    expect(rawAddress(parseAddress(friendly)!)).toBe(raw);
    expect(rawAddress(parseAddress(raw.toLowerCase())!)).toBe(raw);
  });

  it('prints as much of an account id as there is', () => {
    expect([rawAddress(Buffer.from([0x80, 0, 0, 0])), rawAddress(Buffer.from([0x7f, 0xff, 0xff, 0xff, 0xab]))]).toEqual(
      ['0:', '-1:AB'],
    );
  });

  it('reads no raw form with anything but hex digits in it', () => {
    for (const other of ['g', ':', '\0', '\u0141', '\u{1f600}']) {
      for (const at of [2, 33, 65]) {
        const text = `${RAW.slice(0, at)}${other}${RAW.slice(at + other.length)}`;
        expect([text, parseAddress(text)]).toEqual([text, null]);
      }
    }
  });

  it('agrees with @ton/core on every user-friendly form', () => {
    const forms = fc.record({ bounceable: fc.boolean(), testOnly: fc.boolean() });
    const ids = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(fc.integer({ min: -128, max: 127 }), ids, forms, fc.boolean(), (workchain, id, form, urlSafe) => {
        const theirs = new CoreAddress(workchain, Buffer.from(id));
        const text = theirs.toString({ ...form, urlSafe });
        const ours = parseAddress(text)!;
        expect(rawAddress(ours).toLowerCase()).toBe(theirs.toRawString());
        expect(friendlyAddress(ours, form)).toBe(theirs.toString(form));
      }),
    );
  });

  it.each([
    '',
    'xx',
    'EQ',
    '0:12',
    HEX,
    '1:2:3',
    `+0:${HEX}`,
    `2147483648:${HEX}`,
    'EQBwUAAnw_Gg-MAI7q2XFRhrtlndowl8FzGAPpW_OTfFHia5',
    ' '.repeat(48),
    `0:${'g'.repeat(64)}`,
  ])('refuses %j', (text) => {
    expect(parseAddress(text)).toBeNull();
  });

  it('sorts by workchain, then by account id', () => {
    const low = Buffer.alloc(32, 0);
    const high = Buffer.alloc(32, 255);
    const sorted = [addressOf(-1, high), addressOf(0, low), addressOf(0, high), addressOf(1, low)];
    expect([sorted[2], sorted[0], sorted[3], sorted[1]].sort(Buffer.compare)).toEqual(sorted);
  });
});

describe('hashes', () => {
  it.each([HEX, HEX.toUpperCase(), `0x${HEX}`, BASE64, BASE64.replaceAll('/', '_').replaceAll('+', '-')])(
    'reads %s',
    (text) => {
      expect(parseHash(text)?.toString('hex')).toBe(HEX);
    },
  );

  it.each(['', 'zz', HEX.slice(1), `${HEX}0`, 'g'.repeat(64), BASE64.slice(0, -1), `0x0x${HEX.slice(2)}`])(
    'refuses %j',
    (text) => {
      expect(parseHash(text)).toBeNull();
    },
  );

  it('refuses a mixture of both base64 alphabets', () => {
    expect(parseHash(`${'A'.repeat(41)}+_=`)).toBeNull();
    expect(parseHash(`${'A'.repeat(41)}+/=`)).not.toBeNull();
  });
});

describe('shards', () => {
  it.each([
    ['8000000000000000', '8000000000000000'],
    ['0x800000000000000', '0800000000000000'],
    ['A000000000000000', 'a000000000000000'],
    ['-9223372036854775808', '8000000000000000'],
    ['4611686018427387904', '4000000000000000'],
  ])('reads %s', (text, shard) => {
    expect(parseShard(text)).toBe(shard);
  });

  it.each(['', 'zz', '9223372036854775808', '-9223372036854775809', '0x', '1.5', '-0x80'])('refuses %j', (text) => {
    expect(parseShard(text)).toBeNull();
  });

  it('prints without padding', () => {
    expect(shardText('0800000000000000')).toBe('800000000000000');
    expect(shardText('a000000000000000')).toBe('A000000000000000');
  });

  it('keeps the address it was given', () => {
    expect(rawAddress(parseAddress(RAW)!)).toBe(RAW);
  });
});
