/** Questions of a page to the API, apart from a browser. */
import { afterEach, describe, expect, it, vi } from 'vitest';

// The pages' modules are plain JavaScript for browsers.
const { ask, book } = await import(new URL('./page/ask.js', import.meta.url).href);

describe('the limit of a list', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('is what the service gives at once, as its page says', async () => {
    vi.stubGlobal('document', { querySelector: () => ({ content: '10' }) });
    vi.resetModules();
    const { atMost } = await import(new URL('./page/ask.js', import.meta.url).href);
    expect([atMost(100), atMost(5)]).toEqual([10, 5]);
  });
});

describe('names of accounts', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('are kept of those mentioned last, however long a page stands open', async () => {
    let asked = 0;
    vi.stubGlobal('fetch', async () => {
      const first = asked++ * 1_000;
      const rows = Array.from({ length: 1_000 }, (_, at) => [`0:${first + at}`, { domain: String(first + at) }]);
      const told = Object.fromEntries([['0:always', { domain: 'always' }], ...rows]);
      return Response.json({ address_book: told, metadata: told });
    });
    for (let n = 0; n < 30; n++) await ask('actions');
    for (const known of [book.rows, book.metadata]) {
      expect(known.size).toBe(20_000);
      expect([known.get('0:always')?.domain, known.get('0:29999')?.domain, known.has('0:0')]).toEqual([
        'always',
        '29999',
        false,
      ]);
    }
  });
});

describe('a question that is refused for now', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  /** How many times it is asked within a time, and what comes of it. @param refusals status and Retry-After */
  async function asked(refusals: readonly (readonly [number, string | null])[], withinMs: number) {
    vi.useFakeTimers();
    let times = 0;
    vi.stubGlobal('fetch', async () => {
      const refusal = refusals[times++];
      if (refusal === undefined) return Response.json({ rows: 1 });
      const [status, after] = refusal;
      return Response.json({ error: 'not now' }, { status, headers: after === null ? {} : { 'retry-after': after } });
    });
    const outcome = ask('actions').catch((error: Error) => error.message);
    await vi.advanceTimersByTimeAsync(withinMs);
    return { times, outcome: await Promise.race([outcome, 'waits']) };
  }

  it('is asked again when the service says, a few times', async () => {
    const busy = [429, '2'] as const;
    expect(await asked([busy], 1_900)).toEqual({ times: 1, outcome: 'waits' });
    expect(await asked([busy, [503, null]], 4_000)).toEqual({ times: 3, outcome: { rows: 1 } });
    expect(await asked(Array(9).fill(busy), 60_000)).toEqual({ times: 4, outcome: 'not now' });
  });

  it('is told in words where what answers is no JSON', async () => {
    vi.stubGlobal('fetch', async () => new Response('<html>'));
    await expect(ask('actions')).rejects.toThrow('The answer is cut off, or not of this service.');
  });

  it('is told apart from one that is not answered to the end in time', async () => {
    const late = new DOMException('timed out', 'TimeoutError');
    vi.stubGlobal('fetch', async () => new Response(new ReadableStream({ pull: (part) => part.error(late) })));
    await expect(ask('actions')).rejects.toThrow('The service did not answer in time.');
  });

  it('is not where that would be long, or the refusal is final', async () => {
    for (const refusal of [
      [429, '3600'],
      [422, '1'],
      [500, null],
    ] as const) {
      expect(await asked([refusal], 0)).toEqual({ times: 1, outcome: 'not now' });
    }
  });
});
