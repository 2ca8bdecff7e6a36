import fc from 'fast-check';
import { expect, test } from 'vitest';
import { packAccount, packMessage, unpackAccount, unpackMessage } from './packed.ts';

const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
const bytes = fc.uint8Array({ maxLength: 300 }).map((some) => Buffer.from(some));
const lt = fc.bigInt(0n, 2n ** 64n - 1n).map(String);

test('an account comes back as it was', () => {
  const storedData = fc.option(fc.record({ hash, lt }));
  fc.assert(
    fc.property(fc.record({ lt, hash, state: bytes, storedData }), (account) => {
      expect(unpackAccount(packAccount(account))).toEqual(account);
    }),
  );
});

test('an open message comes back as it was', () => {
  const message = fc.record({
    traceId: hash,
    externalHash: fc.option(hash),
    outTxHash: hash,
    outLt: lt,
    outMcSeqno: fc.nat(),
    globalVersion: fc.nat(255),
  });
  fc.assert(
    fc.property(message, (open) => {
      expect(unpackMessage(packMessage(open))).toEqual(open);
    }),
  );
});
