import { compareDecimal } from '../decimal.ts';
import type { Decimal } from '../model.ts';
import type { Columns, Details } from './details.ts';
import type { TraceNode, TraceTransaction } from './trace.ts';

/** What a block is, and how it is told. `T` is what was read of it. */
export interface BlockKind<T = unknown> {
  /** Internal name; part of the action's id, and how patterns refer to it. */
  readonly block: string;
  /** The printed type. */
  readonly type: string;
  /** False: what was merged into it is told, too. */
  readonly leaf: boolean;
  /** What was read of a block of this kind, null for a block of another. */
  of(block: Block | null): T | null;
  details(block: Block): Details;
  accounts(block: Block): Columns;
}

/** What a matcher found, about to become a block. */
export interface Merge<T> {
  kind: BlockKind<T>;
  data: T;
  failed: boolean;
  blocks: ReadonlySet<Block>;
  /** Siblings are merged below this block of theirs, which stays outside. The result has no initiating transaction. */
  under?: Block | undefined;
}

/**
 * A message, or several that mean one thing together. Blocks stand in a tree by who sent what; merged blocks hang below
 * the block they became, out of the tree.
 */
export class Block {
  /** Null for the anchor above the root and for helpers: they never become actions. */
  readonly kind: BlockKind | null;
  readonly data: unknown;
  readonly failed: boolean;
  readonly nodes: readonly TraceNode[];
  /** What was merged into this one. */
  readonly parts: readonly Block[];
  /** First 32 bits of the body of a single message that is a call; else null. */
  readonly opcode: number | null;
  /** The transaction that sent the first message; null for an external message. */
  readonly initiator: TraceTransaction | null;
  /** Least lt of the nodes; see {@link TraceNode.lt}. */
  readonly minLt: Decimal;
  prev: Block | null = null;
  /** In the order of their lt. Kept as it was when the block is merged, so that a walk under way finds what left it. */
  next: Block[] = [];
  /** The block this one was merged into. */
  into: Block | null = null;

  constructor(fields: {
    kind: BlockKind | null;
    data: unknown;
    failed: boolean;
    nodes: readonly TraceNode[];
    parts?: readonly Block[];
    opcode?: number | null;
    initiator: TraceTransaction | null;
  }) {
    this.kind = fields.kind;
    this.data = fields.data;
    this.failed = fields.failed;
    this.nodes = fields.nodes;
    this.parts = fields.parts ?? [];
    this.opcode = fields.opcode ?? null;
    this.initiator = fields.initiator;
    this.minLt = leastLt(fields.nodes);
  }

  /** The block's only node. For kinds made of one message; the first of several. */
  get node(): TraceNode {
    return this.nodes[0];
  }
}

function leastLt(nodes: readonly TraceNode[]): Decimal {
  let least = nodes.length === 0 ? '0' : nodes[0].lt;
  for (const { lt } of nodes) if (compareDecimal(lt, least) < 0) least = lt;
  return least;
}

/** An empty block: the anchor above a trace's root, and what siblings are merged below. */
export function emptyBlock(): Block {
  return new Block({ kind: null, data: null, failed: false, nodes: [], initiator: null });
}

export function connect(prev: Block, next: Block): void {
  next.prev = prev;
  prev.next.push(next);
}

/** A block of one node is placed by its transaction, which is later than its message. */
function mergeLt(block: Block): Decimal {
  return block.nodes.length === 1 ? block.nodes[0].transaction.lt : block.minLt;
}

function isLog(block: Block): boolean {
  return block.nodes.length === 1 && block.nodes[0].kind === 'log';
}

function mergeOrder(a: Block, b: Block): number {
  return compareDecimal(mergeLt(a), mergeLt(b)) || Number(isLog(a)) - Number(isLog(b));
}

/**
 * Merges blocks of the tree into one in their place. The earliest is the head; every other one must hang on one of the
 * set, else nothing is merged.
 * @returns the new block, null when the set does not hang together
 */
export function merge<T>({ kind, data, failed, blocks, under }: Merge<T>): Block | null {
  const sorted = [...blocks].sort(mergeOrder);
  if (!hangTogether(sorted, under)) return null;
  const head = sorted[0];
  const place = under ?? head.prev;
  const merged = new Block({
    kind,
    data,
    failed,
    nodes: sorted.flatMap(({ nodes }) => nodes),
    parts: sorted,
    initiator: under === undefined ? head.initiator : null,
  });
  for (const block of sorted) {
    block.into = merged;
    for (const next of block.next) if (!blocks.has(next)) connect(merged, next);
  }
  merged.next.sort((a, b) => compareDecimal(a.minLt, b.minLt));
  if (place !== null) {
    place.next = place.next.filter((next) => !blocks.has(next));
    merged.prev = place;
    place.next.splice(placeOf(merged, place.next), 0, merged);
  }
  return merged;
}

/** Where a block belongs among others that stand in the order of their lt. */
function placeOf({ minLt }: Block, others: readonly Block[]): number {
  let from = 0;
  for (let to = others.length; from < to; ) {
    const middle = (from + to) >> 1;
    if (compareDecimal(others[middle].minLt, minLt) > 0) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Whether each block but the head hangs on an earlier one; siblings may all hang on the block they are merged under. */
function hangTogether(sorted: readonly Block[], under: Block | undefined): boolean {
  const seen = new Set<Block | null>(under === undefined ? [sorted[0]] : [under]);
  for (const block of sorted) {
    if (block.into !== null || (block !== sorted[0] && !seen.has(block.prev))) return false;
    seen.add(block);
  }
  return under === undefined || sorted[0].prev === under;
}
