import { expect, test } from 'vitest';
import { crc16, crc32c } from './crc.ts';

test('the check values of the CRC catalogue', () => {
  const check = Buffer.from('123456789');
  expect(crc32c(check)).toBe(0xe3069283);
  expect(crc16(check)).toBe(0x31c3);
});

test('CRC-32C of RFC 3720, B.4, and of any part of a buffer', () => {
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa);
  expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8ab43);
  expect(crc32c(Buffer.from('xx123456789yy'), 2, 11)).toBe(0xe3069283);
});
