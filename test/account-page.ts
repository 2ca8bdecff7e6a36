/** An account's page, in a real browser, also one that stays open while much happens; the service's answers are made up. */
import { expect, it, vi } from 'vitest';
import type { Visit } from './browser.ts';

const PATIENCE = { timeout: 180_000, interval: 50 };

/** @param begin opens an empty page beside a service, and gives the address of that */
export function describeAccountPage(begin: () => Promise<Visit & { url: string }>): void {
  /** An account of a transaction a second, as a page knows it; `newest` is the number of its newest one. */
  async function openBusyAccount() {
    const account = { newest: 100, away: false, asked: 0 };
    const address = `0:${'AB'.repeat(32)}`;
    const transactionOf = (n: number) => ({
      hash: Buffer.from(String(n).padStart(32, '0')).toString('base64'),
      now: 1_700_000_000 + n,
      total_fees: '1',
      in_msg: null,
    });
    const { url, page, complaints } = await begin();
    await page.clock.install();
    await page.addInitScript(`globalThis.lines = [];
      class Line extends EventTarget { static CLOSED = 2; static OPEN = 1; readyState = 1;
        constructor() { super(); lines.push(this);
          setTimeout(() => this.dispatchEvent(new MessageEvent('connected', { data: '{}' }))); }
        close() { this.readyState = 2; } }
      globalThis.EventSource = Line;`);
    await page.route('**/api/v3/**', (route) => {
      const asked = new URL(route.request().url());
      const last = Number(asked.searchParams.get('cursor') ?? account.newest + 1);
      const numbers = Array.from({ length: 25 }, (_, at) => last - 1 - at);
      const state = { address, balance: '1', status: 'active' };
      const token = (name: string) => ({ is_indexed: true, token_info: [{ valid: true, type: 'nft_items', name }] });
      const item = { address: `0:${'CD'.repeat(32)}`, collection_address: null, on_sale: false };
      const answers: Record<string, unknown> = {
        accountStates: { accounts: [state], metadata: { [address]: token('A box') } },
        'jetton/wallets': { jetton_wallets: [] },
        'nft/items': { nft_items: [item], metadata: { [item.address]: token('<b>Stone</b>') } },
        actions: { actions: [] },
        transactions: { transactions: numbers.map(transactionOf), next_cursor: String(last - 25) },
        walletStates: { wallets: [] },
        pendingTraces: { traces: [] },
      };
      if (asked.pathname.endsWith('/accountStates')) account.asked++;
      if (account.away) return route.fulfill({ status: 503, json: { error: 'too busy' } });
      return route.fulfill({ json: answers[asked.pathname.slice('/api/v3/'.length)] });
    });
    await page.goto(`${url}account/${address}`);
    const shown = () =>
      page
        .locator('tbody:not(.waiting) a.hash')
        .evaluateAll((links) => links.map((link) => Number(atob(link.getAttribute('title') ?? ''))));
    const hear = async (newest: number) => {
      account.newest = newest;
      // It asks once a second.
      await page.clock.fastForward(1_000);
      await page.evaluate(`lines.at(-1).dispatchEvent(new MessageEvent('event', { data: '{}' }))`);
    };
    /** That it has all from `newest` on, `count` of them. */
    const expectAll = (newest: number, count: number) =>
      vi.waitFor(
        async () => expect(await shown()).toEqual(Array.from({ length: count }, (_, at) => newest - at)),
        PATIENCE,
      );
    return { page, complaints, account, hear, expectAll };
  }

  it('lists what an account does without a gap and without end', async () => {
    const { page, complaints, hear, expectAll } = await openBusyAccount();
    await expectAll(100, 25);
    await hear(110);
    await expectAll(110, 35);
    await page.getByText('Show older').last().click();
    await expectAll(110, 60);
    await hear(200);
    await expectAll(200, 25);
    const last = 200 + 24 * 20;
    for (let newest = 224; newest <= last; newest += 24) {
      await hear(newest);
      await expectAll(newest, newest === last ? 25 : 25 + newest - 200);
    }
    await page.getByText('Show older').last().click();
    await expectAll(last, 50);
    expect(complaints).toEqual([]);
  });

  it('shows little of a name that whoever wrote a link chose', async () => {
    const { url, page } = await begin();
    await page.goto(`${url}account/${encodeURIComponent(`${'Send it to me, '.repeat(50)}\u202e`)}`);
    const said = page.locator('[role="alert"]');
    expect(await said.locator('bdi').textContent()).toMatch(/^Send it to me,.{20,40}$/u);
    expect(await said.textContent()).toMatch(/ is no address\.$/);
  });

  it('names the item that it is, and those that it holds', async () => {
    const { page, expectAll } = await openBusyAccount();
    await expectAll(100, 25);
    expect(await page.locator('dl.facts dd').first().textContent()).toBe('A box');
    expect(await page.getByRole('table', { name: 'NFTs' }).locator('a').allTextContents()).toEqual(['<b>Stone</b>']);
  });

  it('asks once a second, however much an account does', async () => {
    const { page, account, expectAll } = await openBusyAccount();
    await expectAll(100, 25);
    await vi.waitFor(async () => expect(await page.locator('#line').textContent()).toBe('Live'), PATIENCE);
    await page.clock.fastForward(1_000);
    await page.clock.pauseAt(await page.evaluate('Date.now() + 1_000'));
    const before = account.asked;
    const hearOften = async (newest: number) => {
      account.newest = newest;
      for (let time = 0; time < 8; time++) {
        await page.evaluate(`lines.at(-1).dispatchEvent(new MessageEvent('event', { data: '{}' }))`);
        await page.clock.runFor(50);
      }
    };
    await hearOften(101);
    await expectAll(101, 26);
    await hearOften(102);
    expect(account.asked - before).toBe(1);
    await page.clock.runFor(1_000);
    await expectAll(102, 27);
    expect(account.asked - before).toBe(2);
  });

  it('gives its line back while nobody looks at it', async () => {
    const { page, account, expectAll } = await openBusyAccount();
    await expectAll(100, 25);
    const look = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await look(true);
    expect(await page.evaluate('lines.at(-1).readyState')).toBe(1);
    await page.clock.fastForward(31_000);
    expect(await page.evaluate('lines.map(({ readyState }) => readyState)')).toEqual([2]);
    account.newest = 101;
    await look(false);
    await expectAll(101, 26);
    await vi.waitFor(async () => expect(await page.locator('#line').textContent()).toBe('Live'), PATIENCE);
  });

  it('comes back to a service that was away at a time of its own', async () => {
    const { page, expectAll } = await openBusyAccount();
    await expectAll(100, 25);
    // The browser would, at the same moment as all others.
    // At once: on a busy machine it is back before it is looked at.
    const told = await page.evaluate(`lines.at(-1).readyState = 0, lines.at(-1).onerror(),
      [lines.at(-1).readyState, ...['#line', '#lost'].map((part) => document.querySelector(part).textContent)]`);
    const lost = expect.stringMatching(/^Connection lost\. What you see is from .+\. Trying again\.$/);
    expect(told).toEqual([2, 'Connection lost', lost]);
    await page.clock.fastForward(2_000);
    expect(await page.evaluate('lines.length')).toBe(2);
    await vi.waitFor(async () => expect(await page.locator('#line').textContent()).toBe('Live'), PATIENCE);
    expect(await page.locator('#lost').isVisible()).toBe(false);
  });

  it('follows an account again after the service was busy, and after it was refused', async () => {
    const { page, account, hear, expectAll } = await openBusyAccount();
    await expectAll(100, 25);
    account.away = true;
    await hear(101);
    await vi.waitFor(async () => expect(await page.locator('#line').textContent()).toBe('too busy'), PATIENCE);
    account.away = false;
    await page.clock.fastForward(5_000);
    await expectAll(101, 26);
    await vi.waitFor(async () => expect(await page.locator('#line').textContent()).toBe('Live'), PATIENCE);
    account.newest = 102;
    await page.evaluate('lines.at(-1).readyState = 2, lines.at(-1).onerror()');
    expect(await page.locator('#line').textContent()).toBe('Connection lost');
    await page.clock.fastForward(7_000);
    await expectAll(102, 27);
    await vi.waitFor(async () => expect(await page.locator('#line').textContent()).toBe('Live'), PATIENCE);
  });
}
