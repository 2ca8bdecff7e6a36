import { bounce, excess } from '../layouts/common.ts';
import type { Block } from './block.ts';
import type { KnownContracts } from './known.ts';

/**
 * What a block and its neighbours must look like. A pattern with neither `op` nor `block` fits every block that `where`
 * accepts.
 */
export interface Pattern {
  /** A call: an unmerged message of which this is, or these are, the opcode. */
  readonly op?: number | readonly number[];
  /** A block of this name, or one of these. */
  readonly block?: string | readonly string[];
  readonly where?: (block: Block, known: KnownContracts) => boolean;
  /** Name under which the reader finds the block. */
  readonly as?: string;
  /** Tried on every next block: all that fit are taken, one at least unless it is optional. */
  readonly child?: Pattern;
  /** Each takes the first next block that fits and is not taken yet. */
  readonly children?: readonly Pattern[];
  /** Tried on the previous block. */
  readonly parent?: Pattern;
  readonly optional?: boolean;
  /**
   * Whether the next blocks that return excess value or bounced are taken, too, or only those that bounced. By default
   * those of every pattern but the outermost.
   */
  readonly returns?: Returns;
  /** The first of these that fits, instead of all above. */
  readonly any?: readonly Pattern[];
  /**
   * A chain from a block that fits, of blocks that fit `of`, up to one that fits `until` if any; see {@link
   * matchChain}.
   */
  readonly chain?: { readonly of: Pattern; readonly until?: Pattern };
}

export type Returns = boolean | 'bounced';

export const EXCESSES = excess.opcode;
export const BOUNCED = bounce.opcode;

interface Hit {
  block: Block;
  as: string | undefined;
}

/** The blocks that fit a pattern. */
export class Match {
  /** The block the outermost pattern was tried on. */
  readonly head: Block;
  readonly #hits: readonly Hit[];

  constructor(head: Block, hits: readonly Hit[]) {
    this.head = head;
    this.#hits = hits;
  }

  /** Everything that was taken, the head included. */
  all(): Set<Block> {
    const blocks = new Set<Block>();
    for (const { block } of this.#hits) blocks.add(block);
    return blocks;
  }

  /** The first block taken under a name. */
  first(name: string): Block | null {
    for (const { block, as } of this.#hits) if (as === name) return block;
    return null;
  }

  /** The blocks taken under a name, in the order they were found. */
  named(name: string): Block[] {
    return this.#hits.filter(({ as }) => as === name).map(({ block }) => block);
  }
}

/** Tries an outermost pattern on a block. */
export function match(pattern: Pattern, block: Block, known: KnownContracts): Match | null {
  const hits = tryPattern(pattern, block, known, pattern.returns ?? false);
  return hits === null ? null : new Match(block, hits);
}

function tryPattern(pattern: Pattern, block: Block, known: KnownContracts, returns: Returns): Hit[] | null {
  if (pattern.any !== undefined) {
    for (const one of pattern.any) {
      const hits = tryPattern(one, block, known, one.returns ?? returns);
      if (hits !== null) return hits;
    }
    return null;
  }
  if (pattern.chain !== undefined) return matchChain(pattern, block, known)?.hits ?? null;
  if (!fits(pattern, block, known)) return null;
  // First, as there is but one: what is below may be most of the trace.
  const above = pattern.parent === undefined ? [] : takeParent(pattern.parent, block, known);
  if (above === null) return null;
  const hits: Hit[] = [{ block, as: pattern.as }];
  if (pattern.child !== undefined && !takeAll(pattern.child, block, known, hits)) return null;
  if (pattern.children !== undefined && !takeEach(pattern.children, block, known, hits)) return null;
  hits.push(...above);
  if (returns !== false) {
    for (const next of block.next) {
      if (next.opcode === BOUNCED || (next.opcode === EXCESSES && returns === true))
        hits.push({ block: next, as: undefined });
    }
  }
  return hits;
}

function inner(pattern: Pattern, block: Block, known: KnownContracts): Hit[] | null {
  return tryPattern(pattern, block, known, pattern.returns ?? true);
}

function fits({ op, block: name, where }: Pattern, block: Block, known: KnownContracts): boolean {
  if (block.kind === null) return false;
  if (op !== undefined) {
    if (typeof op === 'number' ? block.opcode !== op : block.opcode === null || !op.includes(block.opcode))
      return false;
  }
  if (name !== undefined) {
    const is = block.kind.block;
    if (typeof name === 'string' ? is !== name : !name.includes(is)) return false;
  }
  return where === undefined || where(block, known);
}

function takeAll(pattern: Pattern, block: Block, known: KnownContracts, hits: Hit[]): boolean {
  let found = false;
  for (const next of block.next) {
    const more = inner(pattern, next, known);
    if (more === null) continue;
    found = true;
    hits.push(...more);
  }
  return found || pattern.optional === true;
}

function takeEach(patterns: readonly Pattern[], block: Block, known: KnownContracts, hits: Hit[]): boolean {
  const taken = new Set<Block>();
  for (const pattern of patterns) {
    let more: Hit[] | null = null;
    for (const next of block.next) {
      if (taken.has(next)) continue;
      more = inner(pattern, next, known);
      if (more === null) continue;
      taken.add(next);
      hits.push(...more);
      break;
    }
    if (more === null && pattern.optional !== true) return false;
  }
  return true;
}

function takeParent(pattern: Pattern, { prev }: Block, known: KnownContracts): Hit[] | null {
  const hits = prev === null ? null : inner(pattern, prev, known);
  return hits ?? (pattern.optional === true ? [] : null);
}

/** What a chain took, and of that what its last link and its end are. */
interface Chained {
  hits: Hit[];
  last: readonly Hit[];
}

/**
 * From a block on, `until` is tried first, then `of`; after a hit of `of` the walk goes on over the next blocks of all
 * blocks it took, and not over those beside it. It ends with `until`, or when nothing more fits: then what was taken still
 * counts.
 *
 * A link that is a chain itself is gone on from where that ended: from any earlier block of it the same walk would lead
 * there again.
 */
function matchChain({ chain, ...start }: Pattern, block: Block, known: KnownContracts): Chained | null {
  if (chain === undefined || !fits(start, block, known)) return null;
  const { of, until } = chain;
  const hits: Hit[] = [];
  let last: readonly Hit[] = [];
  let level: Iterable<Block> | null = [block];
  while (level !== null) {
    let below: Set<Block> | null = null;
    for (const at of level) {
      const end = until === undefined ? null : inner(until, at, known);
      if (end !== null) {
        hits.push(...end);
        return { hits, last: [...last, ...end] };
      }
      const more = link(of, at, known);
      if (more === null) continue;
      hits.push(...more.hits);
      last = more.last;
      below = new Set(last.flatMap((hit) => hit.block.next));
      break;
    }
    level = below;
  }
  return hits.length === 0 ? null : { hits, last };
}

function link(of: Pattern, at: Block, known: KnownContracts): Chained | null {
  if (of.chain !== undefined) return matchChain(of, at, known);
  const hits = inner(of, at, known);
  return hits === null ? null : { hits, last: hits };
}

/** The opcodes and block names an outermost pattern can begin with; null when every block may. */
export function beginnings({ op, block, any, chain }: Pattern): readonly (number | string)[] | null {
  if (any !== undefined || chain !== undefined) {
    const all = (any ?? [chain?.until, chain?.of].filter((one) => one !== undefined)).map(beginnings);
    return all.includes(null) ? null : all.flatMap((one) => one ?? []);
  }
  const keys = op ?? block;
  if (keys === undefined) return null;
  return typeof keys === 'object' ? keys : [keys];
}
