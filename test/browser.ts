/** Headless Chromium for tests of the page: Debian's, or the one that `CHROMIUM` names. */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const PROGRAM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** Null where there is no browser; in CI that is a failure, elsewhere a printed line. */
export const browserProgram: string | null = existsSync(PROGRAM) ? PROGRAM : null;

if (browserProgram === null) {
  const what = `no browser at ${PROGRAM} (install Debian's chromium or set CHROMIUM)`;
  if (process.env.CI) throw new Error(what);
  process.stderr.write(`skipped: tests in a browser: ${what}\n`);
}

/** For machines that do much else; the browser's own is half a minute. */
const PATIENCE_MS = 180_000;

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function openBrowser(): Promise<Browser> {
  if (browserProgram === null) throw new Error('no browser');
  return chromium.launch({ executablePath: browserProgram, args: ARGUMENTS, timeout: PATIENCE_MS });
}

export interface Visit {
  page: Page;
  /** What the browser complained of: errors, warnings, refusals of the content security policy. */
  complaints: string[];
  /** Everything that was asked for, by address. */
  requests: string[];
  close(): Promise<void>;
}

/** Opens an address in a context of its own. */
export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => requests.push(request.url()));
  await page.addInitScript(`document.addEventListener('securitypolicyviolation',
    (event) => console.error('refused by policy: ' + event.violatedDirective + ' ' + event.blockedURI));`);
  await page.goto(url);
  return { page, complaints, requests, close: () => context.close() };
}
