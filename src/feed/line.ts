/** One listener: what it hears, how far it has heard, and whether it takes more. */
import { surer } from '../pending/merge.ts';
import { eventId, type FeedEvent } from './events.ts';
import { type Hearing, hearing } from './hearing.ts';
import type { Notifier, Pieces, Surroundings } from './notification.ts';
import { comparePlaces, encodeCursor, type Place } from './place.ts';
import type { Subscription } from './subscription.ts';

/** What an event is found again by. */
export interface Mark {
  cursor: string;
  id: string;
}

/** Where notifications go: a WebSocket, or a response of server-sent events. */
export interface Sink {
  /**
   * False when it has no room for more; `onRoom` calls back once it has. What was given is taken all the same.
   * @param mark of an event for those who asked for cursors; null of anything else
   */
  write(json: Buffer, mark: Mark | null): boolean;
  /** The same of an event's JSON in pieces, where it goes out without its mark; they are copied. */
  writePieces?(json: Pieces): boolean;
  onRoom(call: () => void): void;
  /** What is written until `uncork` may go out at once. */
  cork?(): void;
  uncork?(): void;
  /** Ends the connection. @param code a close code of WebSocket */
  end(code: number, reason: string): void;
}

/** Of what may wait in a sink, at which there is room again. */
export const LOW_WATER = 0.5;

export type LineState =
  /** Nothing is subscribed. */
  | 'idle'
  /** It is told of what happens. */
  | 'live'
  /** It is told of what was, from its place on. */
  | 'behind'
  | 'closed';

export interface Line {
  readonly subscription: Subscription;
  /** Of the last event that was told; everything up to it that the subscription hears was. */
  place: Place;
  state: LineState;
  /** Raised with every subscription. */
  readonly generation: number;
  /** Tell `caught_up` when it is live next. */
  announces: boolean;
  /** When it was told of the head last, by `performance.now`. */
  beatAt: number;
  /** It may take nothing for as long as it likes. */
  readonly patient: boolean;
  readonly full: boolean;
  /** Whether it is to be told: it asks for it, and stands before it. */
  hears(event: FeedEvent): boolean;
  /** Whether the subscription asks for it, wherever the line stands and whatever its level. */
  asksFor(event: FeedEvent): boolean;
  /** False when the sink has no room for more. */
  tell(event: FeedEvent, around: Surroundings): boolean;
  /** What is told until `uncork` may go out at once. */
  cork(): void;
  uncork(): void;
  /** A message that is no event: JSON that stands beside them. */
  say(message: object): void;
  /** Takes back what is not final. @param id of this word, the same whenever it is said */
  takeBack(message: object, id: string): void;
  subscribe(subscription: Subscription): void;
  /** Resolves once there is room, or with `stalled` when nothing was taken for so long; null waits as long as it takes. */
  room(stallMs: number | null, signal: AbortSignal): Promise<'room' | 'stalled'>;
  end(code: number, reason: string): void;
}

export interface LineOptions {
  sink: Sink;
  notifier: Notifier;
  globalId: () => number;
  place: Place;
  subscription: Subscription;
  patient: boolean;
  onTold: (bytes: number) => void;
}

export function createLine(options: LineOptions): Line {
  return new OpenLine(options);
}

/** A class, not a factory: there are tens of thousands, and no closures are made for each. */
class OpenLine implements Line {
  place: Place;
  state: LineState = 'idle';
  generation = 0;
  announces = false;
  beatAt = Number.NEGATIVE_INFINITY;
  full = false;
  readonly patient: boolean;
  subscription: Subscription;
  #hearing: Hearing;
  #waiting: (() => void)[] = [];
  readonly #sink: Sink;
  readonly #notifier: Notifier;
  readonly #globalId: () => number;
  readonly #onTold: (bytes: number) => void;

  constructor({ sink, notifier, globalId, place, subscription, patient, onTold }: LineOptions) {
    this.patient = patient;
    this.#sink = sink;
    this.#notifier = notifier;
    this.#globalId = globalId;
    this.place = place;
    this.subscription = subscription;
    this.#hearing = hearing(subscription);
    this.#onTold = onTold;
    sink.onRoom(() => this.#madeRoom());
  }

  hears(event: FeedEvent): boolean {
    const { place, finality } = event;
    if (finality === undefined) return comparePlaces(place, this.place) > 0 && this.#hearing.hears(event);
    // What is not final has no place of its own: who has heard more than is told here knows better.
    if (surer(this.subscription.minFinality, finality) || comparePlaces(place, this.place) < 0) return false;
    return this.#hearing.hears(event);
  }

  asksFor(event: FeedEvent): boolean {
    return this.#hearing.hears(event);
  }

  tell(event: FeedEvent, around: Surroundings): boolean {
    this.place = event.place;
    // Who is behind is told alone.
    if (this.state === 'behind' && this.#sink.writePieces) {
      const pieces = this.#notifier.pieces(event, this.subscription, this.#hearing, around);
      this.#onTold(pieces.reduce((sum, { length }) => sum + length, 0));
      if (!this.#sink.writePieces(pieces)) this.full = true;
      return !this.full;
    }
    const bytes = this.#notifier.bytes(event, this.subscription, this.#hearing, around);
    this.#onTold(bytes.length);
    const { cursors } = this.subscription;
    const mark = cursors ? { cursor: encodeCursor(this.#globalId(), event.place), id: eventId(event) } : null;
    return this.#write(bytes, mark);
  }

  cork(): void {
    this.#sink.cork?.();
  }

  uncork(): void {
    this.#sink.uncork?.();
  }

  say(message: object): void {
    this.#write(Buffer.from(JSON.stringify(message)), null);
  }

  takeBack(message: object, id: string): void {
    const mark = this.subscription.cursors ? { cursor: encodeCursor(this.#globalId(), this.place), id } : null;
    const told = mark === null ? message : { ...message, event_id: id, cursor: mark.cursor };
    const bytes = Buffer.from(JSON.stringify(told));
    this.#onTold(bytes.length);
    this.#write(bytes, mark);
  }

  #write(bytes: Buffer, mark: Mark | null): boolean {
    if (!this.#sink.write(bytes, mark)) this.full = true;
    return !this.full;
  }

  subscribe(subscription: Subscription): void {
    this.subscription = subscription;
    this.#hearing = hearing(subscription);
    this.generation++;
  }

  #madeRoom(): void {
    this.full = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const call of waiting) call();
  }

  room(stallMs: number | null, signal: AbortSignal): Promise<'room' | 'stalled'> {
    if (!this.full || this.state === 'closed') return Promise.resolve('room');
    return new Promise((resolve, reject) => {
      const finish = (how: 'room' | 'stalled') => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        resolve(how);
      };
      const abort = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = stallMs === null ? undefined : setTimeout(finish, stallMs, 'stalled').unref();
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.push(() => finish('room'));
    });
  }

  end(code: number, reason: string): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.#sink.end(code, reason);
    this.#madeRoom();
  }
}
