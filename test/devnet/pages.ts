/** The pages about one thing each, in a real browser, held against what the API answers. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { browserProgram, openBrowser, visit } from '../browser.ts';
import { type Stack, until } from '../stack.ts';

const PATIENCE = 60_000;

const book = z.record(z.string(), z.object({ user_friendly: z.string() }));
const transaction = z.object({
  hash: z.string(),
  account: z.string(),
  lt: z.string(),
  total_fees: z.string(),
  mc_block_seqno: z.number(),
});
const traces = z.object({
  traces: z.array(
    z.object({
      transactions: z.record(z.string(), transaction),
      actions: z.array(z.object({ action_id: z.string(), type: z.string() })),
    }),
  ),
  address_book: book,
});
const masters = z.object({ jetton_masters: z.array(z.object({ address: z.string(), total_supply: z.string() })) });
const holders = z.object({ jetton_wallets: z.array(z.object({ owner: z.string() })), address_book: book });

export function describePages(stack: () => Stack): void {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());

  async function ask<T>(path: string, shape: z.ZodType<T>): Promise<T> {
    const response = await fetch(`${stack().url}/api/v3/${path}`);
    expect(response.status, path).toBe(200);
    return shape.parse(await response.json());
  }

  /** Opens a page, waits until it has its rows, and ends with no complaint of the browser. */
  async function open(path: string, look: (page: Page) => Promise<void>): Promise<void> {
    const { page, complaints, requests, close } = await visit(browser, `${stack().url}/${path}`);
    await page.locator('main[aria-busy="false"]').waitFor({ timeout: PATIENCE });
    await look(page);
    expect(requests.filter((url) => !url.startsWith(`${stack().url}/`))).toEqual([]);
    expect(complaints).toEqual([]);
    for (const width of [360, 2_000]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate('document.documentElement.scrollWidth'), `${path} at ${width}`).toBe(width);
    }
    await close();
  }

  const fact = (page: Page, name: string) => page.locator(`[data-fact="${name}"]`).textContent();
  const texts = (page: Page, selector: string) => page.locator(selector).allTextContents();

  /** A complete trace of several transactions, with a swap of jettons or another action of many messages. */
  const someTrace = () =>
    until('a trace of several transactions', async () => {
      const answer = await ask('traces?limit=50&include_actions=true', traces);
      const found = answer.traces.find(
        (trace) => Object.keys(trace.transactions).length >= 4 && trace.actions.length > 0,
      );
      return found === undefined ? null : { ...found, book: answer.address_book };
    });

  it('show a transaction with its trace and what happened', async () => {
    const { transactions, actions, book: names } = await someTrace();
    const [shown] = Object.values(transactions);
    await open(`tx/${Buffer.from(shown.hash, 'base64').toString('hex')}`, async (page) => {
      expect(await page.title()).toBe(`Transaction ${shown.hash} · tonstream`);
      expect(await fact(page, 'Account')).toBe(names[shown.account].user_friendly);
      expect(await fact(page, 'Logical time')).toBe(shown.lt);
      expect(await fact(page, 'Masterchain block')).toBe(String(shown.mc_block_seqno));
      expect(await page.locator('.graph .box').count()).toBe(Object.keys(transactions).length);
      const told = await page
        .locator('li[data-action]')
        .evaluateAll((lines) => lines.map((line) => line.getAttribute('data-action')));
      expect(told).toEqual(actions.map(({ action_id: id }) => id));
      for (const line of await texts(page, 'li[data-action]')) expect(line).not.toMatch(/undefined|null|NaN/);
    });
  });

  it('show an account, and what it does next without a reload', async () => {
    const { transactions } = await someTrace();
    const [{ account }] = Object.values(transactions);
    await open(`account/${account}`, async (page) => {
      await page.locator('#line[data-state="live"]').waitFor({ timeout: PATIENCE });
      expect(await fact(page, 'Raw address')).toBe(account.toLowerCase());
      const newest = page.locator('td[data-column="Transaction"] a').first();
      expect(await newest.getAttribute('title')).toMatch(/^[\w+/]{43}=$/);
    });
    // Somebody who acts all the time: who did last will do again.
    const [{ account: busy }] = (await ask('transactions?limit=1', z.object({ transactions: z.array(transaction) })))
      .transactions;
    await open(`account/${busy}`, async (page) => {
      const count = () => page.locator('td[data-column="Transaction"]').count();
      const before = await count();
      await until('another transaction on the page', async () => ((await count()) > before ? true : null));
    });
  });

  it('show a jetton with its holders in order', async () => {
    const [master] = await until('a jetton', async () => {
      const { jetton_masters: found } = await ask('jetton/masters?limit=10', masters);
      return found.length > 0 ? found : null;
    });
    const held = await ask(`jetton/wallets?jetton_address=${master.address}&sort=desc&limit=50`, holders);
    await open(`jetton/${master.address}`, async (page) => {
      const owners = page.locator('td[data-column="Owner"] a');
      const shown = await owners.evaluateAll((links) => links.map((link) => link.getAttribute('title')));
      expect(shown.length).toBeGreaterThanOrEqual(held.jetton_wallets.length);
      expect(new Set(shown).size).toBe(shown.length);
    });
    await open('top/jettons', async (page) => {
      expect(await page.locator('td[data-column="Name"] a').count()).toBeGreaterThan(0);
    });
  });

  it('show a block, the richest accounts, and what cannot be found', async () => {
    await open('block/2', async (page) => {
      expect(await page.title()).toBe('Masterchain block 2 · tonstream');
      expect(await texts(page, '[data-fact="Before"]')).toEqual(['1']);
    });
    await open('top/accounts', async (page) => {
      const rows = await page.locator('td[data-column="Balance"]').count();
      expect(rows).toBeGreaterThan(10);
    });
    const { page, close } = await visit(browser, `${stack().url}/block/2000000000`);
    await page.locator('[role="alert"]').waitFor({ timeout: PATIENCE });
    expect(await page.locator('[role="alert"]').textContent()).toBe('No such block is indexed.');
    await close();
  });

  it('find what is pasted into the search box', async () => {
    const { transactions } = await someTrace();
    const [{ hash, account }] = Object.values(transactions);
    const { page, close } = await visit(browser, `${stack().url}/`);
    const hex = Buffer.from(hash, 'base64').toString('hex');
    for (const [sought, path] of [
      [hash, `/tx/${hex}`],
      [hex, `/tx/${hex}`],
      [account, `/account/${account}`],
      ['3', '/block/3'],
      ['(-1,8000000000000000,3)', '/block/-1,8000000000000000,3'],
    ]) {
      await page.locator('#sought').fill(sought);
      await page.locator('#sought').press('Enter');
      await page.waitForURL((url) => decodeURIComponent(url.pathname) === path, { timeout: PATIENCE });
      await page.locator('main[aria-busy="false"]').waitFor({ timeout: PATIENCE });
    }
    await page.locator('#sought').fill('nothing of this kind');
    await page.locator('#sought').press('Enter');
    await until('a word on it', () => page.evaluate('document.querySelector("#sought").validationMessage || null'));
    await close();
  });
}

export const browserMissing = browserProgram === null;
