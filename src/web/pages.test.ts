/** What the pages ask, show and say, apart from a browser. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { FakeElement } from '../../test/fake-element.ts';

// The pages' modules are plain JavaScript for browsers.
const { book } = await import(new URL('./page/ask.js', import.meta.url).href);
const { decimalsOf } = await import(new URL('./page/links.js', import.meta.url).href);
const { renderDay } = await import(new URL('./page/day.js', import.meta.url).href);
const { say } = await import(new URL('./page/elements.js', import.meta.url).href);
const { niceTop } = await import(new URL('./page/chart.js', import.meta.url).href);
const { compact } = await import(new URL('./page/format.js', import.meta.url).href);
const { blockPage, nextOf } = await import(new URL('./page/block-page.js', import.meta.url).href);
const { chartsPage } = await import(new URL('./page/charts-page.js', import.meta.url).href);
const { pipelinePage } = await import(new URL('./page/pipeline-page.js', import.meta.url).href);
const { summaryOf } = await import(new URL('./page/sql-page.js', import.meta.url).href);
const { transactionPage } = await import(new URL('./page/transaction-page.js', import.meta.url).href);
const { jettonPage } = await import(new URL('./page/jetton-page.js', import.meta.url).href);
const { pagedTable, refusal } = await import(new URL('./page/layout.js', import.meta.url).href);
const { failureOf, operationOf } = await import(new URL('./page/trace-graph.js', import.meta.url).href);

describe('a transaction', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('is shown where its trace is too large for an answer', async () => {
    const make = (_: string, tag?: string) => new FakeElement(tag ?? _);
    vi.stubGlobal('document', { createElement: make, createElementNS: make });
    const hash = Buffer.alloc(32, 1).toString('base64');
    const block_ref = { workchain: 0, shard: '8000000000000000', seqno: 1 };
    const transaction = {
      hash,
      account: '0:A',
      now: 1,
      lt: '1',
      block_ref,
      total_fees: '5',
      in_msg: null,
      out_msgs: [],
    };
    const trace = { is_incomplete: true, warning: 'trace is too large', trace_info: { transactions: 5_000 } };
    vi.stubGlobal('fetch', async (url: string) =>
      Response.json(url.includes('/traces') ? { traces: [trace] } : { transactions: [transaction] }),
    );
    const { title, sections } = await transactionPage(hash);
    expect(title).toBe(`Transaction ${hash}`);
    const notes = sections
      .flatMap((section: FakeElement) => section.all('p'))
      .map((note: FakeElement) => note.children);
    expect(notes).toContainEqual(['Its trace of 5,000 transactions is not shown: trace is too large.']);
  });
});

describe('the pipeline', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('is shown while the tables are empty', async () => {
    vi.stubGlobal('document', { createElement: (tag: string) => new FakeElement(tag) });
    vi.stubGlobal('fetch', async (url: string) => {
      if (url.endsWith('metrics')) return new Response('tonstream_gaps 0\n');
      if (!url.endsWith('status')) return Response.json({ error: 'no masterchain block is indexed' }, { status: 500 });
      return Response.json({ log: { mc_seqno: 12 }, projected: { mc_seqno: null }, lag_steps: 12, gaps: [] });
    });
    const { sections } = await pipelinePage();
    const [, stages]: FakeElement[] = sections;
    const cells = stages.all('td').map(({ textContent }) => textContent);
    expect(cells).toEqual(['12', '', '–', 'none', '12 steps', '–', 'none', '0 steps', '–']);
    const [newest] = stages.all('p').filter(({ children }) => children.length > 0);
    expect(newest.children).toEqual(['No block is shown: no masterchain block is indexed']);
  });

  it('says once that the service does not answer, and tells the age of what it shows on and on', async () => {
    vi.useFakeTimers();
    const about = { after: vi.fn((notice: FakeElement) => Object.assign(notice, { isConnected: true })) };
    const make = (tag: string) => new FakeElement(tag);
    const makers = { createElement: make, createElementNS: (_: string, tag: string) => make(tag) };
    vi.stubGlobal('document', { ...makers, hidden: false, querySelector: () => about });
    const last = { workchain: -1, shard: '8000000000000000', seqno: 12, gen_utime: String(Date.now() / 1_000 - 3) };
    let answered = async (url: string) => {
      if (url.endsWith('metrics')) return new Response('tonstream_gaps 0\n');
      if (!url.endsWith('status')) return Response.json({ last });
      return Response.json({ log: { mc_seqno: 12 }, projected: { mc_seqno: 12 }, lag_steps: 0, gaps: [] });
    };
    vi.stubGlobal('fetch', (url: string) => answered(url));
    const { sections, begin } = await pipelinePage();
    begin();
    const [, stages]: FakeElement[] = sections;
    const aged = () => stages.all('span').at(-1)?.textContent;
    expect(aged()).toBe('3 s old');
    answered = () => new Promise((_, reject) => setTimeout(reject, 9_000, new TypeError('Failed to fetch')));
    await vi.advanceTimersByTimeAsync(7_500);
    expect(aged()).toBe('10 s old');
    const said = () => about.after.mock.calls.map(([{ textContent }]) => textContent);
    expect(said()).toEqual(['The service has not answered yet. What you see is older; trying again.']);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(said()).toHaveLength(1);
    vi.useRealTimers();
  });
});

describe('an answer of SQL', () => {
  it('is summed up with what of it is shown', () => {
    const told = (rows: number, truncated: boolean) =>
      summaryOf({ rows: Array(rows).fill([]), truncated, rows_read: '1234', elapsed_ms: 5, mc_seqno: 7 });
    const rest = ', 1,234 read in 5 ms, as of masterchain block 7';
    expect(told(1, false)).toBe(`1 row${rest}`);
    expect(told(501, false)).toBe(`501 rows, the first 500 shown${rest}`);
    expect(told(10_000, true)).toBe(`10,000 rows, cut: add LIMIT or take the file, the first 500 shown${rest}`);
  });
});

describe('a list that is longer than its first page', () => {
  afterEach(() => vi.unstubAllGlobals());

  it.each([
    [0, 0],
    [2, 0],
    [3, 1],
    [4, 1],
    [6, 2],
    [7, 2],
  ])('of %i has all its rows after %i clicks', async (total, clicks) => {
    vi.stubGlobal('document', { createElement: (tag: string) => new FakeElement(tag) });
    const limit = 3;
    const from = async (offset: number) => [...Array(total).keys()].slice(offset, offset + limit);
    const rowsOf = (numbers: number[]) => numbers.map((number) => [String(number)]);
    const shown: FakeElement = pagedTable('Numbers', ['Number'], {
      first: await from(0),
      limit,
      page: from,
      rowsOf,
    });
    for (let click = 0; click < clicks; click++) {
      shown.all('button')[0].click();
      await new Promise(setImmediate);
    }
    expect(shown.all('td').map(({ children }) => children[0])).toEqual([...Array(total).keys()].map(String));
    expect(shown.all('button')).toEqual([]);
  });
});

describe('the block behind another', () => {
  afterEach(() => vi.unstubAllGlobals());

  interface Placed {
    shard: string;
    seqno: number;
    prev_blocks: { workchain: number; shard: string; seqno: number }[];
    before_split: boolean;
  }
  const [whole, left, right] = ['8', '4', 'c'].map((digit) => digit.padEnd(16, '0'));
  /** @param before of the former blocks, as `shard:seqno` */
  const block = (shard: string, seqno: number, before: [string, number][], isSplit = false) => ({
    workchain: 0,
    shard,
    seqno,
    gen_utime: String(1_000 + seqno),
    start_lt: String(seqno * 10),
    end_lt: String(seqno * 10 + 5),
    before_split: isSplit,
    prev_blocks: before.map(([of, number]) => ({ workchain: 0, shard: of, seqno: number })),
  });
  // One shard that splits behind 8 and is one again with 12, though its left half ended sooner than the right one.
  const chain = [
    block(whole, 7, [[whole, 6]]),
    block(whole, 8, [[whole, 7]], true),
    block(left, 9, [[whole, 8]]),
    block(right, 9, [[whole, 8]]),
    block(left, 10, [[left, 9]]),
    block(right, 10, [[right, 9]]),
    block(right, 11, [[right, 10]]),
    block(whole, 12, [
      [left, 10],
      [right, 11],
    ]),
  ];

  /** As the API answers. */
  function serve(blocks: Placed[]) {
    vi.stubGlobal('fetch', async (url: string) => {
      const asked = new URL(url, 'http://page').searchParams;
      const has = (name: string, value: unknown) => !asked.has(name) || asked.get(name) === String(value);
      const from = (name: string, value: unknown) => Number(value) >= Number(asked.get(name) ?? 0);
      const found = chain.filter(
        (one) =>
          blocks.includes(one) &&
          has('workchain', one.workchain) &&
          has('shard', one.shard) &&
          has('seqno', one.seqno) &&
          from('start_utime', one.gen_utime) &&
          from('start_lt', one.start_lt),
      );
      return Response.json({ blocks: found.slice(0, Number(asked.get('limit') ?? 100)) });
    });
  }

  it.each([
    ['in the same shard', 0, [[whole, 8]]],
    [
      'in both halves of one that splits',
      1,
      [
        [left, 9],
        [right, 9],
      ],
    ],
    ['in a half', 2, [[left, 10]]],
    ['in the shard that both halves became', 4, [[whole, 12]]],
    ['in that shard for the other half, too', 6, [[whole, 12]]],
    ['none at the end', 7, []],
  ])('is %s', async (_where, at, behind) => {
    serve(chain);
    const found: Placed[] = await nextOf(chain[at]);
    expect(found.map(({ shard, seqno }) => [shard, seqno])).toEqual(behind);
  });

  it('is not one of a later time where blocks are missing', async () => {
    serve(chain.filter((one) => one.seqno !== 9 && one.seqno !== 12));
    expect([await nextOf(chain[1]), await nextOf(chain[4])]).toEqual([[], []]);
    serve([chain[3], chain[7]]);
    expect(await nextOf(chain[2])).toEqual([]);
  });
});

describe('the page of a jetton', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('shows of very long texts of its master the beginning and the end', async () => {
    const make = (_: string, tag?: string) => new FakeElement(tag ?? _);
    vi.stubGlobal('document', { createElement: make, createElementNS: make });
    const long = 'x'.repeat(100_000);
    const token = { type: 'jetton_masters', name: long, symbol: long, description: long, extra: { decimals: '9' } };
    const answers: Record<string, object> = {
      masters: {
        jetton_masters: [{ address: '0:LONG', total_supply: '5', mintable: false, admin_address: null }],
        metadata: { '0:LONG': { is_indexed: true, token_info: [token] } },
      },
      wallets: { jetton_wallets: [] },
      transfers: { jetton_transfers: [] },
      jettons: { points: [], resolution: 'hour' },
    };
    vi.stubGlobal('fetch', async (url: string) =>
      Response.json(answers[new URL(url, 'http://page').pathname.split('/').at(-1) ?? '']),
    );
    const { title, sections } = await jettonPage('0:LONG');
    expect(title).toMatch(/^x+…x+ · jetton$/);
    expect(title.length).toBeLessThan(80);
    const texts = sections
      .flatMap((section: FakeElement) => section.all('bdi'))
      .map(({ children }: FakeElement) => children[0]);
    expect(texts).toHaveLength(3);
    for (const text of texts) {
      expect(text).toMatch(/^x+…x+$/);
      expect(text.length).toBeLessThan(5_000);
    }
    book.metadata.delete('0:LONG');
  });
});

describe('the page of charts', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('shows the others where some cannot be told', async () => {
    const make = (_: string, tag?: string) => new FakeElement(tag ?? _);
    vi.stubGlobal('document', { createElement: make, createElementNS: make });
    const slow = new Set(['counters', 'fees', 'opcodes']);
    vi.stubGlobal('fetch', async (url: string) => {
      const name = new URL(url, 'http://page').pathname.split('/').at(-1) ?? '';
      if (slow.has(name)) return Response.json({ error: `${name} took too long` }, { status: 500 });
      return Response.json({ unit: 'units', points: [], mc_seqno: 7 });
    });
    const { title, sections } = await chartsPage('day');
    expect(title).toBe('Charts by day');
    const notices = sections
      .flatMap((section: FakeElement) => section.all('p'))
      .map(({ children }: FakeElement) => children[0])
      .filter((text: unknown) => String(text).includes('took too long'));
    expect(notices).toEqual(['fees took too long', 'opcodes took too long']);
    expect(sections.flatMap((section: FakeElement) => section.all('section'))).toHaveLength(13);
  });
});

it('takes half an address of a block for no masterchain block', async () => {
  await expect(blockPage('1,2')).rejects.toThrow('A block is named by workchain,shard,seqno');
});

describe('figures of a chart', () => {
  it.each([
    [0, '0', 1],
    [0.000352, '0.00035', 0.0005],
    [0.02, '0.02', 0.02],
    [0.0412, '0.041', 0.05],
    [0.354992143, '0.35', 0.5],
    [1, '1', 1],
    [1.26, '1.3', 2],
    [12, '12', 20],
    [1_234, '1.2K', 2_000],
  ])('%d is written %s, below a top of %d', (value, written, top) => {
    expect([compact(value), niceTop(value)]).toEqual([written, top]);
  });
});

describe('decimals of a jetton', () => {
  const decimals = (...told: object[]): number => {
    book.metadata.set('0:A', { is_indexed: true, token_info: told });
    return decimalsOf('0:A');
  };

  it('are a number from 0 to 255 in digits, 9 without one (TEP-64)', () => {
    for (const [written, read] of [
      ['6', 6],
      [6, 6],
      ['0', 0],
      ['255', 255],
      [undefined, 9],
      [null, 9],
      ['', 9],
      ['six', 9],
      ['-1', 9],
      ['1e2', 9],
      ['0x10', 9],
      ['256', 9],
      [2.5, 9],
      [true, 9],
    ]) {
      expect([written, decimals({ type: 'jetton_masters', extra: { decimals: written } })]).toEqual([written, read]);
    }
    expect(decimalsOf('0:UNKNOWN')).toBe(9);
  });

  it('are those of the master where its document is not there, or the account is something else, too', () => {
    const master = { valid: false, type: 'jetton_masters', extra: { decimals: '6' } };
    expect(decimals(master)).toBe(6);
    expect(decimals({ valid: true, type: 'nft_items', name: 'An item', extra: { decimals: '2' } }, master)).toBe(6);
  });
});

it('what a screen reader is told once more is another text', () => {
  const place = new FakeElement('p');
  vi.stubGlobal('document', { getElementById: () => place });
  const told = ['Copied', 'Copied', 'Copied', 'Lost'].map((words) => {
    say(words);
    return place.textContent;
  });
  expect(told).toEqual(['Copied', 'Copied\u00a0', 'Copied', 'Lost']);
  vi.unstubAllGlobals();
});

it('the hours are asked for again soon where they could not be told', async () => {
  vi.useFakeTimers();
  const place = Object.assign(new FakeElement('div'), { contains: () => false });
  vi.stubGlobal('document', { createElement: (tag: string) => new FakeElement(tag), getElementById: () => place });
  const asked = vi.fn(async () => Response.json({ error: 'no answer' }, { status: 500 }));
  vi.stubGlobal('fetch', asked);
  await renderDay();
  await renderDay();
  expect(asked).toHaveBeenCalledTimes(1);
  vi.setSystemTime(Date.now() + 5_001);
  await renderDay();
  expect(asked).toHaveBeenCalledTimes(2);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('a page that is not shown', () => {
  afterEach(() => vi.unstubAllGlobals());

  it.each([
    [0, 1],
    [404, 0],
    [422, 0],
    [429, 1],
    [500, 1],
    [503, 1],
  ])('after status %i offers to ask again %i times', (status, times) => {
    const reload = vi.fn();
    vi.stubGlobal('document', { createElement: (tag: string) => new FakeElement(tag) });
    vi.stubGlobal('location', { reload });
    const notice: FakeElement = refusal({ status }, ['No connection.']);
    expect(notice.children[0]).toBe('No connection.');
    for (const button of notice.all('button')) button.click();
    expect(reload).toHaveBeenCalledTimes(times);
  });
});

describe('what went wrong', () => {
  it.each([
    [{ aborted: false, compute_ph: { exit_code: 0 } }, null],
    [{ aborted: false, compute_ph: { exit_code: 1 } }, null],
    [{ aborted: true, compute_ph: { exit_code: 333 } }, 'exit code 333'],
    [{ aborted: true, compute_ph: { exit_code: -14 } }, 'exit code -14'],
    [{ aborted: true, compute_ph: { skipped: true, reason: 'no_gas' } }, 'no_gas'],
    [{ aborted: true, compute_ph: { exit_code: 0 }, action: { result_code: 37 } }, 'action 37'],
    // An account without code runs nothing: it has the value, unless that goes back.
    [{ aborted: true, compute_ph: { skipped: true, reason: 'no_state' } }, null],
    [{ aborted: true, compute_ph: { skipped: true, reason: 'no_state' }, bounce: { type: 'ok' } }, 'no_state'],
    // 1 is success as 0 is: what failed is the action phase.
    [{ aborted: true, compute_ph: { exit_code: 1 }, action: { result_code: 37 } }, 'action 37'],
  ])('%j', (description, failure) => {
    expect(failureOf({ description })).toBe(failure);
  });
});

describe('what was asked for', () => {
  const sent = { source: '0:A', destination: '0:B', bounced: false, opcode: null, message_content: { decoded: null } };
  it.each([
    [sent, 'transfer'],
    [{ ...sent, opcode: '0x66000001' }, '0x66000001'],
    [{ ...sent, opcode: '0x00000000', message_content: { decoded: { type: 'text_comment' } } }, 'comment'],
    [{ ...sent, bounced: true }, 'bounce'],
    [{ ...sent, destination: null }, 'log'],
    // What comes from outside mostly begins with a signature.
    [{ ...sent, source: null, opcode: '0x7d2e9a6b' }, 'external'],
    [
      { ...sent, source: null, message_content: { decoded: { type: 'w5_external_signed_request' } } },
      'w5_external_signed_request',
    ],
  ])('by %j', (message, operation) => {
    expect(operationOf({ in_msg: message, description: {} })).toBe(operation);
  });
});
