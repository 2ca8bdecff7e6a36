/** The line to the service: opened again whenever it is lost. */
import { sentence } from './format.js';

/** Where a beat comes every few seconds, a line this long without anything is dead, though nobody said so. */
const SILENCE_MS = 16_000;
/** A browser has six lines to a server: a page that nobody looks at gives its line back after this long. */
const HIDDEN_MS = 30_000;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 15_000;

/** For what a refusal says in words. */
const REFUSAL_MS = 5_000;

/** Of a line that is lost: what the service refused it with, where it did. */
export function lostText(why) {
  return why === null ? 'Connection lost.' : `The service refuses the connection: ${sentence(why)}`;
}

/** What its states are called. */
export const LINE_TEXT = { connecting: 'Connecting', live: 'Live', lost: 'Connection lost' };

/**
 * @param {string} url
 * @param {string[]} kinds names of events; `beat` where the line has beats
 * @param {{event(kind: string, data: unknown): void, state(state: 'connecting' | 'live' | 'lost', retryAt: number | null, why: string | null): void}} on
 *   `retryAt`: when it is tried again, in milliseconds since 1970; `why`: what the service refused it with, where it did
 */
export function openLine(url, kinds, on) {
  let source = null;
  let watchdog = 0;
  let retry = 0;
  let hiding = 0;
  let failures = 0;
  let why = null;

  function open() {
    close();
    source = new EventSource(url);
    // The browser's own way to try again gives up on an answer other than 200, as a restart behind a proxy gives.
    source.onerror = lost;
    for (const kind of kinds) source.addEventListener(kind, ({ data }) => received(kind, data));
    listen();
    on.state(failures === 0 ? 'connecting' : 'lost', null, why);
  }

  function received(kind, data) {
    failures = 0;
    why = null;
    listen();
    on.state('live', null, null);
    on.event(kind, JSON.parse(data));
  }

  function listen() {
    clearTimeout(watchdog);
    if (kinds.includes('beat')) watchdog = setTimeout(lost, SILENCE_MS);
  }

  function close() {
    clearTimeout(watchdog);
    clearTimeout(retry);
    source?.close();
    source = null;
  }

  function lost() {
    // Closed by the browser: somebody answered, and not with events.
    const isRefused = source?.readyState === EventSource.CLOSED;
    close();
    // Spread over time, so that a service that comes back is not met by all pages at once.
    const wait = Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS) * (0.75 + Math.random() / 2);
    failures++;
    const retryAt = Date.now() + wait;
    retry = setTimeout(open, wait);
    why = null;
    on.state('lost', retryAt, why);
    if (isRefused) void hearWhy(failures, retryAt);
  }

  /** A line keeps to itself what it was refused with. */
  async function hearWhy(failure, retryAt) {
    const told = await refusalOf(url);
    if (told === null || failure !== failures || source !== null) return;
    why = told;
    on.state('lost', retryAt, why);
  }

  function restWhileHidden() {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(close, HIDDEN_MS);
    else if (source === null) open();
  }

  window.addEventListener('online', () => {
    if (failures > 0 && !document.hidden) open();
  });
  // A page that is left is kept by the browser for the way back; its line is not.
  window.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) open();
  });
  document.addEventListener('visibilitychange', restWhileHidden);
  open();
  restWhileHidden();
}

/** What the service refuses an address with; null where it does not, or not in words. */
async function refusalOf(url) {
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), REFUSAL_MS);
  try {
    const response = await fetch(url, { signal: giveUp.signal });
    return response.ok ? null : ((await response.json()).error ?? null);
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
    giveUp.abort();
  }
}
