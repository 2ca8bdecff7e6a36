import { DecodeError } from '../errors.ts';
import { type Action, actionOf, unknownAction } from './action.ts';
import { type Block, connect, emptyBlock, merge } from './block.ts';
import { attempts, folds, ghostAttempts } from './families.ts';
import { ghostNodes } from './ghosts.ts';
import type { Attempt } from './kind.ts';
import type { KnownContracts } from './known.ts';
import { callContract, deployBlock, singleBlock } from './ton.ts';
import { growTrace, type Trace, TraceError, type TraceNode } from './trace.ts';

/** Larger traces are not classified, as their time grows with the square of their size at worst. */
export const MAX_TRANSACTIONS = 4000;

export interface Classification {
  /** `failed`: what could not be told together is told message by message. */
  state: 'ok' | 'failed' | 'unclassified';
  actions: Action[];
  /** Why the state is `failed`. */
  error?: unknown;
}

/**
 * Tells what a trace did. Pure: the same trace and answers give the same actions, ids included. Does not throw,
 * whatever the messages carry.
 */
export function classify(trace: Trace, known: KnownContracts): Classification {
  const { transactions } = trace;
  if (transactions.length > MAX_TRANSACTIONS || transactions.length === 0)
    return { state: 'unclassified', actions: [] };
  let root: TraceNode;
  try {
    root = growTrace(trace);
  } catch (error) {
    if (!(error instanceof TraceError)) throw error;
    return { state: 'failed', actions: [unknownAction(trace)], error };
  }
  // A tick or tock by itself is none, whatever it logged.
  if (root.message === null && transactions.length === 1) return { state: 'ok', actions: [] };
  try {
    return { state: 'ok', actions: tell(trace, root, known) };
  } catch (error) {
    return { state: 'failed', actions: tellPlainly(trace, root), error };
  }
}

function tell(trace: Trace, root: TraceNode, known: KnownContracts): Action[] {
  const growth = grow([root]);
  matchAll(attempts, growth, known);
  const actions = emit(growth);
  // What was sent and not received yet, as where the rest could not be emulated, is neither unsent nor unknown.
  const isReceived = root.children.length === root.transaction.outMsgs.length;
  if (actions.length > 0 || !isReceived) return actions;
  const ghosts = root.message?.source === null && root.children.length === 0 ? ghostNodes(root) : [];
  const unsent = grow(ghosts);
  matchAll(ghostAttempts, unsent, known);
  const told = emit(unsent);
  return told.length > 0 ? told : [unknownAction(trace)];
}

function matchAll(all: readonly Attempt[], { anchor, seen }: Growth, known: KnownContracts): void {
  for (const attempt of all) {
    if (attempt.beginnings === null || attempt.beginnings.some((key) => seen.has(key))) {
      walk(attempt, anchor, known, seen);
    }
  }
}

/** Every message by itself. */
function tellPlainly(trace: Trace, root: TraceNode): Action[] {
  return root.children.length === 0 ? [unknownAction(trace)] : emit(grow([root]));
}

interface Growth {
  anchor: Block;
  /** Opcodes and names of all blocks there are or were: a matcher that begins with none of them is not tried. */
  seen: Set<number | string>;
  deploys: Block[];
}

/** The tree of blocks of single messages. */
function grow(roots: readonly TraceNode[]): Growth {
  const anchor = emptyBlock();
  const seen = new Set<number | string>();
  const deploys: Block[] = [];
  const queue = roots.map((node): [Block, TraceNode] => [anchor, node]);
  for (const [above, node] of queue) {
    const block = singleBlock(node);
    connect(above, block);
    note(seen, block);
    const deploy = deployBlock(node);
    if (deploy !== null) deploys.push(deploy);
    for (const child of node.children) queue.push([block, child]);
  }
  return { anchor, seen, deploys };
}

function note(seen: Set<number | string>, { kind, opcode }: Block): void {
  if (kind !== null) seen.add(kind.block);
  if (opcode !== null) seen.add(opcode);
}

/**
 * Tries a matcher on every block of the tree, breadth first. The next blocks are taken when a block is visited, before
 * it is tried: so what left a merged block is still visited, and what the matcher made is not.
 */
function walk(attempt: Attempt, anchor: Block, known: KnownContracts, seen: Set<number | string>): void {
  const queue = [...anchor.next];
  for (const block of queue) {
    for (const next of block.next) queue.push(next);
    if (block.into !== null) continue;
    const made = tryOn(attempt, block, known);
    if (made !== null) note(seen, made);
  }
}

function tryOn(attempt: Attempt, block: Block, known: KnownContracts): Block | null {
  try {
    const result = attempt.attempt(block, known);
    if (result === null) return null;
    const { found, reading } = result;
    return merge({
      kind: attempt.kind,
      data: reading.data,
      failed: reading.failed ?? false,
      blocks: reading.blocks === undefined ? found.all() : new Set(reading.blocks),
      under: reading.under,
    });
  } catch (error) {
    // A body that is not what its opcode promises: some other contract's message.
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

function topBlocks(anchor: Block): Block[] {
  const blocks = [...anchor.next];
  for (const block of blocks) for (const next of block.next) blocks.push(next);
  return blocks;
}

function emit({ anchor, deploys }: Growth): Action[] {
  const actions: Action[] = [];
  let blocks: readonly Block[] = topBlocks(anchor);
  for (const fold of folds) blocks = fold(blocks);
  emitAll([...blocks, ...deploys], null, actions);
  return actions;
}

function emitAll(blocks: readonly Block[], parent: Action | null, actions: Action[]): void {
  const ids = new Set<string>();
  for (const block of blocks) {
    const { kind } = block;
    if (kind === null || isSilent(block)) continue;
    const action = actionOf(block, kind, parent);
    if (action.id === parent?.id) continue;
    if (ids.has(action.id)) throw new TraceError(`action ${action.id} occurs twice`);
    ids.add(action.id);
    actions.push(action);
    if (!kind.leaf) emitAll(block.parts, action, actions);
  }
}

/** Externals in and out are part of the trace, and told only where something was made of them. */
function isSilent(block: Block): boolean {
  const message = callContract.of(block);
  return message !== null && (message.source === null || message.destination === null);
}
