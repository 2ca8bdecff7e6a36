/**
 * Requests that nobody means well: of every operation of v2 and of the old calls of v3, right ones with something
 * wrong.
 */

import { v2Routes } from '../../src/api/v2/routes.ts';
import { v3Routes } from '../../src/api/v3/routes.ts';
import { type Cell, toBoc, Builder as Writer } from '../../src/chain/builder.ts';
import { random } from '../chance.ts';
import { DEFAULT_LIMITS } from '../default-limits.ts';

export interface Question {
  method: string;
  /** With its query. */
  path: string;
  body?: string;
}

/** What is there to be asked about. */
export interface Grounds {
  addresses: readonly string[];
  /** Hashes of transactions and blocks, and lts, of any spelling. */
  hashes: readonly string[];
  lts: readonly string[];
  /** Newest masterchain block. */
  head: number;
  /** External messages, bodies, codes and data as bags of cells. */
  bags: readonly Buffer[];
}

const OLD_CALLS = ['addressInformation', 'walletInformation', 'walletStates', 'message', 'runGetMethod', 'estimateFee'];

interface Operation {
  path: string;
  names: readonly string[];
}

const operations: readonly Operation[] = [
  ...v2Routes().map(({ path, parameters }) => ({ path: `/api/v2${path}`, names: Object.keys(parameters.shape) })),
  ...v3Routes(DEFAULT_LIMITS)
    .filter(({ path }) => OLD_CALLS.includes(path.slice(1)))
    .map(({ path, parameters }) => ({ path: `/api/v3${path}`, names: Object.keys(parameters.shape) })),
];

export const OPERATIONS: readonly string[] = operations.map(({ path }) => path);

const of = <T>(items: readonly T[]): T => items[random(items.length)];
const chance = (percent: number): boolean => random(100) < percent;
const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

const SHARDS = ['-9223372036854775808', '4611686018427387904', '-4611686018427387904', '0', '1', '-1'];
const METHODS = [
  'get',
  'seqno',
  'get_wallet_data',
  'get_jetton_data',
  'x'.repeat(300),
  '',
  85143,
  '0x14c97',
  '-1',
  '💎',
];

/** Values of no kind in particular. */
const JUNK: readonly unknown[] = [
  '',
  ' ',
  'x',
  '\u0000',
  '💎'.repeat(48),
  'null',
  'NaN',
  '1e999',
  '-0',
  '0x',
  '0',
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  1e300,
  '9223372036854775808',
  '-9223372036854775809',
  '9'.repeat(400),
  'A'.repeat(5_000),
  '=',
  '%00',
  '../../etc/passwd',
  "' OR 1=1 --",
  true,
  null,
  [],
  {},
  [[]],
  { bytes: '' },
  { toString: 1, valueOf: 1 },
  { __proto__: null, constructor: { prototype: 1 } },
  times(3_000, (at) => at),
];

/** Leaves of an exponential tree, an exotic cell that is none, a chain as deep as a bag may be. */
const BAGS: readonly Buffer[] = [
  toBoc(times(200, (at) => at).reduce<Cell>((cell) => new Writer().ref(cell).ref(cell).cell(), new Writer().cell())),
  toBoc(times(1_000, (at) => at).reduce<Cell>((cell) => new Writer().ref(cell).cell(), new Writer().cell())),
  Buffer.from('b5ee9c72010101010002000000', 'hex'),
  Buffer.from('b5ee9c724101010100230028480101', 'hex'),
  Buffer.alloc(0),
];

/** Some bytes of a bag changed, cut, doubled or put between others. */
function bag({ bags }: Grounds): string {
  if (chance(10)) return of(BAGS).toString('base64');
  let bytes = Buffer.from(of(bags));
  for (let left = chance(40) ? 0 : 1 + random(4); left > 0 && bytes.length > 0; left--) {
    const at = random(bytes.length);
    const kind = random(4);
    if (kind === 0) bytes[at] ^= 1 << random(8);
    else if (kind === 1) bytes[at] = random(256);
    else if (kind === 2) bytes = bytes.subarray(0, at);
    else bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(random(at + 1))]);
  }
  return bytes.toString(chance(95) ? 'base64' : 'base64url');
}

function number(): unknown {
  const texts = ['0', '1', '-1', '0x1f', '-0x5', `${2n ** 256n}`, `-${2n ** 256n}`, `${2n ** 256n - 1n}`, '0xg', '--1'];
  return chance(80) ? of(texts) : of(JUNK);
}

/** An entry of a stack in one of the spellings. */
function entry(grounds: Grounds, depth: number): unknown {
  const inner = (): unknown[] => times(random(4), () => entry(grounds, depth + 1));
  const leaf = depth > 4;
  switch (random(leaf ? 6 : 10)) {
    case 0:
      return [of(['num', 'int', 'number', 'integer']), number()];
    case 1:
      return [of(['tvm.Cell', 'cell', 'tvm.Slice', 'slice']), chance(50) ? bag(grounds) : { bytes: bag(grounds) }];
    case 2:
      return [
        of(['cell', 'slice']),
        { data: { b64: bag(grounds), len: random(1_200) }, refs: [], special: chance(30) },
      ];
    case 3:
      return { '@type': 'tvm.stackEntryNumber', number: { number: number() } };
    case 4:
      return {
        type: of(['num', 'cell', 'slice', 'tuple', 'null', 'list']),
        value: chance(50) ? bag(grounds) : number(),
      };
    case 5:
      return of([['null'], ['tvm.Builder', ''], [], [1, 2, 3], { '@type': 'tvm.stackEntrySlice' }, of(JUNK)]);
    case 6:
      return [of(['tuple', 'list', 'tvm.Tuple', 'tvm.List']), { elements: inner() }];
    case 7:
      return { '@type': 'tvm.stackEntryTuple', tuple: { elements: inner() } };
    case 8:
      return { '@type': 'tvm.stackEntryList', list: { elements: inner() } };
    default:
      return { type: 'tuple', value: inner() };
  }
}

/** JSON of a value inside ten thousand others; no object of its own: writing it would need as deep a stack. */
const DEEP = [
  (n: number) => `${'["tuple",{"elements":['.repeat(n)}["num","1"]${']}]'.repeat(n)}`,
  (n: number) => `${'{"@type":"tvm.stackEntryList","list":{"elements":['.repeat(n)}${']}}'.repeat(n)}`,
  (n: number) => `${'{"type":"tuple","value":['.repeat(n)}${']}'.repeat(n)}`,
  (n: number) => `["cell",${'{"data":{"b64":"","len":0},"refs":['.repeat(n)}${']}'.repeat(n)}]`,
  (n: number) => `${'['.repeat(n)}${']'.repeat(n)}`,
];
const PLACE = '"deep below"';

/** A value as the operations know one of this name, or some other. */
function value(name: string, grounds: Grounds): unknown {
  if (chance(12)) return of(JUNK);
  const seqno = (): unknown => (chance(70) ? 1 + random(grounds.head) : of([0, -1, grounds.head + 1, '2147483647']));
  switch (name) {
    case 'address':
    case 'source':
    case 'destination':
      return of(grounds.addresses);
    case 'seqno':
    case 'from_seqno':
      return seqno();
    case 'hash':
    case 'root_hash':
    case 'file_hash':
    case 'after_hash':
    case 'msg_hash':
    case 'body_hash':
      return of(grounds.hashes);
    case 'libraries':
      return times(random(20), () => of(grounds.hashes));
    case 'lt':
    case 'to_lt':
    case 'after_lt':
    case 'created_lt':
      return of(grounds.lts);
    case 'unixtime':
      return of([0, 1_700_000_005, '1700000010', 2_147_483_647]);
    case 'workchain':
      return of([-1, 0, '0', 1, -2]);
    case 'shard':
      return of(SHARDS);
    case 'limit':
    case 'count':
    case 'offset':
      return of([1, 10, 40, 256, 257, 1000, 1001, 10_000, 10_001, 2_147_483_647, 0, -1]);
    case 'param':
    case 'config_id':
      return of([0, 8, 34, 44, 71, 999, -1, -71]);
    case 'method':
      return of(METHODS);
    case 'stack':
      if (chance(4)) return times(9_000, () => ['num', '1']);
      return chance(10) ? [PLACE] : times(random(5), () => entry(grounds, 0));
    case 'boc':
    case 'body':
    case 'init_code':
    case 'init_data':
    case 'cell':
      if (chance(5)) return PLACE;
      return chance(80) ? bag(grounds) : entry(grounds, 0);
    case 'archival':
    case 'ignore_chksig':
    case 'use_v2':
      return of([true, false, 'yes', '0', 'maybe', 1]);
    case 'name':
      return of(['', 'a.ton', '\u0000', 'x.'.repeat(200), 'foundation.ton']);
    default:
      return of(JUNK);
  }
}

function members({ names }: Operation, grounds: Grounds): Record<string, unknown> {
  const chosen = names.filter(() => chance(75));
  if (chance(5)) chosen.push(of(['__proto__', 'constructor', 'api_key', 'x'.repeat(2_000)]));
  return Object.fromEntries(chosen.map((name) => [name, value(name, grounds)]));
}

function inQuery(parameters: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, one] of Object.entries(parameters)) {
    for (const part of Array.isArray(one) ? one.slice(0, 40) : [one]) {
      const text = typeof part === 'object' ? JSON.stringify(part) : String(part);
      query.append(name, text.slice(0, 4_000));
    }
  }
  return query.toString();
}

/** As JSON, with what cannot be written otherwise, and now and then broken on its way. */
function inBody(content: object): string {
  const text = JSON.stringify(content).replaceAll(`"${PLACE.replaceAll('"', '\\"')}"`, () => of(DEEP)(10_000));
  if (!chance(4)) return text;
  const at = random(text.length + 1);
  return of([text.slice(0, at), `${text.slice(0, at)}${of(['"', '{', ',', '\\', '\u0000', '💎'])}${text.slice(at)}`]);
}

/** The next one that chance brings. */
export function hostileQuestion(grounds: Grounds): Question {
  const operation = of(operations);
  const parameters = members(operation, grounds);
  const how = random(10);
  if (how < 4) return { method: 'GET', path: `${operation.path}?${inQuery(parameters)}` };
  if (how < 8 || operation.path.startsWith('/api/v3')) {
    return { method: 'POST', path: operation.path, body: inBody(parameters) };
  }
  const method = chance(95) ? operation.path.replace('/api/v2/', '') : of(JUNK);
  const call = { id: of(JUNK), jsonrpc: '2.0', method, params: chance(95) ? parameters : of(JUNK) };
  return { method: 'POST', path: '/api/v2/jsonRPC', body: inBody(chance(97) ? call : [call, call]) };
}
