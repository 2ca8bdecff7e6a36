import type { Cell } from '../chain/builder.ts';
import type { BlockId } from '../chain/model.ts';
import type { Tips } from './step.ts';

/** States of the last steps by block. */
export interface RecentStates {
  add(tips: Tips): void;
  /** Null when it is no longer kept. */
  get(id: BlockId): Cell | null;
}

/** @param limit steps to keep */
export function createRecentStates(limit: number): RecentStates {
  const roots = new Map<string, Cell>();
  const steps: string[][] = [];
  const key = ({ workchain, shard, seqno }: BlockId): string => `${workchain}:${shard}:${seqno}`;
  return {
    add: (tips) => {
      const tops = [tips.mc, ...tips.shards];
      for (const { place, root } of tops) roots.set(key(place), root);
      steps.push(tops.map(({ place }) => key(place)));
      const kept = new Set(steps.slice(-limit).flat());
      for (const old of steps.splice(0, Math.max(0, steps.length - limit)).flat())
        if (!kept.has(old)) roots.delete(old);
    },
    get: (id) => roots.get(key(id)) ?? null,
  };
}
