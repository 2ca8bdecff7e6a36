/** How traces are drawn: each recorded one among them. */
import { describe, expect, it } from 'vitest';
import { shelf } from '../../test/shelf.ts';
import { traceFixtures } from '../../test/trace-fixtures.ts';
import type { Trace } from '../chain/actions/trace.ts';

// The pages' modules are plain JavaScript for browsers.
const { layOut } = await import(new URL('./page/trace-layout.js', import.meta.url).href);

interface Branch {
  tx_hash: string;
  children: Branch[];
}
interface Drawn {
  nodes: { hash: string; column: number; row: number; folded: number; parent: number | null }[];
  columns: number;
  rows: number;
}

const leaf = (hash: string): Branch => ({ tx_hash: hash, children: [] });
const apart = (hash: string): string => hash;

/** That no two boxes overlap, and that children stand to the right of their parent, in order. */
function expectReadable({ nodes, columns, rows }: Drawn): void {
  const columnsOf = new Map<number, number[]>();
  for (const { column, row, parent } of nodes) {
    expect(column).toBeLessThan(columns);
    expect(row).toBeGreaterThanOrEqual(0);
    expect(row).toBeLessThanOrEqual(rows - 1);
    if (parent !== null) expect(column).toBe(nodes[parent].column + 1);
    columnsOf.set(column, [...(columnsOf.get(column) ?? []), row]);
  }
  for (const held of columnsOf.values()) {
    held.forEach((row, index) => {
      if (index > 0) expect(row - held[index - 1]).toBeGreaterThanOrEqual(1);
    });
  }
}

describe('trace graph', () => {
  it('puts a parent in the middle of its children', () => {
    const { nodes, columns, rows } = layOut({ tx_hash: 'root', children: [leaf('a'), leaf('b'), leaf('c')] }, apart);
    expect([columns, rows]).toEqual([2, 3]);
    expect(nodes.map(({ hash, column, row, parent }: Drawn['nodes'][0]) => [hash, column, row, parent])).toEqual([
      ['root', 0, 1, null],
      ['a', 1, 0, 0],
      ['b', 1, 1, 0],
      ['c', 1, 2, 0],
    ]);
  });

  it('folds equal leaves of a large trace, and none of a small one', () => {
    const many = (count: number): Branch => ({
      tx_hash: 'root',
      children: Array.from({ length: count }, (_, at) => leaf(String(at))),
    });
    const alike = (hash: string) => (hash === '3' ? 'other' : 'same');
    const { nodes } = layOut(many(1_000), alike);
    expect(nodes.map(({ folded }: Drawn['nodes'][0]) => folded)).toEqual([1, 999, 1]);
    expect(layOut(many(150), alike).nodes).toHaveLength(151);
  });

  it('draws a chain of thousands of transactions', () => {
    let chain = leaf('last');
    for (let depth = 0; depth < 3_999; depth++) chain = { tx_hash: String(depth), children: [chain] };
    const drawn = layOut(chain, apart);
    expect([drawn.columns, drawn.rows]).toEqual([4_000, 1]);
  });
});

describe.skipIf(shelf === null)('recorded traces', () => {
  const fixtures = shelf === null ? [] : traceFixtures();

  it('are drawn with every transaction once, none over another', () => {
    for (const { trace } of fixtures) {
      const root = treeOf(trace);
      const drawn: Drawn = layOut(root, apart);
      expect(drawn.nodes.map(({ hash }) => hash).sort()).toEqual(trace.transactions.map(({ hash }) => hash).sort());
      expectReadable(drawn);
    }
  });
});

/** Transactions by who sent the message that each received. */
function treeOf({ transactions }: Trace): Branch {
  const branches = new Map(transactions.map(({ hash }) => [hash, leaf(hash)]));
  const senders = new Map(transactions.flatMap(({ hash, outMsgs }) => outMsgs.map((sent) => [sent.hash, hash])));
  const roots = transactions.filter(({ hash, inMsg }) => {
    const sender = branches.get(senders.get(inMsg?.hash ?? '') ?? '');
    const branch = branches.get(hash);
    if (branch !== undefined) sender?.children.push(branch);
    return sender === undefined;
  });
  expect(roots).toHaveLength(1);
  return branches.get(roots[0].hash) as Branch;
}
