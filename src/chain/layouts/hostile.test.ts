/** Bodies that nobody would send, and what they may cost. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { random, rounds } from '../../../test/chance.ts';
import { requireShelf, shelf } from '../../../test/shelf.ts';
import { type Boc, openBoc } from '../boc.ts';
import { Builder, type Cell, toBoc } from '../builder.ts';
import { DecodeError } from '../errors.ts';
import { CellView } from './cell-view.ts';
import type { Chance } from './codec.ts';
import { commentOf } from './common.ts';
import { decodeBody } from './decode.ts';
import { MAX_BODY_DEPTH } from './layout.ts';
import { layoutsOf, opcodes, readBody } from './registry.ts';

/** Mutated bodies: `LAYOUT_FUZZ_BODIES`, or by the kind of run. */
const BODIES = Number(process.env.LAYOUT_FUZZ_BODIES ?? rounds(20_000, 1_000_000));
/** No body may be printed to more. */
const LONGEST_JSON = 8 * 1024 * 1024;

const chance: Chance = {
  below: random,
  bytes: (length) => Buffer.from(Array.from({ length }, () => random(256))),
};

function madeUp(): Buffer[] {
  const bodies: Buffer[] = [];
  for (const layout of opcodes().flatMap(layoutsOf)) {
    try {
      const builder = new Builder();
      layout.write(builder, layout.sample(chance));
      bodies.push(toBoc(builder.cell(), { crc: false }));
    } catch (error) {
      // Some values have no room in a cell.
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return bodies;
}

const Recorded = z.looseObject({
  transactions: z.array(
    z.looseObject({
      in_msg: z.looseObject({ body: z.string() }).nullable(),
      out_msgs: z.array(z.looseObject({ body: z.string() })),
    }),
  ),
});

function recordedBodies(): Buffer[] {
  const folder = join(requireShelf(), 'data', 'traces');
  const bodies = new Set<string>();
  for (const file of readdirSync(folder).filter((name) => /\.json(\.gz)?$/.test(name))) {
    const bytes = readFileSync(join(folder, file));
    const { transactions } = Recorded.parse(JSON.parse(String(file.endsWith('.gz') ? gunzipSync(bytes) : bytes)));
    for (const { in_msg, out_msgs } of transactions) {
      for (const message of [in_msg, ...out_msgs]) if (message !== null) bodies.add(message.body);
    }
  }
  return [...bodies].map((body) => toBoc(CellView.parse(Buffer.from(body, 'base64')).build(), { crc: false }));
}

/** Some bits of the cells turned, references included: nothing holds them but what reads them. */
function mutated(body: Buffer): Buffer {
  const bytes = Buffer.from(body);
  const header = 11;
  for (let left = 1 + random(4); left > 0; left--) {
    const at = header + random(Math.max(1, bytes.length - header));
    if (at < bytes.length) bytes[at] = random(2) === 0 ? bytes[at] ^ (1 << random(8)) : random(256);
  }
  return bytes;
}

function opened(bytes: Buffer): Boc | null {
  try {
    return openBoc(bytes, { maxRoots: 1 });
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** Whether it is decoded: everything that is asked of bodies, none of which may throw. */
function decodes(boc: Boc): boolean {
  const view = CellView.of(boc, boc.roots[0]);
  readBody(view);
  commentOf(view);
  const result = decodeBody(view);
  if ('unknown' in result) {
    expect(result.unknown).toMatch(/^unknown/);
    return false;
  }
  expect(result.json.length).toBeLessThan(LONGEST_JSON);
  JSON.parse(result.json);
  return true;
}

describe('mutated bodies', () => {
  const fuzz = (bodies: readonly Buffer[], count: number): void => {
    let decoded = 0;
    let read = 0;
    for (let i = 0; i < count; i++) {
      const boc = opened(mutated(bodies[random(bodies.length)]));
      if (boc === null) continue;
      read++;
      if (decodes(boc)) decoded++;
    }
    // It is the layouts that are tried here, not only the bags.
    expect(read).toBeGreaterThan(count / 4);
    expect(decoded).toBeGreaterThan(count / 20);
  };

  it('of every layout never throw and have bounded JSON', () => fuzz(madeUp(), BODIES / 2), 3_600_000);

  it.skipIf(shelf === null)(
    'of recorded traces never throw and have bounded JSON',
    () => {
      fuzz(recordedBodies(), BODIES / 2);
    },
    3_600_000,
  );
});

describe('bodies that are small and mean much', () => {
  const unknownOf = (cell: Cell): string => {
    const result = decodeBody(CellView.from(cell));
    return 'unknown' in result ? result.unknown : result.json;
  };

  /** A dictionary of 2^levels entries in as many cells as levels. */
  function sharedDictionary(levels: number, leaf: Cell): Cell {
    let node = leaf;
    for (let i = 0; i < levels; i++) node = new Builder().u(0, 2).ref(node).ref(node).cell();
    return node;
  }

  it('are given up: a dictionary whose branches are all the same cell', () => {
    const leaf = new Builder().u(0, 2).ref(new Builder().cell()).cell();
    const order = sharedDictionary(8, leaf);
    const body = new Builder().u(0xa32c59bf, 32).u(0, 48).u(0, 16).ref(order).cell();
    expect(unknownOf(body)).toMatch(/^unknown/);
    const keys = sharedDictionary(32, new Builder().u(0, 2).u(1, 32).cell());
    const burn = new Builder().u(0x73403c43, 32).u(0, 48).u(0, 16).bit(1).ref(keys).bit(0).cell();
    expect(unknownOf(burn)).toMatch(/body too large to decode$/);
    expect(() => readBody(CellView.from(burn))).not.toThrow();
  });

  it('are given up: payloads whose payloads are all the same cell', () => {
    let body = new Builder().cell();
    for (let i = 0; i < 12; i++) {
      const transfer = new Builder().u(0x0f8a7ea5, 32).u(0, 48).u(0, 16).u(0, 4).u(0, 4).bit(1).ref(body);
      body = transfer.u(0, 4).bit(1).ref(body).cell();
    }
    expect(unknownOf(body)).toMatch(/body too large to decode$/);
  });

  it('are given up: chains of cells longer than a message can have', () => {
    let text = new Builder().bytes(Buffer.from('x')).cell();
    for (let i = 0; i < MAX_BODY_DEPTH; i++) text = new Builder().bytes(Buffer.from('x')).ref(text).cell();
    expect(unknownOf(new Builder().u(0, 32).ref(text).cell())).toMatch(/deeper than 512/);
  });

  it('are decoded no deeper than ten payloads', () => {
    let body = new Builder().u(0xd53276db, 32).u(0, 48).u(0, 16).cell();
    for (let i = 0; i < 14; i++) body = new Builder().u(0xffffffff, 32).append(body).cell();
    const result = decodeBody(CellView.from(body));
    const json = 'json' in result ? result.json : '';
    expect(json.match(/"bounce"/g)).toHaveLength(12);
    expect(json).toContain('te6c');
  });
});
