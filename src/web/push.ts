/** Server-sent events to many listeners (HTML standard, 9.2): every event is the whole newest state of its kind. */
import type { Writable } from 'node:stream';

export interface PushOptions {
  /** Listeners at the same time; more are refused. */
  maxListeners: number;
  /** Milliseconds between `beat` events, which tell a listener that the line is alive. */
  beatMs: number;
  /** Milliseconds after which a listener that takes nothing is dropped. */
  stallMs: number;
  /** The number of listeners has changed. */
  onListeners?: (count: number) => void;
}

export interface Push {
  readonly listeners: number;
  /** Whether another listener would be taken. */
  readonly open: boolean;
  /**
   * Sends the newest event of every kind, then what comes; the sink is ended by `close` or destroyed as too slow.
   * False when there is no room: nothing was written then.
   */
  join(sink: Writable): boolean;
  /** To all listeners, and first to those who join later. `data` is sent as JSON. */
  publish(kind: string, data: unknown): void;
  /** Ends every listener and takes no more. */
  close(): void;
}

interface Listener {
  sink: Writable;
  /** What the sink had no room for: of each kind only the newest, as it says all that the older ones said. */
  waiting: Map<string, string>;
  /** Since when the sink has no room, in milliseconds; null while it has. */
  fullSince: number | null;
}

/** Memory for one listener is bounded by the sink's own buffer, one event above it and one of each kind. */
export function createPush({ maxListeners, beatMs, stallMs, onListeners }: PushOptions): Push {
  const listeners = new Set<Listener>();
  const newest = new Map<string, string>();
  let number = 0;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;

  function send(listener: Listener, kind: string, text: string): void {
    if (listener.fullSince !== null) {
      listener.waiting.set(kind, text);
      return;
    }
    if (!listener.sink.write(text)) listener.fullSince = Date.now();
  }

  function drained(listener: Listener): void {
    listener.fullSince = null;
    const waiting = [...listener.waiting];
    listener.waiting.clear();
    for (const [kind, text] of waiting) send(listener, kind, text);
  }

  function beat(): void {
    const now = Date.now();
    const text = event('beat', { now });
    for (const listener of listeners) {
      if (listener.fullSince !== null && now - listener.fullSince >= stallMs) listener.sink.destroy();
      else send(listener, 'beat', text);
    }
  }

  function leave(listener: Listener): void {
    if (!listeners.delete(listener)) return;
    if (listeners.size === 0 && timer !== null) {
      clearInterval(timer);
      timer = null;
    }
    onListeners?.(listeners.size);
  }

  return {
    get listeners() {
      return listeners.size;
    },
    get open() {
      return !closed && listeners.size < maxListeners;
    },
    join(sink) {
      if (closed || listeners.size >= maxListeners) return false;
      const listener: Listener = { sink, waiting: new Map(), fullSince: null };
      listeners.add(listener);
      sink.on('drain', () => drained(listener));
      sink.once('close', () => leave(listener));
      // A line that breaks is no failure of the service; `close` follows and takes the listener out.
      sink.on('error', () => leave(listener));
      timer ??= setInterval(beat, beatMs).unref();
      send(listener, 'beat', event('beat', { now: Date.now() }));
      for (const [kind, text] of newest) send(listener, kind, text);
      onListeners?.(listeners.size);
      return true;
    },
    publish(kind, data) {
      number++;
      const text = `id: ${number}\n${event(kind, data)}`;
      newest.set(kind, text);
      for (const listener of listeners) send(listener, kind, text);
    },
    close() {
      closed = true;
      for (const listener of [...listeners]) {
        if (listener.fullSince === null) listener.sink.end();
        else listener.sink.destroy();
        leave(listener);
      }
    },
  };
}

/** JSON has no line breaks outside its strings and escapes those inside: it always is one `data` line. */
function event(kind: string, data: unknown): string {
  return `event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
}
