/** Questions about keys that several steps ask at the same time, put as one. */
import type { QueryContext } from '../chain/records.ts';

/** Rows by their keys as text: of all that was asked together, so each looks up his own. */
export type Together<K, R> = (keys: readonly K[], context: QueryContext) => Promise<ReadonlyMap<string, R>>;

/** Keys in one question. */
const ASKED_AT_ONCE = 500;

interface Open<K, R> {
  keys: K[];
  answer: Promise<ReadonlyMap<string, R>>;
}

/**
 * What is asked under one signal before the event loop goes on is one question, in parts of 500 keys. Rows of one key
 * must be the same whatever is asked beside it: nothing that depends on the step which asks.
 */
export function together<K, R>(
  ask: (keys: K[], context: QueryContext) => Promise<readonly R[]>,
  keyOf: (row: R) => string,
): Together<K, R> {
  const open = new WeakMap<AbortSignal, Open<K, R>>();

  async function askAll(keys: readonly K[], context: QueryContext): Promise<Map<string, R>> {
    const found = new Map<string, R>();
    for (let at = 0; at < keys.length; at += ASKED_AT_ONCE) {
      for (const row of await ask(keys.slice(at, at + ASKED_AT_ONCE), context)) found.set(keyOf(row), row);
    }
    return found;
  }

  return (keys, context) => {
    if (keys.length === 0) return Promise.resolve(new Map<string, R>());
    const { signal } = context;
    const known = open.get(signal);
    if (known !== undefined) {
      for (const key of keys) known.keys.push(key);
      return known.answer;
    }
    const asked = [...keys];
    const answer = Promise.resolve().then(() => {
      open.delete(signal);
      return askAll(asked, context);
    });
    open.set(signal, { keys: asked, answer });
    return answer;
  };
}
