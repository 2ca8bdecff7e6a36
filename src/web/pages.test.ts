/** What the pages draw and say, apart from a browser: over every recorded trace and its recorded actions. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { shelf } from '../../test/shelf.ts';
import { traceFixtures } from '../../test/trace-fixtures.ts';
import type { Trace } from '../chain/actions/trace.ts';

// The pages' modules are plain JavaScript for browsers.
const { layOut } = await import(new URL('./page/trace-layout.js', import.meta.url).href);
const { tell } = await import(new URL('./page/words.js', import.meta.url).href);
const { ask, book } = await import(new URL('./page/ask.js', import.meta.url).href);
const { actionWords, decimalsOf } = await import(new URL('./page/links.js', import.meta.url).href);
const { niceTop } = await import(new URL('./page/chart.js', import.meta.url).href);
const { compact, exactAmount, exactTons, tons } = await import(new URL('./page/format.js', import.meta.url).href);
const { nextOf } = await import(new URL('./page/block-page.js', import.meta.url).href);
const { pipelinePage } = await import(new URL('./page/pipeline-page.js', import.meta.url).href);
const { summaryOf } = await import(new URL('./page/sql-page.js', import.meta.url).href);
const { find } = await import(new URL('./page/search.js', import.meta.url).href);
const { transactionPage } = await import(new URL('./page/transaction-page.js', import.meta.url).href);
const { pagedTable } = await import(new URL('./page/layout.js', import.meta.url).href);
const { failureOf, operationOf } = await import(new URL('./page/trace-graph.js', import.meta.url).href);

interface Branch {
  tx_hash: string;
  children: Branch[];
}
interface Drawn {
  nodes: { hash: string; column: number; row: number; folded: number; parent: number | null }[];
  columns: number;
  rows: number;
}

const leaf = (hash: string): Branch => ({ tx_hash: hash, children: [] });
const apart = (hash: string): string => hash;

/** That no two boxes overlap, and that children stand to the right of their parent, in order. */
function expectReadable({ nodes, columns, rows }: Drawn): void {
  const columnsOf = new Map<number, number[]>();
  for (const { column, row, parent } of nodes) {
    expect(column).toBeLessThan(columns);
    expect(row).toBeGreaterThanOrEqual(0);
    expect(row).toBeLessThanOrEqual(rows - 1);
    if (parent !== null) expect(column).toBe(nodes[parent].column + 1);
    columnsOf.set(column, [...(columnsOf.get(column) ?? []), row]);
  }
  for (const held of columnsOf.values()) {
    held.forEach((row, index) => {
      if (index > 0) expect(row - held[index - 1]).toBeGreaterThanOrEqual(1);
    });
  }
}

describe('trace graph', () => {
  it('puts a parent in the middle of its children', () => {
    const { nodes, columns, rows } = layOut({ tx_hash: 'root', children: [leaf('a'), leaf('b'), leaf('c')] }, apart);
    expect([columns, rows]).toEqual([2, 3]);
    expect(nodes.map(({ hash, column, row, parent }: Drawn['nodes'][0]) => [hash, column, row, parent])).toEqual([
      ['root', 0, 1, null],
      ['a', 1, 0, 0],
      ['b', 1, 1, 0],
      ['c', 1, 2, 0],
    ]);
  });

  it('folds equal leaves of a large trace, and none of a small one', () => {
    const many = (count: number): Branch => ({
      tx_hash: 'root',
      children: Array.from({ length: count }, (_, at) => leaf(String(at))),
    });
    const alike = (hash: string) => (hash === '3' ? 'other' : 'same');
    const { nodes } = layOut(many(1_000), alike);
    expect(nodes.map(({ folded }: Drawn['nodes'][0]) => folded)).toEqual([1, 999, 1]);
    expect(layOut(many(150), alike).nodes).toHaveLength(151);
  });

  it('draws a chain of thousands of transactions', () => {
    let chain = leaf('last');
    for (let depth = 0; depth < 3_999; depth++) chain = { tx_hash: String(depth), children: [chain] };
    const drawn = layOut(chain, apart);
    expect([drawn.columns, drawn.rows]).toEqual([4_000, 1]);
  });
});

describe.skipIf(shelf === null)('recorded traces', () => {
  const fixtures = shelf === null ? [] : traceFixtures();

  it('are drawn with every transaction once, none over another', () => {
    for (const { trace } of fixtures) {
      const root = treeOf(trace);
      const drawn: Drawn = layOut(root, apart);
      expect(drawn.nodes.map(({ hash }) => hash).sort()).toEqual(trace.transactions.map(({ hash }) => hash).sort());
      expectReadable(drawn);
    }
  });

  it('have actions that can be told, with accounts and amounts as recorded', () => {
    for (const { name, expected } of fixtures) {
      for (const action of expected) {
        const parts: (string | { kind: string; value: string })[] = tell(action);
        expect(parts.length, `${name} ${action.type}`).toBeGreaterThan(0);
        expect(parts, action.type).not.toContain('an unknown account');
        expect(parts, action.type).not.toContain('an unknown amount');
        for (const part of parts) {
          if (typeof part === 'string') expect(part).not.toMatch(/undefined|null|[{}[\]]/);
          else if (part.kind === 'tons' || part.kind === 'tokens') expect(part.value).toMatch(/^-?\d+$/);
        }
      }
    }
  });
});

/** Transactions by who sent the message that each received. */
function treeOf({ transactions }: Trace): Branch {
  const branches = new Map(transactions.map(({ hash }) => [hash, leaf(hash)]));
  const senders = new Map(transactions.flatMap(({ hash, outMsgs }) => outMsgs.map((sent) => [sent.hash, hash])));
  const roots = transactions.filter(({ hash, inMsg }) => {
    const sender = branches.get(senders.get(inMsg?.hash ?? '') ?? '');
    const branch = branches.get(hash);
    if (branch !== undefined) sender?.children.push(branch);
    return sender === undefined;
  });
  expect(roots).toHaveLength(1);
  return branches.get(roots[0].hash) as Branch;
}

describe('words', () => {
  const account = (value: string) => ({ kind: 'account', value });

  it('name who did what', () => {
    const details = { source: '0:A', destination: '0:B', value: '5000000000', comment: null };
    expect(tell({ type: 'ton_transfer', details })).toEqual([
      account('0:A'),
      ' sent ',
      { kind: 'tons', value: '5000000000' },
      ' to ',
      account('0:B'),
    ]);
    const commented = tell({ type: 'ton_transfer', details: { ...details, comment: 'rent [May] {2}' } });
    expect(commented.slice(5)).toEqual([': “', { kind: 'text', value: 'rent [May] {2}' }, '”']);
  });

  it('tell of a stake in a jetton in that jetton', () => {
    const details = { stake_holder: '0:A', pool: '0:B', amount: '7000000' };
    const staked = (source_asset: string | null) =>
      tell({ type: 'stake_deposit', details: { ...details, source_asset } })[2];
    expect(staked('0:C')).toEqual({ kind: 'tokens', value: '7000000', asset: '0:C' });
    expect(staked(null)).toEqual({ kind: 'tokens', value: '7000000', asset: null });
  });

  it('name the seller of an item, not the contract that sold it', () => {
    const details = { nft_item: '0:A', old_owner: '0:SALE', real_old_owner: '0:B', new_owner: '0:C', price: '5' };
    const bought = [
      account('0:C'),
      ' bought ',
      { kind: 'item', value: '0:A' },
      ' from ',
      account('0:B'),
      ' for ',
      { kind: 'tons', value: '5' },
    ];
    expect(tell({ type: 'nft_purchase', details })).toEqual(bought);
    // A sale whose payout was not found.
    expect(tell({ type: 'nft_transfer', details: { ...details, is_purchase: true } })).toEqual(bought);
    expect(tell({ type: 'nft_transfer', details: { ...details, is_purchase: false } })[1]).toBe(' gave ');
  });

  it('tell what came back of a swap that failed in what it came back in', () => {
    const side = (asset: string | null, amount: string) => ({ asset, amount });
    const amounts = (asset_out: string | null, outgoing: object) =>
      tell({
        type: 'jetton_swap',
        details: {
          sender: '0:A',
          asset_in: '0:B',
          asset_out,
          dex_incoming_transfer: side('0:B', '7000000'),
          dex_outgoing_transfer: outgoing,
          dex: 'stonfi',
        },
      }).filter((part: string | { kind: string }) => typeof part !== 'string' && part.kind === 'tokens');
    const given = { kind: 'tokens', value: '7000000', asset: '0:B' };
    expect(amounts('0:C', side('0:B', '6000000'))).toEqual([given, { kind: 'tokens', value: '6000000', asset: '0:B' }]);
    expect(amounts(null, side(null, '5'))).toEqual([given, { kind: 'tokens', value: '5', asset: null }]);
  });

  it('do not show an encrypted comment as if it could be read', () => {
    const sent = { source: '0:A', destination: '0:B', value: '5', comment: 'c2VjcmV0' };
    const moved = { sender: '0:A', receiver: '0:B', amount: '5', asset: '0:C', comment: 'c2VjcmV0' };
    for (const action of [
      { type: 'ton_transfer', details: { ...sent, encrypted: true } },
      { type: 'jetton_transfer', details: { ...moved, is_encrypted_comment: true } },
    ]) {
      const parts = tell(action);
      expect(parts.slice(-2)).toEqual([account('0:B'), ', with an encrypted comment']);
    }
  });

  it('tell of what bounced as of no call', () => {
    const details = { source: '0:A', destination: '0:B', value: '5', opcode: '0xffffffff' };
    expect(tell({ type: 'call_contract', details })).toEqual([
      account('0:A'),
      ' bounced ',
      { kind: 'tons', value: '5' },
      ' to ',
      account('0:B'),
    ]);
  });

  it('tell types without a phrase by their name', () => {
    expect(tell({ type: 'evaa_supply', details: { source: '0:A' } })).toEqual([
      'evaa supply',
      ' source ',
      account('0:A'),
    ]);
    expect(tell({ type: 'constructor', details: null })).toEqual(['constructor']);
  });
});

/** As much of an element as lists need. */
class FakeElement {
  textContent = '';
  readonly children: (FakeElement | string)[] = [];
  private readonly listeners = new Map<string, () => void>();
  private parent: FakeElement | null = null;
  constructor(readonly tag: string) {}
  setAttribute() {}
  append(...children: (FakeElement | string)[]) {
    for (const child of children) if (child instanceof FakeElement) child.parent = this;
    this.children.push(...children);
  }
  replaceChildren(...children: (FakeElement | string)[]) {
    this.children.length = 0;
    this.append(...children);
  }
  remove() {
    const { children = [] } = this.parent ?? {};
    children.splice(children.indexOf(this), 1);
  }
  addEventListener(name: string, listener: () => void) {
    this.listeners.set(name, listener);
  }
  click() {
    this.listeners.get('click')?.();
  }
  all(tag: string): FakeElement[] {
    const inside = this.children.flatMap((child) => (child instanceof FakeElement ? child.all(tag) : []));
    return this.tag === tag ? [this, ...inside] : inside;
  }
  querySelector(tag: string) {
    return this.all(tag)[0] ?? null;
  }
}

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

describe('amounts', () => {
  it('have all their digits, and a sign: a stake that does not cover its fee is below zero', () => {
    for (const [amount, exact, shown] of [
      ['0', '0', '0'],
      ['1', '0.000000001', '<0.0001'],
      ['12500000000', '12.5', '12.5'],
      ['1234567890123456789', '1,234,567,890.123456789', '1,234,567,890.1234'],
      ['-1', '-0.000000001', '-0.000000001'],
      ['-500000000', '-0.5', '-0.5'],
      ['-1500000000', '-1.5', '-1.5'],
    ]) {
      expect([amount, exactTons(amount), tons(amount, 4)]).toEqual([amount, exact, shown]);
    }
    expect([exactAmount('1500', 0), exactAmount('-1500', 3), exactAmount('5', 255).length]).toEqual([
      '1,500',
      '-1.5',
      257,
    ]);
  });
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

describe('names and comments that are very long', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('are cut in a line of what was done', () => {
    vi.stubGlobal('document', { createElement: (tag: string) => new FakeElement(tag) });
    const long = 'x'.repeat(100_000);
    const metadata = { type: 'jetton_masters', name: long, symbol: long, extra: { decimals: '9' } };
    book.metadata.set('0:LONG', { is_indexed: true, token_info: [metadata] });
    for (const action of [
      { type: 'jetton_burn', details: { owner: '0:A', amount: '5', asset: '0:LONG' } },
      { type: 'nft_mint', details: { owner: '0:A', nft_item: '0:LONG' } },
      { type: 'ton_transfer', details: { source: '0:A', destination: '0:B', value: '5', comment: long } },
    ]) {
      const shown = new FakeElement('li');
      shown.append(...actionWords(action));
      const [named] = shown.all('bdi').map(({ children }) => String(children[0]));
      expect(named).toMatch(/^x+…x+$/);
      expect(named.length).toBeLessThan(400);
    }
  });
});

describe('the limit of a list', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('is what the service gives at once, as its page says', async () => {
    vi.stubGlobal('document', { querySelector: () => ({ content: '10' }) });
    vi.resetModules();
    const { atMost } = await import(new URL('./page/ask.js', import.meta.url).href);
    expect([atMost(100), atMost(5)]).toEqual([10, 5]);
  });
});

describe('the search', () => {
  afterEach(() => vi.unstubAllGlobals());

  it.each([
    ['7', '7'],
    ['(-1,8000000000000000,3)', '-1,8000000000000000,3'],
    ['0:6000000000000000:20', '0,6000000000000000,20'],
    // As lists print it.
    ['0:8:20', '0,8000000000000000,20'],
    ['0:2C:20', '0,2C00000000000000,20'],
  ])('takes %s for a block', async (sought, block) => {
    expect(await find(sought)).toBe(`block/${block}`);
  });

  it('finds a block by the hashes that its page shows', async () => {
    const [root, file] = ['ab', 'cd'].map((byte) => byte.repeat(32));
    vi.stubGlobal('fetch', async (url: string) => {
      const { searchParams: asked, pathname } = new URL(url, 'http://page');
      const isBlock = asked.get('root_hash') === root || asked.get('file_hash') === file;
      const blocks = isBlock ? [{ workchain: 0, shard: '8000000000000000', seqno: 7 }] : [];
      return Response.json({
        transactions: [],
        traces: [],
        accounts: [],
        ...(pathname.endsWith('blocks') && { blocks }),
      });
    });
    for (const sought of [root, Buffer.from(root, 'hex').toString('base64'), file.toUpperCase()]) {
      expect(await find(sought)).toBe('block/0,8000000000000000,7');
    }
    await expect(find('ef'.repeat(32))).rejects.toThrow('Nothing has this hash.');
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
