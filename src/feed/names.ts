/** Named subscriptions: how far each was acknowledged, noted for many at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RefusedError } from './admission.ts';
import type { Position, Positions } from './positions.ts';

export interface Names {
  /** The cursor to go on behind; null of a name that was never heard of. */
  cursorOf(owner: string, name: string, signal: AbortSignal): Promise<string | null>;
  /** @throws {RefusedError} when the owner can have no more names */
  checkRoom(owner: string, signal: AbortSignal): Promise<void>;
  /** A name that is new. */
  begin(owner: string, name: string, cursor: string, signal: AbortSignal): Promise<void>;
  /** Resolves once it is noted: the next connection under this name goes on behind the cursor. */
  acknowledge(owner: string, name: string, cursor: string): Promise<void>;
}

/** Of one key. */
const MOST_NAMES = 1_000;
/** Between two notes. */
const NOTE_MS = 100;
const NOTE_TIMEOUT_MS = 10_000;

export function createNames(positions: Positions): Names {
  let waiting = new Map<string, Position>();
  let noting: Promise<void> | null = null;

  function positionOf(owner: string, name: string, cursor: string): Position {
    return { kind: 'name', owner, name, revision: 0, cursor, failures: 0, error: '' };
  }

  /** What was acknowledged until it begins to write, in one insert. */
  async function note(before: Promise<void> | null): Promise<void> {
    await before?.catch(() => undefined);
    await sleep(NOTE_MS);
    const batch = waiting;
    waiting = new Map();
    noting = null;
    await positions.save([...batch.values()], AbortSignal.timeout(NOTE_TIMEOUT_MS));
  }
  /** The last one that was begun; one follows the other, so that the newest row is the newest word. */
  let last: Promise<void> | null = null;

  return {
    async cursorOf(owner, name, signal) {
      const [found] = await positions.read('name', owner, [name], signal);
      return found?.cursor ?? null;
    },
    async checkRoom(owner, signal) {
      if ((await positions.count(owner, signal)) >= MOST_NAMES) {
        throw new RefusedError(`too many named subscriptions: ${MOST_NAMES} is the most`);
      }
    },
    begin: (owner, name, cursor, signal) => positions.save([positionOf(owner, name, cursor)], signal),
    acknowledge(owner, name, cursor) {
      waiting.set(`${owner}\n${name}`, positionOf(owner, name, cursor));
      if (noting === null) {
        noting = note(last);
        last = noting;
      }
      return noting;
    },
  };
}
