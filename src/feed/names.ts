/** Named subscriptions: how far each was acknowledged, noted for many at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RefusedError } from './admission.ts';
import type { Position, Positions } from './positions.ts';

/** What is known of a name. */
export interface Named {
  /** To go on behind. */
  cursor: string;
  /** Of the connection that has it: higher than that of any before. */
  session: number;
}

export interface Names {
  /** Null of a name that was never heard of. */
  find(owner: string, name: string, signal: AbortSignal): Promise<Named | null>;
  /** @throws {RefusedError} when the owner can have no more names */
  checkRoom(owner: string, signal: AbortSignal): Promise<void>;
  /** A connection takes a name: it begins behind the cursor, and what others acknowledge under it counts no more. */
  take(owner: string, name: string, begun: Named, signal: AbortSignal): Promise<void>;
  /**
   * Resolves once it is noted: the next connection under this name goes on behind the cursor.
   * @throws {RefusedError} when another connection has taken the name since
   */
  acknowledge(owner: string, name: string, acknowledged: Named): Promise<void>;
}

/** Of one key. */
const MOST_NAMES = 1_000;
/** Between two notes. */
const NOTE_MS = 100;
const NOTE_TIMEOUT_MS = 10_000;

/** Sessions that may be drawn at a time. */
const DRAWN = 256;

/** Behind those before. Of connections that take a name at once, which know nothing of each other, one draws the higher. */
export function nextSession(known: Named | null): number {
  const taken = Math.floor((known?.session ?? 0) / DRAWN);
  return (taken + 1) * DRAWN + Math.floor(Math.random() * DRAWN);
}

/** Acknowledgements until the next note, and who waits for them. */
interface Batch {
  positions: Map<string, Position>;
  /** Keys of names that another connection has taken; known once it is noted. */
  noted: Promise<Set<string>>;
}

export function createNames(positions: Positions): Names {
  let waiting: Batch | null = null;
  /** One note follows the other, so that the newest row is the newest word. */
  let last: Promise<unknown> = Promise.resolve();

  function positionOf(owner: string, name: string, { cursor, session: revision }: Named): Position {
    return { kind: 'name', owner, name, revision, cursor, failures: 0, error: '' };
  }

  const keyOf = ({ owner, name, revision }: Position): string => `${owner}\n${name}\n${revision}`;

  /** What was acknowledged until it begins to write, in one insert. Who has lost his name is looked for behind it. */
  async function note(batch: Batch, before: Promise<unknown>): Promise<Set<string>> {
    await before.catch(() => undefined);
    await sleep(NOTE_MS);
    waiting = null;
    const signal = AbortSignal.timeout(NOTE_TIMEOUT_MS);
    const all = [...batch.positions.values()];
    await positions.save(all, signal);
    const sessions = await newestSessions(all, signal);
    const isLost = ({ owner, name, revision }: Position): boolean =>
      (sessions.get(`${owner}\n${name}`) ?? 0) > revision;
    return new Set(all.filter(isLost).map(keyOf));
  }

  async function newestSessions(all: readonly Position[], signal: AbortSignal): Promise<Map<string, number>> {
    const byOwner = new Map<string, Set<string>>();
    for (const { owner, name } of all) byOwner.set(owner, (byOwner.get(owner) ?? new Set()).add(name));
    const found = await Promise.all(
      [...byOwner].map(([owner, own]) => positions.read('name', owner, [...own], signal)),
    );
    return new Map(found.flat().map(({ owner, name, revision }) => [`${owner}\n${name}`, revision]));
  }

  return {
    async find(owner, name, signal) {
      const [found] = await positions.read('name', owner, [name], signal);
      return found === undefined ? null : { cursor: found.cursor, session: found.revision };
    },
    async checkRoom(owner, signal) {
      if ((await positions.count(owner, signal)) >= MOST_NAMES) {
        throw new RefusedError(`too many named subscriptions: ${MOST_NAMES} is the most`);
      }
    },
    take: (owner, name, begun, signal) => positions.save([positionOf(owner, name, begun)], signal),
    async acknowledge(owner, name, acknowledged) {
      const position = positionOf(owner, name, acknowledged);
      if (waiting === null) {
        const batch: Batch = { positions: new Map(), noted: Promise.resolve(new Set()) };
        batch.noted = note(batch, last);
        last = batch.noted;
        waiting = batch;
      }
      waiting.positions.set(keyOf(position), position);
      if ((await waiting.noted).has(keyOf(position))) {
        throw new RefusedError('another connection has taken this name: subscribe again to have it back');
      }
    },
  };
}
