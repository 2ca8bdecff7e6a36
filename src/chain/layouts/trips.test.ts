/** Every layout there and back: what is made up is written, read and printed, and read is what was written. */
import { describe, expect, it } from 'vitest';
import { random, rounds } from '../../../test/chance.ts';
import { Builder, type Cell } from '../builder.ts';
import { CellView } from './cell-view.ts';
import type { Chance, Codec } from './codec.ts';
import { richBounce } from './common.ts';
import { decodeBody } from './decode.ts';
import { dedustSwapEvent } from './dex/dedust.ts';
import { stonfiCrossSwapPayload } from './dex/stonfi.ts';
import { changeDnsRecordHead } from './dns.ts';
import { minterAdministration, provideWalletAddress, takeWalletAddress } from './jettons.ts';
import { layoutsOf, opcodes } from './registry.ts';
import { unnamedStaking } from './staking.ts';
import { signedBodies } from './wallets.ts';

const chance: Chance = {
  below: random,
  bytes: (length) => Buffer.from(Array.from({ length }, () => random(256))),
};

/** A value that fits into cells. Most do; a few have longer texts or more references than there is room for. */
function sampled<T>(codec: Codec<T>): { value: T; cell: Cell } {
  for (let tries = 0; tries < 200; tries++) {
    try {
      const value = codec.sample(chance);
      const builder = new Builder();
      codec.write(builder, value);
      return { value, cell: builder.cell() };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw new Error('nothing fits');
}

/** Cells stand for their hashes. */
function comparable(value: unknown): unknown {
  if (value instanceof CellView) return value.hash().toString('hex');
  if (value instanceof Buffer) return value.toString('hex');
  if (value instanceof Map) return [...value].sort().map(comparable);
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, comparable(inner)]));
}

function thereAndBack<T>(codec: Codec<T>): CellView {
  const { value, cell } = sampled(codec);
  const view = CellView.from(cell);
  const cursor = view.cursor();
  expect(comparable(codec.read(cursor))).toEqual(comparable(value));
  expect([cursor.bitsLeft, cursor.refsLeft]).toEqual([0, 0]);
  return view;
}

const ROUNDS = rounds(6, 500);

describe('what is written', () => {
  it('is read again, by every layout', () => {
    for (const layout of opcodes().flatMap(layoutsOf)) {
      for (let i = 0; i < ROUNDS; i++) {
        const view = thereAndBack(layout);
        expect(layout.in(view), layout.name).not.toBeNull();
      }
    }
  });

  it('is read again, by those that the decoder does not know', () => {
    const codecs = [
      ...[provideWalletAddress, takeWalletAddress, ...minterAdministration, ...unnamedStaking],
      ...[dedustSwapEvent, stonfiCrossSwapPayload, changeDnsRecordHead, richBounce],
    ];
    for (const codec of codecs) for (let i = 0; i < ROUNDS; i++) thereAndBack<unknown>(codec);
  });

  it('is printed with the name of a layout of its opcode, in valid JSON', () => {
    for (const opcode of opcodes()) {
      const layouts = layoutsOf(opcode);
      const names = layouts.map(({ name }) => name);
      for (const layout of layouts) {
        for (let i = 0; i < ROUNDS / 6; i++) {
          const result = decodeBody(CellView.from(sampled(layout).cell));
          const printed = 'json' in result ? JSON.parse(result.json) : result.unknown;
          expect(names, JSON.stringify(printed)).toContain(printed['@type']);
        }
      }
    }
  });

  it('has the size by which signed bodies are told', () => {
    for (const { codec, fits } of signedBodies) {
      for (let i = 0; i < ROUNDS; i++) {
        const view = thereAndBack(codec);
        expect(fits(view.bits, view.refs)).toBe(true);
      }
    }
  });
});
