/** Ties the line to the page: the newest state of each kind is drawn once for each frame of the screen. */
import { renderActions } from './actions.js';
import { renderChain, timeElement } from './chain.js';
import { renderDay } from './day.js';
import { byId, say, setText } from './elements.js';
import { age, ago, plural } from './format.js';
import { LINE_TEXT, lostText, openLine } from './live.js';
import { mindSearch } from './search.js';
import { renderEmpty, renderStatus, renderTrouble } from './status.js';

/** Between two steps that a screen reader is told of: steps come faster than they can be said. */
const SAY_EVERY_MS = 30_000;

const newest = {};
const changed = new Set();
let frame = 0;
let paused = false;
/** The service's clock minus ours, in milliseconds: ages are right where a clock is wrong. */
let clockAhead = 0;
/** When the service spoke last, by its own clock; null before it did. */
let heardAt = null;
let isNewLine = true;
let retryAt = null;
let state = 'connecting';
let saidAt = 0;

const render = {
  service: drawEmpty,
  chain(view) {
    renderChain(view, newest.service?.network);
    drawEmpty();
    drawAges();
    announce(view);
    if (view.steps.length > 0) void renderActions();
    if (view.steps.length > 0) void renderDay();
  },
  status: renderStatus,
  trouble: renderTrouble,
};

function drawEmpty() {
  const none = newest.chain !== undefined && newest.chain.steps.length === 0;
  byId('empty').hidden = !none;
  if (none && newest.service !== undefined) renderEmpty(newest.service.network);
}

function announce({ head, steps }) {
  if (steps.length === 0) return;
  document.title = `${head} · tonstream`;
  if (Date.now() - saidAt < SAY_EVERY_MS) return;
  saidAt = Date.now();
  say(`Block ${head}, ${plural(steps[0].transactions, 'transaction')}`);
}

function draw() {
  frame = 0;
  if (paused) return;
  for (const kind of changed) render[kind](newest[kind]);
  changed.clear();
}

/** A hidden page gets no frames, so nothing is drawn that nobody sees. */
function drawSoon() {
  if (frame === 0) frame = requestAnimationFrame(draw);
}

function received(kind, data) {
  if (kind === 'beat') {
    heardAt = data.now;
    // The beat that took the shortest way: one that waited in a slow line, or for a page that slept, makes old look new.
    const ahead = data.now - Date.now();
    clockAhead = isNewLine ? ahead : Math.max(clockAhead, ahead);
    isNewLine = false;
    return;
  }
  newest[kind] = data;
  changed.add(kind);
  drawSoon();
}

function lineState(to, at, why) {
  retryAt = at;
  if (to !== 'live') isNewLine = true;
  if (to !== state) {
    if (to === 'lost') {
      byId('lost-seen').hidden = heardAt === null;
      if (heardAt !== null) byId('lost-since').replaceWith(lostSince());
      say('Connection lost');
    } else if (state === 'lost') say('Connected again');
    state = to;
  }
  byId('lost').hidden = state !== 'lost';
  setText(byId('lost-why'), lostText(why));
  document.body.classList.toggle('stale', state === 'lost');
  drawLine();
}

function lostSince() {
  const time = timeElement(Math.floor(heardAt / 1000), 'ago');
  time.id = 'lost-since';
  return time;
}

function drawLine() {
  byId('line').dataset.state = paused && state === 'live' ? 'paused' : state;
  setText(byId('line-text'), paused && state === 'live' ? 'Paused' : LINE_TEXT[state]);
  if (state !== 'lost') return;
  const seconds = retryAt === null ? 0 : Math.ceil((retryAt - Date.now()) / 1000);
  setText(byId('retry'), seconds > 0 ? `Trying again in ${seconds} s.` : 'Trying again…');
  drawAges();
}

function drawAges() {
  const now = (Date.now() + clockAhead) / 1000;
  for (const time of document.querySelectorAll('time[data-utime]')) {
    const seconds = now - Number(time.dataset.utime);
    setText(time, time.dataset.form === 'ago' ? ago(seconds) : age(seconds));
  }
}

byId('pause').addEventListener('click', ({ currentTarget }) => {
  paused = !paused;
  currentTarget.setAttribute('aria-pressed', String(paused));
  setText(currentTarget, paused ? 'Resume' : 'Pause');
  drawLine();
  drawSoon();
});

setInterval(() => {
  if (document.hidden) return;
  drawAges();
  drawLine();
}, 1_000);

mindSearch();
openLine('live', ['beat', 'service', 'chain', 'status', 'trouble'], { event: received, state: lineState });
