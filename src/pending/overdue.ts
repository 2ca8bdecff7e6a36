/**
 * Emulated traces that have waited long: which of them are over. What its account would still take may still come, as
 * nodes keep messages for minutes; so one is over when its account refuses it at the time of the chain (its order is out
 * of date, its number is used), at the latest when nodes have forgotten it.
 */
import { LRUCache } from 'lru-cache';
import { atMost } from '../at-most.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import type { Step } from '../state/steps.ts';
import type { Lifetimes } from './lifetimes.ts';
import type { createRoots } from './roots.ts';
import type { OpenTrace, PendingStore } from './store.ts';

/** Accounts that are asked at a time, and how often one is asked again. */
const ASKED_AT_ONCE = 16;
const ASK_AGAIN_MS = 5_000;

export function createOverdue(
  store: PendingStore,
  roots: Pick<ReturnType<typeof createRoots>, 'standing'>,
  lifetimes: Lifetimes,
  maxTraces: number,
) {
  /** By the clock of the chain. */
  const askAt = new LRUCache<string, number>(atMost(maxTraces));
  const isForgotten = ({ trace }: OpenTrace, now: number): boolean => now - trace.begunMs > lifetimes.held;

  function waitingLong(now: number): OpenTrace[] {
    return [...store.all()].filter(
      ({ nodes: [{ node }], trace }) => node.finality === 'pending' && now - trace.changedMs > lifetimes.emulated,
    );
  }

  return {
    /**
     * @param now of the chain, in Unix milliseconds
     * @param newest the step up to which all is told
     */
    async at(now: number, newest: () => Promise<Step>, context: QueryContext): Promise<OpenTrace[]> {
      const long = waitingLong(now);
      const over = long.filter((one) => isForgotten(one, now));
      const held = new Set(long.filter((one) => !isForgotten(one, now)));
      const asked = new Map<string, Address>();
      for (const { trace, nodes } of held) {
        const { account } = nodes[0].transaction;
        const isDue = (askAt.get(hashKey(trace.hashNorm)) ?? 0) <= now;
        if (isDue && asked.size < ASKED_AT_ONCE) asked.set(hashKey(account), account);
      }
      if (asked.size === 0) return over;
      const step = await newest();
      for (const account of asked.values()) {
        for (const { one, left } of await roots.standing(account, step, now, context)) {
          if (!held.has(one)) continue;
          if (left === null) over.push(one);
          else askAt.set(hashKey(one.trace.hashNorm), now + ASK_AGAIN_MS);
        }
      }
      return over;
    },
  };
}
