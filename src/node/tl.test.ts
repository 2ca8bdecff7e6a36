import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { liteTypesText, typesPath } from '../../scripts/lite-types.ts';
import { collectGarbage } from '../../test/collect-garbage.ts';
import {
  decodeAnswer,
  decodeEnvelope,
  encodeAnswer,
  encodeEnvelope,
  encodeError,
  encodeRequest,
  LiteServerError,
} from './lite-api.ts';
import { envelopeFunctions, frameFunctions, frameTypes, liteFunctions, liteTypes } from './lite-schema.ts';
import type { LiteCalls, LiteValues } from './lite-types.ts';
import { constructorId, createTl } from './tl.ts';

const tl = createTl<LiteValues, LiteCalls>(liteTypes, liteFunctions);
const arbitraryOf: Record<string, fc.Arbitrary<unknown>> = {
  '#': fc.integer({ min: 0, max: 0xffffffff }),
  int: fc.integer({ min: -0x80000000, max: 0x7fffffff }),
  long: fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }),
  int256: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
  bytes: fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
  string: fc.string(),
  Bool: fc.boolean(),
  true: fc.constant(true),
};

const linesByName = new Map([...liteTypes, ...liteFunctions].map((line) => [line.split(/[ #]/)[0], line]));
const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Values for a line, made from its text by other means than the codec's. */
function fieldsOf(line: string): fc.Arbitrary<Record<string, unknown>> {
  const fields = line.split(' = ')[0].replaceAll('(vector ', '(vector_').split(' ').slice(1);
  const parts = fields.map((field) => [field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1)]);
  const required = parts.filter(([, type]) => !type.includes('?'));
  const optional = parts.filter(([, type]) => type.includes('?'));
  const base = Object.fromEntries(required.map(([name, type]) => [camel(name), arbitrary(type)]));
  const extra = Object.fromEntries(optional.map(([name, type]) => [camel(name), arbitrary(type.split('?')[1])]));
  return fc.tuple(fc.record(base), fc.record(extra)).map(([values, extras]) => {
    const out: Record<string, unknown> = { ...values };
    for (const [name, type] of optional) {
      const bit = Number(/\.(\d+)\?/.exec(type)?.[1]);
      if (Number(values.mode) & (1 << bit)) out[camel(name)] = extras[camel(name)];
    }
    return out;
  });
}

function arbitrary(type: string): fc.Arbitrary<unknown> {
  const vector = /^\(vector_(.*)\)$/.exec(type);
  if (vector !== null) return fc.array(arbitrary(vector[1]), { maxLength: 3 });
  if (arbitraryOf[type] !== undefined) return arbitraryOf[type];
  const line = linesByName.get(type);
  if (line !== undefined) return fieldsOf(line);
  const options = liteTypes.filter((candidate) => candidate.endsWith(` = ${type}`));
  return fc.oneof(...options.map((o) => fieldsOf(o).map((fields) => ({ kind: o.split(/[ #]/)[0], ...fields }))));
}

describe('schema', () => {
  test('known constructor ids (design of the lite protocol, published clients)', () => {
    const known: Record<string, number> = {
      'adnl.message.query': 0xb48bf97a,
      'adnl.message.answer': 0x0fac8416,
      'liteServer.query': 0x798c06df,
      'liteServer.waitMasterchainSeqno': 0xbaeab892,
      'liteServer.error': 0xbba9e148,
      'liteServer.getMasterchainInfo': 0x89b5e62e,
      'liteServer.lookupBlock': 0xfac8f71e,
      'pub.ed25519': 0x4813b4c6,
      'liteServer.getVersion': 590058507,
      'liteServer.getAccountState': 1804144165,
      'liteServer.runSmcMethod': 1556504018,
      'liteServer.signatureSet.ordinary': 0xf644a6e6,
      'liteServer.transactionId': 0xb12f65af,
      'tonNode.blockIdExt': 1733487480,
    };
    const lines = [...frameTypes, ...frameFunctions, ...envelopeFunctions, ...liteTypes, ...liteFunctions];
    const ids = Object.fromEntries(lines.map((line) => [line.split(/[ #]/)[0], constructorId(line)]));
    expect(ids).toMatchObject(known);
    expect(new Set(Object.values(ids)).size).toBe(lines.length);
  });
});

describe('codec', () => {
  test('every constructor and every call comes back as it went in', () => {
    for (const line of [...liteTypes, ...liteFunctions]) {
      const name = line.split(/[ #]/)[0];
      const isCall = (liteFunctions as readonly string[]).includes(line);
      fc.assert(
        fc.property(fieldsOf(line), (fields) => {
          // The fields are made from the line itself at run time, where the compiler cannot follow.
          const bytes = isCall
            ? tl.encodeCall(name as keyof LiteCalls, fields as never)
            : tl.encode(name as keyof LiteValues, fields as never);
          expect(bytes.length % 4).toBe(0);
          const back = isCall ? tl.decodeCall(bytes).call : tl.decode(bytes);
          expect(back).toEqual({ kind: name, ...fields });
        }),
        { numRuns: 12 },
      );
    }
  });

  test('lengths of byte strings at the borders of their forms', () => {
    for (const length of [0, 1, 2, 3, 4, 252, 253, 254, 255, 256, 65_536, 600_000]) {
      const body = Buffer.alloc(length, 0xa5);
      const bytes = encodeRequest({ method: 'sendMessage', body });
      expect(bytes.length).toBe(4 + Math.ceil((length + (length < 254 ? 1 : 4)) / 4) * 4);
      const { request } = decodeEnvelope(encodeEnvelope(bytes));
      expect(request.method === 'sendMessage' && request.body.equals(body)).toBe(true);
    }
  });

  test('wait prefixes of any call', () => {
    const body = encodeRequest({ method: 'getTime' });
    const wait = { seqno: 7, timeoutMs: 1000 };
    expect(decodeEnvelope(encodeEnvelope(body, wait))).toEqual({ request: { method: 'getTime' }, wait });
  });

  test('a Simplex signature set within a block proof', () => {
    const id = {
      workchain: -1,
      shard: -(1n << 63n),
      seqno: 5,
      rootHash: Buffer.alloc(32, 1),
      fileHash: Buffer.alloc(32, 2),
    };
    const signatures = {
      kind: 'liteServer.signatureSet.simplex' as const,
      ccSeqno: 1,
      validatorSetHash: -2,
      signatures: [{ nodeIdShort: Buffer.alloc(32, 3), signature: Buffer.alloc(64, 4) }],
      sessionId: Buffer.alloc(32, 5),
      slot: 6,
      candidate: Buffer.from('candidate'),
    };
    const step = {
      kind: 'liteServer.blockLinkForward' as const,
      toKeyBlock: false,
      from: id,
      to: id,
      destProof: Buffer.alloc(0),
      configProof: Buffer.alloc(0),
      signatures,
    };
    const answer = { complete: true, from: id, to: id, steps: [step] };
    expect(decodeAnswer('getBlockProof', encodeAnswer('getBlockProof', answer))).toEqual(answer);
  });

  test('values that do not fit are refused with their place', () => {
    const id = { workchain: 0, shard: 1n << 63n, seqno: 1, rootHash: Buffer.alloc(32), fileHash: Buffer.alloc(32) };
    expect(() => encodeRequest({ method: 'getBlock', id })).toThrow('liteServer.getBlock.id: tonNode.blockIdExt.shard');
    const short = { ...id, shard: 1n, rootHash: Buffer.alloc(31) };
    expect(() => encodeRequest({ method: 'getBlock', id: short })).toThrow('rootHash: object does not fit int256');
    const block = { workchain: 0, shard: 0n, seqno: 1 };
    expect(() => encodeRequest({ method: 'lookupBlock', mode: 2, id: block })).toThrow('lt: missing long');
    expect(() => encodeRequest({ method: 'lookupBlock', mode: 1, id: block, lt: 5n })).toThrow('bit 1 of mode');
  });
});

describe('hostile bytes', () => {
  test('never do more than throw a TlError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(liteFunctions.length - 1), (bytes, which) => {
        const call = Buffer.concat([Buffer.alloc(4), Buffer.from(bytes)]);
        call.writeUInt32LE(constructorId(liteFunctions[which]), 0);
        try {
          decodeEnvelope(encodeEnvelope(call));
        } catch (error) {
          expect(error).toHaveProperty('name', 'TlError');
        }
      }),
      { numRuns: 500 },
    );
  });

  test('a vector that claims more than there is', () => {
    const bytes = encodeAnswer('getLibraries', { result: [] });
    bytes.writeUInt32LE(0xffffffff, 4);
    expect(() => decodeAnswer('getLibraries', bytes)).toThrow('vector of 4294967295');
  });

  test('a vector of more than any node gives', () => {
    const id = { workchain: -1, shard: 0n, seqno: 1, rootHash: Buffer.alloc(32), fileHash: Buffer.alloc(32) };
    const none = { id, reqCount: 1, incomplete: false, ids: [], proof: Buffer.alloc(0) };
    const bytes = Buffer.concat([encodeAnswer('listBlockTransactions', none), Buffer.alloc(4 * 70_000)]);
    bytes.writeUInt32LE(70_000, bytes.length - 4 * 70_002);
    expect(() => decodeAnswer('listBlockTransactions', bytes)).toThrow('ids: vector of 70000, 65536 at most');
  });

  test('of a long reason no more is kept than the beginning', () => {
    const bytes = encodeError(new LiteServerError(602, 'x'.repeat(8_000_000)));
    const told: string[] = [];
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 4; i++) {
      try {
        decodeAnswer('getTime', bytes);
      } catch (error) {
        if (error instanceof LiteServerError) told.push(error.message);
      }
    }
    collectGarbage();
    expect(told.map(({ length }) => length)).toEqual([500, 500, 500, 500]);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(4_000_000);
  });

  test('a reason with control characters is told without them', () => {
    const bytes = encodeError(new LiteServerError(602, 'not\u001b[2J accepted\r\u009b1A:\n\texit code 33\0'));
    expect(() => decodeAnswer('getTime', bytes)).toThrow('not\ufffd[2J accepted\ufffd\ufffd1A:\n\texit code 33\ufffd');
  });

  test('truncated and overlong answers', () => {
    const bytes = encodeAnswer('getTime', { now: 5 });
    expect(() => decodeAnswer('getTime', bytes.subarray(0, 6))).toThrow('4 bytes wanted');
    expect(() => decodeAnswer('getTime', Buffer.concat([bytes, Buffer.alloc(4)]))).toThrow('4 bytes after the value');
    expect(() => decodeAnswer('getTime', Buffer.alloc(0))).toThrow('answer of 0 bytes');
  });
});

test('lite-types.ts is what the schema lines say (npm run build:lite-types)', () => {
  // The formatter breaks lines and ends them; nothing else.
  const bare = (text: string): string => text.replace(/[\s;|()]/g, '');
  expect(bare(readFileSync(typesPath, 'utf8'))).toBe(bare(liteTypesText()));
});
