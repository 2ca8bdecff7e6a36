/** The page at `/` in a real browser: over the whole stack, and over chains made up to be hostile, empty or broken. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { StatisticsQueries } from '../clickhouse/queries/statistics.ts';
import { statsApi } from '../src/api/stats/api.ts';
import { createWeb, type Web, type WebLimits } from '../src/web/web.ts';
import { describeAccountPage } from './account-page.ts';
import { transactionsWanted } from './api/contract.ts';
import { base64, type Network, readSequenceFacts, sequencePath } from './api/network.ts';
import { type ApiServer, serveApi } from './api-server.ts';
import { browserProgram, openBrowser, type Visit, visit } from './browser.ts';
import { cutSequence } from './cut-sequence.ts';
import { createFakeSource } from './fake-source.ts';
import { commentBody, madeBlock, madeHash, madeHead, madeMessage, madeTransaction } from './made-chain.ts';
import { shelf } from './shelf.ts';
import { type Stack, startStack, temporaryFolder } from './stack.ts';

const HOURS: StatisticsQueries = {
  chain: async () => ({
    mcSeqno: 50,
    time: 10_000,
    points: [
      { from: 3_600, isOpen: false, value: '40' },
      { from: 7_200, isOpen: true, value: '2' },
    ],
  }),
  subjects: async () => null,
  totals: async () => null,
};
const PATIENCE = { timeout: 180_000, interval: 50 };

const hours = z.object({ points: z.array(z.object({ from: z.number(), value: z.number() })) });

let browser: Browser;
let opened: Visit | null = null;
beforeAll(async () => {
  if (browserProgram !== null) browser = await openBrowser();
});
afterAll(() => browser?.close());
afterEach(async () => {
  await opened?.close();
  opened = null;
});

const open = async (...parts: Parameters<typeof visit> extends [unknown, ...infer Rest] ? Rest : never) => {
  opened = await visit(browser, ...parts);
  return opened;
};

const text = (page: Page, selector: string) => page.locator(selector).textContent();
const hashesOf = (page: Page) =>
  page.locator('#transactions tr').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-key')));
const stepsOf = (page: Page) =>
  page.locator('#steps > li').evaluateAll((rows) => rows.map((row) => Number(row.getAttribute('data-key'))));

describe.skipIf(shelf === null || browserProgram === null)('page over a running stack', () => {
  const SEQUENCE = 'local-ton4j-2024_a';
  const CUT = 88;
  const LAST = 176;
  let folder: ReturnType<typeof temporaryFolder>;
  let stack: Stack | null = null;
  let network: Network;
  let parts: [string, string];

  beforeAll(async () => {
    folder = temporaryFolder();
    network = readSequenceFacts(SEQUENCE);
    parts = cutSequence(sequencePath(SEQUENCE), CUT, folder.path);
    stack = await startStack({ dataDir: folder.path });
  });
  afterAll(async () => {
    try {
      await stack?.remove();
    } finally {
      folder?.remove();
    }
  });

  /** That the page shows the newest steps, blocks and transactions, as other decoders read them. */
  async function expectUpTo(page: Page, mcSeqno: number): Promise<void> {
    await vi.waitFor(async () => expect(await text(page, '#head')).toBe(String(mcSeqno)), PATIENCE);
    const steps = await stepsOf(page);
    expect(steps).toEqual(Array.from({ length: 8 }, (_, index) => mcSeqno - index));
    const blocks = network.blocks.filter((block) => steps.includes(block.mcSeqno));
    expect(await page.locator('.blocks li').count()).toBe(blocks.length);
    const newest = page.locator(`#steps > li[data-key="${mcSeqno}"]`);
    for (const { facts, txCount } of blocks.filter((block) => block.mcSeqno === mcSeqno)) {
      const row = newest.locator(
        `li:has(a[title="${facts.workchain}:${facts.shard.toUpperCase()}, block ${facts.seqno}"])`,
      );
      expect(await row.locator('.tx').textContent()).toBe(`${txCount} tx`);
    }
    const known = transactionsWanted(network, { sort: 'desc' }).filter(({ block }) => block.mcSeqno <= mcSeqno);
    expect(await hashesOf(page)).toEqual(known.slice(0, 20).map(({ facts }) => base64(facts.hash)));
    await vi.waitFor(
      async () => expect(await text(page, '#total')).toBe(known.length.toLocaleString('en-US')),
      PATIENCE,
    );
    await vi.waitFor(async () => expect(await text(page, '#lag')).toBe('0 steps'), PATIENCE);
    expect(await text(page, '#lag-note')).toBe(`log ${mcSeqno} · tables ${mcSeqno}`);
  }

  it('says how to begin, then shows what is imported and what is imported next, without a reload', async () => {
    if (stack === null) throw new Error('no stack');
    const { page, complaints, requests } = await open(`${stack.url}/`);
    await page.locator('#empty').waitFor();
    expect(await text(page, '#empty')).toContain('npx tonstream import <files>');
    expect(await page.locator('#chain').isVisible()).toBe(false);
    await stack.import([parts[0]]);
    await expectUpTo(page, CUT);
    expect(await page.locator('#empty').isVisible()).toBe(false);
    await stack.import([sequencePath(SEQUENCE)]);
    await expectUpTo(page, LAST);
    expect(await text(page, 'dd[data-table="blocks"]')).toBe(String(network.blocks.length));
    expect(await page.title()).toBe(`${LAST} · tonstream`);
    expect(requests.filter((url) => new URL(url).pathname === '/')).toHaveLength(1);
    expect(requests.filter((url) => !url.startsWith(`${stack?.url}/`))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('draws the hours as the statistics tell them', async () => {
    if (stack === null) throw new Error('no stack');
    const { page, complaints } = await open(`${stack.url}/`);
    await page.locator('#day summary').click();
    const told = await page
      .locator('#day td[data-from]')
      .evaluateAll((cells) => cells.map((cell) => [Number(cell.getAttribute('data-from')), Number(cell.textContent)]));
    const { points } = hours.parse(await (await fetch(`${stack.url}/api/stats/transactions`)).json());
    expect(told).toEqual(points.map(({ from, value }) => [from, value]));
    expect(points.some(({ value }) => value > 0)).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('leads to pages and to answers of the API', async () => {
    if (stack === null) throw new Error('no stack');
    const { page } = await open(`${stack.url}/`);
    await page.locator('#transactions tr').first().waitFor();
    const links = await page.locator('a[href]').evaluateAll((found) => found.map((link) => link.getAttribute('href')));
    const wanted = new Set(links.filter((link) => link !== null && !link.startsWith('#')));
    expect(wanted.size).toBeGreaterThan(40);
    for (const link of wanted) {
      const response = await fetch(new URL(String(link), `${stack.url}/`));
      expect(response.status, String(link)).toBe(200);
      const answer = await response.text();
      if (link?.includes('?')) expect(answer, String(link)).not.toMatch(/"(blocks|transactions)":\[\]/);
    }
  });
});

describe.skipIf(browserProgram === null)('page over a made-up chain', () => {
  let server: ApiServer | null = null;
  let web: Web;
  afterEach(async () => {
    if (server !== null) await stop();
  });

  async function stop(): Promise<void> {
    web.close();
    await server?.close();
    server = null;
  }

  const HOSTILE = `<img src=x onerror="alert(1)"><script>document.title='owned'</script>\u202e`;

  interface Made {
    seqno?: number;
    network?: string;
    limits?: Partial<WebLimits>;
    port?: number;
    failing?: () => boolean;
    gaps?: number;
  }

  /** One transaction a step, with a comment that is markup. */
  async function start({
    seqno = 50,
    network = 'none',
    limits = {},
    port = 0,
    failing = () => false,
    gaps = 0,
  }: Made = {}) {
    const head = madeHead(seqno);
    const now = Math.floor(Date.now() / 1_000);
    const numbers = () => Array.from({ length: Math.min(head.seqno, 50) }, (_, index) => head.seqno - index);
    const { source } = createFakeSource({
      async blocks() {
        if (failing()) throw new Error('away');
        const rows = numbers().flatMap((mcSeqno) => [
          madeBlock({ mcSeqno, utime: now - seqno + mcSeqno }),
          madeBlock({ workchain: 0, mcSeqno, utime: now - seqno + mcSeqno, txCount: mcSeqno % 7 }),
        ]);
        return { rows, nextCursor: null };
      },
      async transactions() {
        const inMsg = madeMessage({ opcode: 0, bodyBoc: () => commentBody(HOSTILE) });
        const rows = numbers()
          .slice(0, 20)
          .map((mcSeqno) =>
            madeTransaction({ name: `tx ${mcSeqno}`, mcSeqno, transaction: { inMsg, now: now - seqno + mcSeqno } }),
          );
        return { rows, nextCursor: null };
      },
    });
    web = createWeb({
      source,
      status: async () => ({
        log: { mc_seqno: head.seqno },
        projected: { mc_seqno: head.seqno },
        lag_steps: 0,
        rows: { blocks: 100, transactions: 1_234_567 },
        waiting_contracts: 0,
        gaps: Array.from({ length: gaps }, () => ({ mc_seqno: 1, block: '', error: '' })),
      }),
      head,
      globalId: () => -3,
      testnet: () => true,
      network,
      queryTimeoutMs: 60_000,
      maxRows: 1_000,
      report: () => undefined,
      limits: { statusEveryMs: 50, chainEveryMs: 20, ...limits },
    });
    server = await serveApi(source, { web: web.router, apis: [statsApi(HOURS)] }, port);
    return { head, url: `${server.url}/`, port: server.port };
  }

  it('shows markup in a comment as the text it is', async () => {
    const { url } = await start();
    const { page, complaints } = await open(url);
    const comment = page.locator('.c-comment q').first();
    await comment.waitFor();
    expect(await comment.textContent()).toBe(HOSTILE);
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.title()).toBe('50 · tonstream');
    expect(complaints).toEqual([]);
  });

  it('shows amounts to the last nanoton on demand, and addresses of a test network', async () => {
    const { url } = await start();
    const { page } = await open(url);
    const row = page.locator('#transactions tr').first();
    await row.waitFor();
    expect(await row.locator('.c-value').textContent()).toBe('+1.5 TON');
    expect(await row.locator('.c-fees span[title]').getAttribute('title')).toBe('0.002355218 TON');
    expect(await row.locator('.c-account a').getAttribute('title')).toMatch(/^0[Q-T][A-Za-z0-9_-]{46}$/);
    expect(await text(page, '#network')).toBe('testnet');
    expect(await text(page, '#total')).toBe('1,234,567');
  });

  it('says when the connection is lost, tries again by itself, and goes on', async () => {
    const first = await start();
    const { page, complaints } = await open(first.url);
    await vi.waitFor(async () => expect(await text(page, '#head')).toBe('50'), PATIENCE);
    expect(await text(page, '#line-text')).toBe('Live');
    await stop();
    await page.locator('#lost').waitFor();
    expect(await text(page, '#line-text')).toBe('Connection lost');
    expect(await text(page, '#say')).toBe('Connection lost');
    expect(await text(page, '#head')).toBe('50');
    await start({ seqno: 60, port: first.port });
    await vi.waitFor(async () => expect(await text(page, '#head')).toBe('60'), PATIENCE);
    expect(await text(page, '#line-text')).toBe('Live');
    expect(await page.locator('#lost').isVisible()).toBe(false);
    // What the browser says by itself of a server that is away.
    expect(complaints.filter((line) => !/ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED/.test(line))).toEqual([]);
  });

  it('tries again when there is no room for it', async () => {
    const { url } = await start({ limits: { maxListeners: 1 } });
    const before = await visit(browser, url);
    await vi.waitFor(async () => expect(await text(before.page, '#head')).toBe('50'), PATIENCE);
    const { page } = await open(url);
    const said = 'The service refuses the connection: as many pages are open as the service keeps up to date.';
    await vi.waitFor(async () => expect(await text(page, '#lost-why')).toBe(said), PATIENCE);
    expect(await page.locator('#lost-seen').isVisible()).toBe(false);
    await before.close();
    await vi.waitFor(async () => expect(await text(page, '#head')).toBe('50'), PATIENCE);
  });

  it('gives its line back while nobody looks at it', async () => {
    const { head, url } = await start({ limits: { maxListeners: 1 } });
    const { page, complaints } = await open(url);
    await vi.waitFor(async () => expect(await text(page, '#head')).toBe('50'), PATIENCE);
    const room = async () => (await fetch(`${url}live`, { method: 'HEAD' })).status;
    expect(await room()).toBe(503);
    const look = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await page.clock.install();
    await look(true);
    await page.clock.fastForward(31_000);
    await vi.waitFor(async () => expect(await room()).toBe(200), PATIENCE);
    head.advance(51);
    await look(false);
    await page.clock.resume();
    await vi.waitFor(async () => expect(await text(page, '#head')).toBe('51'), PATIENCE);
    expect(complaints).toEqual([]);
  });

  it('says how old it is, though what the service said is heard late', async () => {
    const { url } = await start();
    const { page } = await open('about:blank');
    await page.addInitScript(`globalThis.lines = [];
      globalThis.EventSource = class extends EventTarget { readyState = 0;
        constructor() { super(); lines.push(this); } close() {} }`);
    await page.goto(url);
    // A page that slept hears then what waited for it.
    await page.evaluate(`(() => {
      const hear = (now) => lines.at(-1).dispatchEvent(new MessageEvent('beat', { data: JSON.stringify({ now }) }));
      const began = Date.now();
      hear(began);
      Date.now = () => began + 9_000_000;
      hear(began + 5_000);
      lines.at(-1).onerror();
    })()`);
    expect(await text(page, '#lost-since')).toBe('2 h ago');
  });

  it('stands still while paused and shows the newest after', async () => {
    const { head, url } = await start();
    const { page } = await open(url);
    await vi.waitFor(async () => expect(await text(page, '#head')).toBe('50'), PATIENCE);
    await page.getByRole('button', { name: 'Pause' }).press('Enter');
    expect(await text(page, '#line-text')).toBe('Paused');
    const other = await visit(browser, url);
    head.advance(51);
    await vi.waitFor(async () => expect(await text(other.page, '#head')).toBe('51'), PATIENCE);
    await other.close();
    await page.evaluate('new Promise(requestAnimationFrame)');
    expect(await text(page, '#head')).toBe('50');
    await page.getByRole('button', { name: 'Resume' }).press('Space');
    await vi.waitFor(async () => expect(await text(page, '#head')).toBe('51'), PATIENCE);
  });

  it('keeps the focus where it is when rows move', async () => {
    const { head, url } = await start();
    const { page } = await open(url);
    const hash = madeHash('tx 50').toString('base64');
    const link = page.locator(`tr[data-key="${hash}"] .c-account a`);
    await link.focus();
    head.advance(53);
    await vi.waitFor(async () => expect(await text(page, '#head')).toBe('53'), PATIENCE);
    expect((await hashesOf(page)).indexOf(hash)).toBe(3);
    expect(await page.evaluate('document.activeElement.closest("tr").dataset.key')).toBe(hash);
  });

  it('copies hashes and addresses in full', async () => {
    const { url } = await start();
    const { page } = await open(url, { permissions: ['clipboard-read', 'clipboard-write'] });
    const row = page.locator('#transactions tr').first();
    await row.hover();
    await row.getByRole('button', { name: 'Copy transaction hash' }).click();
    await vi.waitFor(async () => expect(await text(page, '#say')).toBe('Copied transaction hash'), PATIENCE);
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(madeHash('tx 50').toString('base64'));
  });

  it('says what cannot be read and what is left out', async () => {
    let failing = false;
    const { head, url } = await start({ failing: () => failing, gaps: 2 });
    const { page } = await open(url);
    await page.locator('#gaps').waitFor();
    expect(await text(page, '#gaps')).toContain('2 steps could not be decoded and are left out.');
    failing = true;
    head.advance(51);
    await page.locator('#trouble').waitFor();
    expect(await text(page, '#trouble')).toContain('Blocks and transactions cannot be read');
    failing = false;
    await page.locator('#trouble').waitFor({ state: 'hidden' });
    await vi.waitFor(async () => expect(await text(page, '#head')).toBe('51'), PATIENCE);
  });

  it('waits for the first block of a chain that is followed', async () => {
    const { head, url } = await start({ seqno: 0, network: 'devnet' });
    const { page } = await open(url);
    await page.locator('#empty').waitFor();
    expect(await text(page, '#empty-title')).toBe('Waiting for the first block of devnet');
    expect(await page.locator('#empty-ways li').count()).toBe(0);
    head.advance(1);
    await page.locator('#steps li').first().waitFor();
    expect(await page.locator('#empty').isVisible()).toBe(false);
  });

  it('fits windows of any width', async () => {
    const { url } = await start();
    const { page, complaints } = await open(url);
    await page.locator('#transactions tr').first().waitFor();
    for (const width of [320, 390, 768, 1_024, 1_440]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
    expect(complaints).toEqual([]);
  });

  it('has enough contrast in both schemes', async () => {
    const { url } = await start({ gaps: 1 });
    const { page } = await open(url, { reducedMotion: 'reduce' });
    await page.locator('#gaps').waitFor();
    await page.locator('#transactions tr').first().waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      // WCAG 2.2, 1.4.3: 4.5 to 1 for text.
      expect(await page.evaluate(LOW_CONTRAST), colorScheme).toEqual([]);
    }
  });

  it('asks again for what was not found before, without another text in the search box', async () => {
    const { url } = await start();
    const { page } = await open(url);
    const target = `0:${'AB'.repeat(32)}`;
    let asked = 0;
    await page.route('**/api/v3/dns/records?*', (route) =>
      route.fulfill({ json: { records: asked++ === 0 ? [] : [{ dns_wallet: target }] } }),
    );
    await page.locator('#sought').fill('alice.ton');
    await page.locator('#sought').press('Enter');
    const said = () => page.evaluate('document.querySelector("#sought").validationMessage');
    await vi.waitFor(async () => expect(await said()).toBe('The name alice.ton is not known.'), PATIENCE);
    await page.locator('#sought').press('Enter');
    await page.waitForURL(`${url}account/${target}`);
    expect(asked).toBe(2);
  });

  describeAccountPage(async () => ({ ...(await open('about:blank')), url: (await start()).url }));

  it('writes figures as people read them', async () => {
    const { url } = await start();
    const { page } = await open(url);
    const written = await page.evaluate(`import('/web/format.js').then(({ tons, exactTons, age, rate, short }) => ({
      tons: ['0', '1', '99999', '100000', '1500000000', '1234567890123456789', '999999999'].map((n) => tons(n, 4)),
      exact: ['0', '1', '1000000000', '18446744073709551615'].map(exactTons),
      age: [-5, 0.4, 1, 59.9, 60, 3599, 3600, 86400, 31536000, 94608000].map(age),
      rate: [0, 0.001, 0.256, 3.14159, 99.96, 1234.5].map(rate),
      short: ['short', 'abcdefghijklmnopq'].map((text) => short(text)),
    }))`);
    expect(written).toEqual({
      tons: ['0', '<0.0001', '<0.0001', '0.0001', '1.5', '1,234,567,890.1234', '0.9999'],
      exact: ['0', '0.000000001', '1', '18,446,744,073.709551615'],
      age: ['now', 'now', '1 s', '59 s', '1 min', '59 min', '1 h', '1 d', '1 y', '3 y'],
      rate: ['0', '<0.01', '0.26', '3.1', '100', '1,235'],
      short: ['short', 'abcdef…nopq'],
    });
  });
});

/** Runs in the page: texts whose contrast with what is behind them is below 4.5. */
const LOW_CONTRAST = `(() => {
  const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  const behind = (node) => {
    for (let at = node; at !== null; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const low = new Set();
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim() !== '');
    if (!own || !node.checkVisibility() || node.closest('.unseen, .skip, svg, noscript')) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.add(node.tagName + '.' + node.className + ' ' + ratio.toFixed(2));
  }
  return [...low];
})()`;
