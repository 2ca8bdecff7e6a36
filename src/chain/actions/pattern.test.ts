import { describe, expect, test } from 'vitest';
import { knowing, madeTrace, op, type Sent } from '../../../test/made-trace.ts';
import { type Block, connect, emptyBlock, merge } from './block.ts';
import { declare } from './kind.ts';
import { BOUNCED, EXCESSES, match, type Pattern } from './pattern.ts';
import { singleBlock } from './ton.ts';
import { growTrace, type TraceNode } from './trace.ts';

/** Blocks of a trace of calls; each is named by its opcode. */
function blocks(sends: readonly Sent[]): Map<number | null, Block> {
  const all = new Map<number | null, Block>();
  const grow = (node: TraceNode, above: Block): void => {
    const block = singleBlock(node);
    all.set(block.opcode, block);
    connect(above, block);
    for (const child of node.children) grow(child, block);
  };
  grow(growTrace(madeTrace({ to: 'wallet', sends })), emptyBlock());
  return all;
}

const call = (opcode: number, ...sends: Sent[]): Sent => ({ to: `account ${opcode}`, body: op(opcode), sends });

function taken(pattern: Pattern, sends: readonly Sent[], at = 1): (number | null)[] | null {
  const block = blocks(sends).get(at);
  if (block === undefined) throw new Error(`no call ${at}`);
  const found = match(pattern, block, knowing());
  return found === null ? null : [...found.all()].map(({ opcode }) => opcode);
}

describe('a child', () => {
  test('is every next block that fits, one at least', () => {
    expect(taken({ op: 1, child: { op: [2, 3] } }, [call(1, call(2), call(4), call(3))])).toEqual([1, 2, 3]);
    expect(taken({ op: 1, child: { op: 2 } }, [call(1, call(4))])).toBeNull();
  });

  test('may be missing when it is optional', () => {
    expect(taken({ op: 1, child: { op: 2, optional: true } }, [call(1, call(4))])).toEqual([1]);
  });

  test('is not looked for further down', () => {
    expect(taken({ op: 1, child: { op: 2 } }, [call(1, call(4, call(2)))])).toBeNull();
  });
});

describe('children', () => {
  test('take a block each, in their order', () => {
    const children = [{ op: [2, 3], as: 'first' }, { op: 2 }];
    expect(taken({ op: 1, children }, [call(1, call(3), call(2))])).toEqual([1, 3, 2]);
    expect(taken({ op: 1, children }, [call(1, call(2), call(3))])).toBeNull();
  });

  test('fail together', () => {
    expect(taken({ op: 1, children: [{ op: 2 }, { op: 3 }] }, [call(1, call(2))])).toBeNull();
    expect(taken({ op: 1, children: [{ op: 2 }, { op: 3, optional: true }] }, [call(1, call(2))])).toEqual([1, 2]);
  });
});

test('a parent is the block before, with its own neighbours', () => {
  const sends = [call(5, call(1), call(6))];
  expect(taken({ op: 1, parent: { op: 5, child: { op: 6 } } }, sends)).toEqual([1, 5, 6]);
  expect(taken({ op: 1, parent: { op: 7 } }, sends)).toBeNull();
  expect(taken({ op: 1, parent: { op: 7, optional: true } }, sends)).toEqual([1]);
});

describe('excesses and bounces', () => {
  const sends = [call(1, call(EXCESSES), call(2, call(EXCESSES, call(BOUNCED)), call(BOUNCED)))];

  test('come with what an inner pattern takes', () => {
    expect(taken({ op: 1, child: { op: 2 } }, sends)).toEqual([1, 2, EXCESSES, BOUNCED]);
  });

  test('stay when they are switched off', () => {
    expect(taken({ op: 1, child: { op: 2, returns: false } }, sends)).toEqual([1, 2]);
  });

  test('come apart when only the bounces are asked for', () => {
    expect(taken({ op: 1, child: { op: 2, returns: 'bounced' } }, sends)).toEqual([1, 2, BOUNCED]);
  });

  test('come with the outermost when it asks for them', () => {
    expect(taken({ op: 2, returns: true }, [call(2, call(BOUNCED), call(3))], 2)).toEqual([2, BOUNCED]);
  });
});

test('of alternatives the first that fits counts', () => {
  const any = [{ op: 1, child: { op: 9 } }, { op: 1, child: { op: 2 } }, { op: 1 }];
  expect(taken({ any }, [call(1, call(2))])).toEqual([1, 2]);
});

describe('a chain', () => {
  const chain = { of: { op: 1 }, until: { op: 2 } };

  test('goes on to its end', () => {
    const sends = [call(9, call(1, call(3), call(EXCESSES), call(2)))];
    expect(taken({ op: 9, child: { chain } }, sends, 9)).toEqual([9, 1, EXCESSES, 2]);
  });

  test('goes on below a link, not beside it', () => {
    const forked = { of: { op: [1, 3] }, until: { op: [2, 4] } };
    const sends = [call(9, call(1, call(3, call(4)), call(2)))];
    expect(taken({ op: 9, child: { chain: forked } }, sends, 9)).toEqual([9, 1, 3, 4]);
  });

  test('counts when it finds no end', () => {
    expect(taken({ op: 9, child: { chain } }, [call(9, call(1, call(3)))], 9)).toEqual([9, 1]);
  });

  test('needs one link', () => {
    expect(taken({ op: 9, child: { chain } }, [call(9, call(3))], 9)).toBeNull();
  });
});

describe('what is looked at', () => {
  /** Calls one below the other. */
  const line = (...opcodes: number[]): Sent =>
    call(opcodes[0], ...(opcodes.length > 1 ? [line(...opcodes.slice(1))] : []));

  /** How often a pattern that fits 3 is tried on blocks. */
  function tries(pattern: (counted: Pattern) => Pattern, sends: readonly Sent[]): number {
    let count = 0;
    const counted: Pattern = {
      where({ opcode }) {
        count++;
        return opcode !== null && opcode >= 3;
      },
    };
    taken(pattern(counted), sends);
    return count;
  }

  test('is not what is below, where the parent does not fit', () => {
    const sends = [line(1, 3, 4, 5)];
    expect(tries((of) => ({ op: 1, child: { chain: { of } }, parent: { op: 7 } }), sends)).toBe(0);
    expect(tries((of) => ({ op: 1, children: [{ chain: { of } }], parent: { op: 7 } }), sends)).toBe(0);
  });

  test('is every link of a chain of chains twice, however long they are', () => {
    const links = Array.from({ length: 100 }, (_, i) => i + 3);
    const nested = (of: Pattern): Pattern => ({ op: 1, child: { chain: { of: { ...of, chain: { of } } } } });
    expect(tries(nested, [line(1, ...links)])).toBeLessThan(3 * links.length);
  });
});

test('a chain of chains goes on from the end of the last one', () => {
  const inner: Pattern = { op: [2, 4, 6], chain: { of: { op: [2, 4, 6] }, until: { op: [3, 5] } } };
  const pattern: Pattern = { op: 1, child: { chain: { of: inner } } };
  // Below the end, and beside it.
  expect(taken(pattern, [call(1, call(2, call(3, call(4, call(5)))))])).toEqual([1, 2, 3, 4, 5]);
  expect(taken(pattern, [call(1, call(2, call(3), call(4, call(5))))])).toEqual([1, 2, 3, 4, 5]);
  // Not beside a link that was gone on from.
  expect(taken(pattern, [call(1, call(2, call(4, call(5)), call(6)))])).toEqual([1, 2, 4, 5]);
});

describe('merging', () => {
  const kind = declare<null>({ block: 'test', groups: [], leaf: true, details: () => ({}), accounts: () => ({}) });
  const pick = (all: Map<number | null, Block>, ...opcodes: number[]): Set<Block> =>
    new Set(opcodes.map((opcode) => all.get(opcode) ?? emptyBlock()));
  const mergeOf = (all: Map<number | null, Block>, opcodes: number[], under?: Block): Block | null =>
    merge({ kind, data: null, failed: false, blocks: pick(all, ...opcodes), under });

  test('puts one block in the place of the earliest', () => {
    const all = blocks([call(1, call(2, call(4)), call(3))]);
    const merged = mergeOf(all, [2, 1]);
    expect(merged?.prev).toBe(all.get(null));
    expect(merged?.next.map(({ opcode }) => opcode)).toEqual([3, 4]);
    expect(all.get(4)?.prev).toBe(merged);
    expect(all.get(null)?.next).toEqual([merged]);
    expect(merged?.initiator).toBe(all.get(null)?.node.transaction);
  });

  test('needs blocks that hang together', () => {
    expect(mergeOf(blocks([call(1, call(2)), call(3)]), [1, 3])).toBeNull();
    expect(mergeOf(blocks([call(1, call(2, call(3)))]), [1, 3])).toBeNull();
  });

  test('does not take a block twice', () => {
    const all = blocks([call(1, call(2))]);
    mergeOf(all, [1, 2]);
    expect(mergeOf(all, [2])).toBeNull();
  });

  test('puts siblings below what sent them, without an initiator', () => {
    const all = blocks([call(1, call(2), call(3), call(4))]);
    const merged = mergeOf(all, [2, 4], all.get(1));
    expect(merged?.initiator).toBeNull();
    expect(all.get(1)?.next.map(({ opcode }) => opcode)).toEqual([null, 3]);
  });
});
