import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DEFAULT_LIMITS } from '../../../test/default-limits.ts';
import { rawAddress } from '../../chain/address.ts';
import { ApiError } from '../errors.ts';
import { readParameters } from '../parameters.ts';
import { readQuery } from '../request.ts';
import * as p from './parameters.ts';

const declared = z.object({
  seqno: p.int32(''),
  lt: p.uint64(''),
  start_utime: p.utime(''),
  flag: p.flag(''),
  hash: p.hashes(''),
  one_hash: p.hash(''),
  account: p.addresses('', 3),
  source: p.addressOrNull(''),
  shard: p.shard(''),
  opcode: p.opcode(''),
  mc: p.lenientSeqno(),
  name: p.texts('', 2),
  limit: p.limit(DEFAULT_LIMITS),
  offset: p.offset(),
  sort: p.sort(),
  direction: p.direction(''),
});

const read = (query: string) => readParameters(declared, readQuery(`/x?${query}`), p.refuse);
const refusal = (query: string): string => {
  try {
    read(query);
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) return error.message;
    throw error;
  }
  throw new Error(`${query} was accepted`);
};
const unread = (name: string) => `failed to decode: schema: error converting value for "${name}"`;

const A = '0:09331D93672E0054952D514A98C3121971894BAC88281CD698423B7DD82063A5';
const B = 'Ef8E9kxq-_890Q2LpnB3kKyWcNVA83qUSLAze6pqWpKsrB5K';
const B_RAW = '-1:04F64C6AFBFF3DD10D8BA6707790AC9670D540F37A9448B0337BAA6A5A92ACAC';

describe('scalars', () => {
  it('gives no more rows without a limit than with the largest', () => {
    const few = z.object({ limit: p.limit({ ...DEFAULT_LIMITS, maxRows: 20 }) });
    expect(readParameters(few, readQuery('/x'), p.refuse)).toEqual({ limit: 20 });
    expect(read('').limit).toBe(100);
  });

  it('takes the last of several values and ignores unknown names', () => {
    expect(read('seqno=1&seqno=2&what=ever').seqno).toBe(2);
  });

  it.each([
    ['seqno=', 'seqno', 0],
    ['seqno=-7', 'seqno', -7],
    ['lt=18446744073709551615', 'lt', '18446744073709551615'],
    ['lt=007', 'lt', '7'],
    ['start_utime=1.9', 'start_utime', 1],
    ['start_utime=1e3', 'start_utime', 1000],
    ['flag=', 'flag', false],
    ['flag=on', 'flag', true],
    ['flag=T', 'flag', true],
    ['flag=False', 'flag', false],
    ['shard=800000000000000', 'shard', '0800000000000000'],
    ['opcode=12345678', 'opcode', 0x12345678],
    ['opcode=260734629', 'opcode', 260734629],
    ['opcode=-1', 'opcode', 0xffffffff],
    ['opcode=0XF8A7EA5', 'opcode', 0x0f8a7ea5],
    ['source=null', 'source', 'null'],
    ['mc=abc', 'mc', 0],
    ['mc=', 'mc', 0],
    ['', 'mc', 0],
    ['mc=-1', 'mc', -1],
    ['limit=0', 'limit', 1],
    ['limit=-5', 'limit', 1],
    ['', 'limit', 100],
    ['limit=1000', 'limit', 1000],
    ['offset=-3', 'offset', 0],
    ['sort=A', 'sort', 'asc'],
    ['sort=DESC', 'sort', 'desc'],
    ['', 'sort', 'desc'],
  ] as const)('%s: %s is %s', (query, name, value) => {
    expect(read(query)[name]).toEqual(value);
  });

  it.each([
    ['seqno=x', 'seqno'],
    ['seqno=4294967296', 'seqno'],
    ['seqno=1.5', 'seqno'],
    ['lt=-1', 'lt'],
    ['lt=18446744073709551616', 'lt'],
    ['lt=1.5', 'lt'],
    ['start_utime=', 'start_utime'],
    ['start_utime=abc', 'start_utime'],
    ['start_utime=-1', 'start_utime'],
    ['flag=yes', 'flag'],
    ['one_hash=', 'one_hash'],
    ['one_hash=zz', 'one_hash'],
    ['source=', 'source'],
    ['source=NULL', 'source'],
    ['shard=9223372036854775808', 'shard'],
    ['opcode=4294967295', 'opcode'],
    ['opcode=2601874613', 'opcode'],
    ['opcode=0x123456789', 'opcode'],
    ['opcode=0x', 'opcode'],
    ['opcode=', 'opcode'],
    ['limit=abc', 'limit'],
    ['limit=99999999999', 'limit'],
    ['offset=x', 'offset'],
  ])('%s is refused', (query, name) => {
    expect(refusal(query)).toBe(unread(name));
  });

  it('gives the text of broken rules', () => {
    expect(refusal('limit=1001')).toBe('limit is not allowed: 1001 > 1000');
    expect(refusal('sort=up')).toBe('wrong value for sort parameter');
    expect(refusal('sort=')).toBe('wrong value for sort parameter');
    expect(refusal('direction=IN')).toBe('direction should be one of: in, out');
  });

  it('reports what cannot be read before broken rules', () => {
    expect(refusal('limit=1001&seqno=x')).toBe(unread('seqno'));
  });
});

describe('lists', () => {
  const accounts = (query: string) => read(query).account.map(rawAddress);

  it.each([
    `account=${A}&account=${B}`,
    `account[]=${A}&account[]=${B}`,
    `account%5B%5D=${A}&account=${B}`,
    `account=${A},${B}`,
    `account=,${A}&account=&account=${B},`,
  ])('%s', (query) => {
    expect(accounts(query)).toEqual([A, B_RAW]);
  });

  it('ignores indexed names', () => {
    expect(accounts(`account[0]=${A}`)).toEqual([]);
  });

  it('names the index of the value as sent', () => {
    const at = (index: number, name: string) =>
      `failed to decode: schema: error converting value for index ${index} of "${name}"`;
    expect(refusal('account=xx')).toBe(at(0, 'account'));
    expect(refusal(`account=${A}&account=${B},xx`)).toBe(at(1, 'account'));
    expect(refusal('hash=zz')).toBe(at(0, 'hash'));
  });

  it('refuses a plus sign that was not escaped, as it is a space', () => {
    const hash = '96cftapCUuyA8+Gvvj6+FqPbLDBCQpI0QNgVQkYFfUI=';
    expect(refusal(`hash=${hash}`)).toContain('index 0 of "hash"');
    expect(read(`hash=${encodeURIComponent(hash)}`).hash[0].toString('base64')).toBe(hash);
  });

  it('refuses more addresses than allowed', () => {
    expect(refusal(`account=${A},${A},${A},${A}`)).toBe('maximum 3 addresses allowed');
    expect(refusal('name=a&name=b&name=c')).toBe('maximum 2 addresses allowed');
  });

  it('keeps plain texts whole', () => {
    expect(read('name=a,b&name=').name).toEqual(['a,b', '']);
  });
});
