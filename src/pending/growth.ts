/** What a pending trace becomes when transactions come that are surer than what was told of it. */
import type { LRUCache } from 'lru-cache';
import { decodeStates, encodeStates, knowsBefore } from '../../clickhouse/states.ts';
import type { PendingChange } from '../../streams/pending-trace.ts';
import { parseBoc } from '../chain/builder.ts';
import { hashKey } from '../chain/hash.ts';
import type { KnownState, QueryContext } from '../chain/records.ts';
import { serialize } from '../chain/serialize.ts';
import type { Behind, Emulated, Emulator } from '../emulation/emulator.ts';
import { type AccountBefore, type Beginning, EMULATION_LIMITS } from '../emulation/trace.ts';
import type { StateSource } from '../state/source.ts';
import type { Step } from '../state/steps.ts';
import { type Comparison, compareTraces } from './compare.ts';
import type { Deeds } from './deeds.ts';
import { type Dangling, leastSure, markOf, mergeNodes, type OpenNode, openNode, receives } from './merge.ts';
import type { PendingMetrics } from './metrics.ts';
import { emulatedNodes } from './nodes.ts';
import { bytesOf, type OpenTrace } from './store.ts';

/** What is remembered of a trace beside what is told; a restart forgets it. */
export interface Memory {
  /** As it was emulated first. */
  emulated: Emulated;
  /** The account of the root as the root leaves it. */
  ahead: AccountBefore;
}

/** By the normalised hash of the message. */
export type Memories = LRUCache<string, Memory>;

export interface GrowthOptions {
  states: Pick<StateSource, 'step'>;
  emulator: Emulator;
  deeds: Deeds;
  memory: Memories;
  /** What signed blocks leave behind a step. */
  behind(step: Step): Behind;
  /** What one record of the topic says of a trace: a larger one is told by its steps alone. */
  largest?: { nodes: number; bytes: number };
  metrics: PendingMetrics;
  clock: () => number;
  context(signal: AbortSignal): QueryContext;
  report(error: unknown): void;
  /** A trace did not come as it was emulated. */
  onDifferent(hashNorm: Buffer, comparison: Comparison): void;
}

/** With what is emulated behind them, a record has room for twice as much. */
const LARGEST = { nodes: 4_096, bytes: EMULATION_LIMITS.bytes };

export function createGrowth(options: GrowthOptions) {
  const { states, emulator, deeds, memory, largest = LARGEST, metrics, clock, context, report } = options;

  function compare(hashNorm: Buffer, emulated: Emulated, came: readonly OpenNode[]): void {
    const comparison = compareTraces(emulated.transactions, came);
    metrics.compared(comparison);
    if (comparison.likeness !== 'same') options.onDifferent(hashNorm, comparison);
  }

  /** What follows from messages that left real transactions. */
  async function emulateTail(dangling: readonly Dangling[], signal: AbortSignal): Promise<Emulated | 'failed'> {
    const beginnings = dangling.map(({ bag, message, depth }): Beginning => {
      if (message.destination === null) throw new RangeError('a message out of the chain is received by nobody');
      const cell = parseBoc(serialize(bag, message.cell));
      return { message: cell, destination: message.destination, createdLt: message.createdLt, hop: 0, depth };
    });
    try {
      const step = await states.step(undefined, context(signal));
      const tail = await emulator.run(beginnings, step, { behind: options.behind(step) }, context(signal));
      if (tail.isIncomplete) metrics.cutOff();
      return tail;
    } catch (error) {
      signal.throwIfAborted();
      metrics.tailFailed();
      report(error);
      return 'failed';
    }
  }

  return {
    /**
     * Null for nothing that was not told; `ended` for a trace that is too large to be told of.
     * @param mcSeqno the step behind which it is told what contracts are
     */
    async by(
      one: OpenTrace,
      more: readonly OpenNode[],
      { mcSeqno, signal }: { mcSeqno: number; signal: AbortSignal },
    ): Promise<PendingChange | null> {
      const { hashNorm } = one.trace;
      const merged = mergeNodes([...one.nodes, ...withStates(more, one.nodes)], receives(hashNorm));
      if (merged.nodes.length === 0) return null;
      const marks = (nodes: readonly OpenNode[]): string => nodes.map(markOf).join(' ');
      if (marks(merged.nodes) === marks(one.nodes)) return null;
      if (merged.nodes.length > largest.nodes || bytesOf(merged.nodes.map(({ node }) => node)) > largest.bytes) {
        metrics.tooLarge();
        return { kind: 'ended', hashNorm };
      }
      const tail = merged.dangling.length === 0 ? null : await emulateTail(merged.dangling, signal);
      const nodes = [...merged.nodes, ...(tail === null || tail === 'failed' ? [] : emulatedNodes(tail).map(openNode))];
      const known = memory.get(hashKey(hashNorm));
      const emulated = tail === null || tail === 'failed' ? (known?.emulated ?? null) : tail;
      const sure = leastSure(nodes.map(({ node }) => node));
      const final = sure === 'finalized' && tail === null;
      const told = await deeds.actions(nodes, one.trace, { emulated: final ? null : emulated, mcSeqno, signal });
      if (final && known !== undefined) {
        compare(hashNorm, known.emulated, nodes);
        // Nothing will be held against it any more.
        memory.delete(hashKey(hashNorm));
      }
      return {
        kind: 'trace',
        trace: {
          ...one.trace,
          version: one.trace.version + 1,
          isIncomplete:
            tail === 'failed' || tail?.isIncomplete === true || (sure === 'pending' && one.trace.isIncomplete),
          changedMs: clock(),
          nodes: nodes.map(({ node }) => node),
          ...told,
        },
      };
    },
  };
}

/**
 * With the states before them that a block does not show, where others of the trace have them, emulated or not: what has
 * the same hash is the same.
 */
function withStates(nodes: readonly OpenNode[], known: readonly OpenNode[]): readonly OpenNode[] {
  if (nodes.every(({ node }) => knowsBefore(node.states))) return nodes;
  const states = new Map<string, KnownState>();
  for (const { node, transaction } of [...known, ...nodes]) {
    const { before, after } = decodeStates(node.states);
    if (before !== null) states.set(hashKey(transaction.stateBefore), before);
    if (after !== null) states.set(hashKey(transaction.stateAfter), after);
  }
  return nodes.map((one) => {
    const { node, transaction } = one;
    const before = knowsBefore(node.states) ? undefined : states.get(hashKey(transaction.stateBefore));
    if (before === undefined) return one;
    return { ...one, node: { ...node, states: encodeStates(before, decodeStates(node.states).after) } };
  });
}
