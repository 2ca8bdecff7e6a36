/** The pages about one thing each, in a real browser, held against what the API answers. */
import { isDeepStrictEqual } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { visit } from '../browser.ts';
import { type Stack, until } from '../stack.ts';
import { send } from './levels.ts';
import { demoWallet } from './wallets.ts';

const PATIENCE = 180_000;

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
const jettonHours = z.object({
  points: z.array(z.object({ from: z.number(), open: z.boolean(), value: z.array(z.object({ count: z.number() })) })),
});
const holders = z.object({ jetton_wallets: z.array(z.object({ owner: z.string() })), address_book: book });

/** Opens a page, waits until it has its rows, and ends with no complaint of the browser. */
async function open(
  { url }: Stack,
  browser: Browser,
  path: string,
  look: (page: Page) => Promise<void>,
): Promise<void> {
  const { page, complaints, requests, close } = await visit(browser, `${url}/${path}`);
  await page.locator('main[aria-busy="false"]').waitFor({ timeout: PATIENCE });
  await look(page);
  expect(requests.filter((asked) => !asked.startsWith(`${url}/`))).toEqual([]);
  expect(complaints).toEqual([]);
  for (const width of [360, 2_000]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await page.evaluate('document.documentElement.scrollWidth'), `${path} at ${width}`).toBe(width);
  }
  await close();
}

/** Of who sends with the wallet that `start` tells of. */
export function describeSentPage(stack: () => Stack, browser: () => Browser): void {
  it('show what an account sent from pending to final', async () => {
    const { wallet } = demoWallet(stack().program.output());
    const received = z.object({ transactions: z.array(transaction).default([]) });
    const receiverOf = (hash: string) =>
      until('the transaction', async () => {
        const query = `msg_hash=${encodeURIComponent(hash)}&direction=in`;
        const response = await fetch(`${stack().url}/api/v3/transactionsByMessage?${query}`);
        return received.parse(await response.json()).transactions[0] ?? null;
      });
    // The zero state's accounts are in no block until they do something; and what is sent next needs the seqno after it.
    await receiverOf(await send(stack()));
    await open(stack(), browser(), `account/${wallet.address.toString()}`, async (page) => {
      await page.locator('#line[data-state="live"]').waitFor({ timeout: PATIENCE });
      await page.evaluate(`window.levels = [];
        new MutationObserver(() => document.querySelectorAll('.waiting td[data-column="Outcome"]')
          .forEach((cell) => window.levels.push(cell.textContent)))
          .observe(document.querySelector('.waiting'), { childList: true });`);
      const { hash } = await receiverOf(await send(stack()));
      await page.locator(`td[data-column="Transaction"] a[title="${hash}"]`).waitFor({ timeout: PATIENCE });
      const waiting = page.locator('.waiting tr');
      await until('nothing that waits', async () => ((await waiting.count()) === 0 ? true : null));
      // On a busy machine a block is quicker than what is told before it.
      const levels = z.array(z.string()).parse(await page.evaluate('window.levels'));
      process.stdout.write(`account page: ${levels.join(', ')}\n`);
      expect(['pending', 'confirmed']).toEqual(expect.arrayContaining([...new Set(levels)]));
    });
  });
}

/** Those that only look. */
export function describePages(stack: () => Stack, browser: () => Browser): void {
  async function ask<T>(path: string, shape: z.ZodType<T>): Promise<T> {
    const response = await fetch(`${stack().url}/api/v3/${path}`);
    expect(response.status, path).toBe(200);
    return shape.parse(await response.json());
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

  it('show an account, and what it does next without a reload', async () => {
    const { transactions } = await someTrace();
    const [{ account }] = Object.values(transactions);
    await open(stack(), browser(), `account/${account}`, async (page) => {
      await page.locator('#line[data-state="live"]').waitFor({ timeout: PATIENCE });
      expect(await fact(page, 'Raw address')).toBe(account.toLowerCase());
      const newest = page.locator('td[data-column="Transaction"] a').first();
      expect(await newest.getAttribute('title')).toMatch(/^[\w+/]{43}=$/);
    });
    // Somebody who acts all the time: who did last will do again.
    const [{ account: busy }] = (await ask('transactions?limit=1', z.object({ transactions: z.array(transaction) })))
      .transactions;
    await open(stack(), browser(), `account/${busy}`, async (page) => {
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
    await open(stack(), browser(), `jetton/${master.address}`, async (page) => {
      const owners = page.locator('td[data-column="Owner"] a');
      const shown = await owners.evaluateAll((links) => links.map((link) => link.getAttribute('title')));
      expect(shown.length).toBeGreaterThanOrEqual(held.jetton_wallets.length);
      expect(new Set(shown).size).toBe(shown.length);
      const response = await fetch(`${stack().url}/api/stats/jettons?jetton=${master.address}`);
      const { points } = jettonHours.parse(await response.json());
      const chart = page.locator('[data-series="jettons"]');
      await chart.locator('summary').click();
      const told = await Promise.all(
        points.map(({ from }) => chart.locator(`td[data-from="${from}"]`).textContent({ timeout: PATIENCE })),
      );
      // Transfers may have come in between; what is over stays.
      for (const [at, { open: grows, value }] of points.entries()) {
        const count = value[0]?.count ?? 0;
        if (grows) expect(Number(told[at])).toBeLessThanOrEqual(count);
        else expect(Number(told[at])).toBe(count);
      }
      expect(points.length).toBeGreaterThan(0);
    });
    await open(stack(), browser(), 'top/jettons', async (page) => {
      expect(await page.locator('td[data-column="Name"] a').count()).toBeGreaterThan(0);
    });
  });

  it('show a block, the richest accounts, and what cannot be found', async () => {
    await open(stack(), browser(), 'block/2', async (page) => {
      expect(await page.title()).toBe('Masterchain block 2 · tonstream');
      expect(await texts(page, '[data-fact="Before"]')).toEqual(['1']);
    });
    await open(stack(), browser(), 'top/accounts', async (page) => {
      const rows = await page.locator('td[data-column="Balance"]').count();
      expect(rows).toBeGreaterThan(10);
    });
    for (const [path, words] of [
      ['block/2000000000', 'No such block is indexed.'],
      ['account/nobody.ton', 'nobody.ton is no address.'],
    ]) {
      const { page, close } = await visit(browser(), `${stack().url}/${path}`);
      await page.locator('[role="alert"]').waitFor({ timeout: PATIENCE });
      expect(await page.locator('[role="alert"]').textContent()).toBe(words);
      await close();
    }
  });

  it('draw hours and days as the statistics tell them', async () => {
    const shape = z.object({
      mc_seqno: z.number(),
      points: z.array(z.object({ from: z.number(), open: z.boolean(), value: z.number() })),
    });
    for (const resolution of ['hour', 'day']) {
      await open(stack(), browser(), `charts/${resolution}`, async (page) => {
        const response = await fetch(`${stack().url}/api/stats/transactions?resolution=${resolution}`);
        const { points } = shape.parse(await response.json());
        const shown = page.locator('[data-series="transactions"]');
        // An hour may have begun in between.
        expect(points.length - (await shown.locator('.bar').count())).toBeLessThanOrEqual(1);
        const [{ from }] = points;
        await shown.locator('summary').click();
        expect(await shown.locator(`td[data-from="${from}"]`).textContent()).toMatch(/^[\d.]+K?$/);
        await shown.locator('svg').focus();
        await page.keyboard.press('Home');
        expect(await shown.locator('.said').textContent()).toMatch(/UTC|\d{4}.*: [\d.]+K?/);
        const types = await texts(page, '[aria-labelledby="card-actions-by-type"] td:first-child');
        expect(types).toContain('ton transfer');
      });
    }
  });

  it('ask SQL, show rows and errors, and give a file', async () => {
    await open(stack(), browser(), 'sql/editor', async (page) => {
      expect(await page.locator('details[data-view="ton.transactions"]').count()).toBe(1);
      const editor = page.locator('#statement');
      await editor.fill(
        "SELECT seqno, 'x<b>' AS word FROM ton.blocks WHERE workchain = -1 AND seqno <= 3 ORDER BY seqno",
      );
      // On a machine that does much else a query may run out of its time, which the page says; then it is asked again.
      await until('rows', async () => {
        await editor.press('Control+Enter');
        // What was answered before stays until the answer is here.
        await page
          .getByRole('button', { name: 'Run', exact: true })
          .and(page.locator(':enabled'))
          .waitFor({ timeout: PATIENCE });
        if (await page.locator('td[data-column="seqno"]').first().isVisible()) return true;
        process.stdout.write(`SQL page: ${await page.locator('#answer').textContent()}\n`);
        return null;
      });
      expect(await texts(page, 'td[data-column="seqno"]')).toEqual(['1', '2', '3']);
      expect(await texts(page, 'td[data-column="word"]')).toEqual(['x<b>', 'x<b>', 'x<b>']);
      expect(await page.locator('#told').textContent()).toMatch(/^3 rows, /);
      const file = await fetch(new URL((await page.locator('a[download]').getAttribute('href')) ?? '', stack().url));
      expect((await file.text()).trim().split('\n')).toHaveLength(4);
      await page.getByLabel('Examples').selectOption('0');
      expect(await editor.inputValue()).toMatch(/SELECT/);
    });
    const { page, close } = await visit(
      browser(),
      `${stack().url}/sql#${encodeURIComponent('SELECT nothing FROM ton.blocks')}`,
    );
    await page.locator('#answer [role="alert"]').waitFor({ timeout: PATIENCE });
    expect(await page.locator('#answer [role="alert"]').textContent()).toContain('nothing');
    await close();
  });

  it('tell where each stage stands', async () => {
    await open(stack(), browser(), 'pipeline/now', async (page) => {
      const head = async (stage: string) => Number(await page.locator(`[data-stage="${stage}"]`).textContent());
      const first = await head('Answer');
      expect(first).toBeGreaterThan(0);
      // Read at one moment: the page goes on.
      const heads = await page
        .locator('[data-stage]')
        .evaluateAll((all) => all.map((one) => [one.getAttribute('data-stage'), Number(one.textContent)] as const));
      const shown = new Map(heads);
      expect(shown.get('Ingest')).toBeGreaterThanOrEqual(shown.get('Project') ?? Number.NaN);
      await until('a newer head', async () => ((await head('Answer')) > first ? true : null));
      expect(await page.locator('[data-metric="tonstream_gaps"]').textContent()).toBe('0');
    });
  });

  it('find what is pasted into the search box', async () => {
    const { transactions } = await someTrace();
    const [{ hash, account }] = Object.values(transactions);
    const { page, close } = await visit(browser(), `${stack().url}/`);
    const hex = Buffer.from(hash, 'base64').toString('hex');
    // Never the page that is shown already: when that has been loaded again cannot be seen.
    for (const [sought, path] of [
      [hash, `/tx/${hex}`],
      [account, `/account/${account}`],
      [hex, `/tx/${hex}`],
      ['3', '/block/3'],
      ['(-1,8000000000000000,3)', '/block/-1,8000000000000000,3'],
      ['-1:8000000000000000:2', '/block/-1,8000000000000000,2'],
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

  // Last: what is learned of contracts while the chain is young has their traces told again.
  it('show a transaction with its trace and what happened', async () => {
    const { transactions, book: names } = await someTrace();
    const [shown] = Object.values(transactions);
    await open(stack(), browser(), `tx/${Buffer.from(shown.hash, 'base64').toString('hex')}`, async (page) => {
      expect(await page.title()).toBe(`Transaction ${shown.hash} · tonstream`);
      expect(await fact(page, 'Account')).toBe(names[shown.account].user_friendly);
      expect(await fact(page, 'Logical time')).toBe(shown.lt);
      expect(await fact(page, 'Masterchain block')).toBe(String(shown.mc_block_seqno));
      expect(await page.locator('.graph .box').count()).toBe(Object.keys(transactions).length);
      const query = `traces?tx_hash=${encodeURIComponent(shown.hash)}&include_actions=true`;
      await until('the actions as the API tells them', async () => {
        const told = await page
          .locator('li[data-action]')
          .evaluateAll((lines) => lines.map((line) => line.getAttribute('data-action')));
        const [{ actions }] = (await ask(query, traces)).traces;
        const ids = actions.map(({ action_id: id }) => id);
        if (ids.length > 0 && isDeepStrictEqual(told, ids)) return true;
        // They are told again when something is learned of their contracts, which the page shows when it is opened next.
        await page.reload();
        await page.locator('main[aria-busy="false"]').waitFor({ timeout: PATIENCE });
        return null;
      });
      for (const line of await texts(page, 'li[data-action]')) expect(line).not.toMatch(/undefined|null|NaN/);
    });
  });
}
