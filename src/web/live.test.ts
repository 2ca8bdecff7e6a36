/** The line of a page to its service, apart from a browser. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

// The pages' modules are plain JavaScript for browsers.
const { openLine } = await import(new URL('./page/live.js', import.meta.url).href);

const [CONNECTING, CLOSED] = [0, 2];

class Line extends EventTarget {
  static readonly CLOSED = CLOSED;
  static all: Line[] = [];
  readyState = CONNECTING;
  onerror = (): void => undefined;
  constructor() {
    super();
    Line.all.push(this);
  }
  close() {
    this.readyState = CLOSED;
  }
  end(readyState: number) {
    this.readyState = readyState;
    this.onerror();
  }
}

describe('a line', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    Line.all = [];
    vi.stubGlobal('EventSource', Line);
    vi.stubGlobal('window', new EventTarget());
    vi.stubGlobal('document', Object.assign(new EventTarget(), { hidden: false }));
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it('tells in words what it is refused with, until it is open', async () => {
    const states: unknown[] = [];
    const asked = vi.fn(async (_url: string) => Response.json({ error: 'too many pages are open' }, { status: 503 }));
    vi.stubGlobal('fetch', asked);
    openLine('live', ['beat'], {
      event: () => undefined,
      state: (to: string, at: number | null, why: string | null) => states.push([to, at !== null, why]),
    });
    Line.all[0].end(CONNECTING);
    await vi.advanceTimersByTimeAsync(0);
    expect(asked).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2_000);
    Line.all[1].end(CLOSED);
    await vi.advanceTimersByTimeAsync(0);
    expect(asked.mock.calls.map(([url]) => url)).toEqual(['live']);
    await vi.advanceTimersByTimeAsync(4_000);
    Line.all[2].dispatchEvent(new MessageEvent('beat', { data: '{}' }));
    expect(states).toEqual([
      ['connecting', false, null],
      ['lost', true, null],
      ['lost', false, null],
      ['lost', true, null],
      ['lost', true, 'too many pages are open'],
      ['lost', false, 'too many pages are open'],
      ['live', false, null],
    ]);
  });
});
