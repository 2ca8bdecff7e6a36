/** Named subscriptions: how far each was acknowledged, noted for many at once. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { RefusedError } from './admission.ts';
import { inOrder, type Position, type Positions } from './positions.ts';

/** A name that a connection has. */
export interface Named extends Session {
  /** To go on behind. */
  cursor: string;
}

export interface Session {
  /** Higher than that of any before. */
  session: number;
  /** Of no other connection: two may have drawn the same session. */
  holder: string;
}

/** What is known of a name, and of the connection that has it: session 0 where none ever had. */
export interface Known extends Session {
  /** Null where nothing was ever told under it. */
  cursor: string | null;
}

export interface Names {
  find(owner: string, name: string, signal: AbortSignal): Promise<Known>;
  /** @throws {RefusedError} when the owner can have no more names */
  checkRoom(owner: string, signal: AbortSignal): Promise<void>;
  /**
   * A connection takes a name: what others have acknowledged under it until then counts, and from then on is refused.
   * @param known of the name, lately
   * @param begins where it begins, by what was acknowledged
   */
  take(
    owner: string,
    name: string,
    known: Known,
    begins: (acknowledged: string | null) => string,
    signal: AbortSignal,
  ): Promise<Named>;
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
const UNKNOWN: Known = { cursor: null, session: 0, holder: '' };

/** Behind those before. Of connections that take a name at once, which know nothing of each other, one draws the higher. */
function nextSession({ session }: Known): number {
  const taken = Math.floor(session / DRAWN);
  return (taken + 1) * DRAWN + Math.floor(Math.random() * DRAWN);
}

/**
 * Who has a name is noted apart from how far it is, with his id for a cursor: who takes it says so first and looks then,
 * and whoever is told that his word was noted has noted it before he looked who has it. No key has a line break in it.
 */
const takenBy = (owner: string): string => `${owner}\n`;

/** By another connection than this one. */
function isTaken({ session, holder }: Session, last: Known): boolean {
  // What a former version has noted has no holder.
  return last.session > session || (last.holder !== '' && last.holder !== holder);
}

/** Acknowledgements until the next note, and who waits for them. */
interface Batch {
  /** By holder. */
  words: Map<string, Word>;
  /** Holders whose names other connections have taken; known once it is noted. */
  noted: Promise<Set<string>>;
}

interface Word extends Named {
  owner: string;
  name: string;
}

export function createNames(positions: Positions): Names {
  let waiting: Batch | null = null;
  /** One note follows the other, so that the newest row is the newest word. */
  let last: Promise<unknown> = Promise.resolve();

  const { read, save } = inOrder(positions);

  function positionOf({ owner, name, cursor, session: revision }: Omit<Word, 'holder'>): Position {
    return { kind: 'name', owner, name, revision, cursor, failures: 0, refusals: 0, error: '' };
  }

  /** What was acknowledged until it begins to write, in one insert. Who has lost his name is looked for behind it. */
  async function note(batch: Batch, before: Promise<unknown>): Promise<Set<string>> {
    await before.catch(() => undefined);
    await sleep(NOTE_MS);
    waiting = null;
    const signal = AbortSignal.timeout(NOTE_TIMEOUT_MS);
    const all = [...batch.words.values()];
    await save(all.map(positionOf), signal);
    const lost = new Set<string>();
    for (const owner of new Set(all.map((word) => word.owner))) {
      const own = all.filter((word) => word.owner === owner);
      const known = await findAll(owner, [...new Set(own.map(({ name }) => name))], signal);
      for (const word of own) if (isTaken(word, known.get(word.name) ?? UNKNOWN)) lost.add(word.holder);
    }
    return lost;
  }

  async function findAll(owner: string, own: readonly string[], signal: AbortSignal): Promise<Map<string, Known>> {
    const [taken, acknowledged] = await Promise.all([
      read('name', takenBy(owner), own, signal),
      read('name', owner, own, signal),
    ]);
    const known = new Map<string, Known>();
    for (const { name, revision, cursor } of taken) {
      known.set(name, { cursor: null, session: revision, holder: cursor });
    }
    for (const { name, revision, cursor } of acknowledged) {
      const { session, holder } = known.get(name) ?? UNKNOWN;
      known.set(name, { cursor, session: Math.max(revision, session), holder });
    }
    return known;
  }

  const find = async (owner: string, name: string, signal: AbortSignal): Promise<Known> =>
    (await findAll(owner, [name], signal)).get(name) ?? UNKNOWN;

  return {
    find,
    async checkRoom(owner, signal) {
      if ((await positions.count(owner, signal)) >= MOST_NAMES) {
        throw new RefusedError(`too many named subscriptions: ${MOST_NAMES} is the most`);
      }
    },
    async take(owner, name, known, begins, signal) {
      const holder = randomUUID();
      for (let last = known; ; ) {
        const session = nextSession(last);
        await save([positionOf({ owner: takenBy(owner), name, session, cursor: holder })], signal);
        last = await find(owner, name, signal);
        // Another one has taken it since: this one is behind him.
        if (isTaken({ session, holder }, last)) continue;
        const cursor = begins(last.cursor);
        await save([positionOf({ owner, name, session, cursor })], signal);
        return { cursor, session, holder };
      }
    },
    async acknowledge(owner, name, acknowledged) {
      if (waiting === null) {
        const batch: Batch = { words: new Map(), noted: Promise.resolve(new Set()) };
        batch.noted = note(batch, last);
        last = batch.noted;
        waiting = batch;
      }
      waiting.words.set(acknowledged.holder, { owner, name, ...acknowledged });
      if ((await waiting.noted).has(acknowledged.holder)) {
        throw new RefusedError('another connection has taken this name: subscribe again to have it back');
      }
    },
  };
}
