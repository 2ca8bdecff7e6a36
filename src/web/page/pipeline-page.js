/** Where each stage of the service stands, from `/status`, `/metrics` and the API, kept up to date. */
import { answerOf, apiUrl, askAt, ROOT } from './ask.js';
import { element, setText } from './elements.js';
import { age, count, plural, rate, sentence } from './format.js';
import { card, heading, none, table } from './layout.js';
import { blockLink, timeOf } from './links.js';

const EVERY_MS = 2_000;
/** After this long without an answer it is said that there is none. */
const LATE_MS = 5_000;
/** Rates are over so many samples. */
const SAMPLES = 15;
/** Figures of `/metrics` that tell of queues and of what was refused or went wrong. */
const FIGURES = [
  ['tonstream_gaps', 'Steps left out'],
  ['tonstream_queries_rejected_total', 'Queries refused: the queue before ClickHouse was full'],
  ['tonstream_connections_refused_total', 'Connections refused'],
  ['tonstream_feed_lines', 'Listeners of the feed'],
  ['tonstream_feed_lines_behind', 'Listeners behind the head'],
  ['tonstream_webhooks', 'Webhooks'],
  ['tonstream_webhooks_failing', 'Webhooks whose target fails'],
  ['tonstream_tvm_queued', 'Contracts waiting to be run'],
  ['tonstream_pending_traces', 'Pending traces'],
  ['tonstream_worker_restarts_total', 'Workers started again'],
];

const STAGES = [
  ['Ingest', 'the newest step in the log'],
  ['Project', 'the newest step in the tables'],
  ['Answer', 'the newest step that is shown'],
];

export async function pipelinePage() {
  const title = 'Pipeline';
  const cells = STAGES.map(([name, about]) => {
    const head = element('td', { 'data-stage': name });
    return { head, lag: element('td', {}), rate: element('td', {}), name, about };
  });
  const body = cells.map(({ name, about, head, lag, rate: pace }) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, name, element('span', { class: 'hint' }, ` ${about}`)),
      head,
      lag,
      pace,
    ),
  );
  const columns = ['Stage', 'Masterchain block', 'Behind the one before', 'Steps a second'];
  const stages = element(
    'table',
    { class: 'plain', 'aria-label': title },
    element('thead', {}, element('tr', {}, ...columns.map((name) => element('th', { scope: 'col' }, name)))),
    element('tbody', {}, ...body),
  );
  const newest = element('p', { class: 'hint', id: 'newest' });
  const old = element('span', {});
  let newestAt = 0;
  const tellAge = () => setText(old, `${age(Date.now() / 1000 - newestAt)} old`);
  const gaps = element('div', {});
  const figures = element('dl', { class: 'facts' });
  const samples = [];

  async function refresh() {
    const [status, { last, error }, metrics] = await Promise.all([
      askAt(`${ROOT}status`),
      // Refused while there is no block: the stages before are what is looked at then.
      askAt(apiUrl('masterchainInfo')).catch(({ message }) => ({ error: message })),
      metricsOf(),
    ]);
    const heads = [status.log.mc_seqno, status.projected.mc_seqno, last?.seqno ?? null];
    samples.push({ at: performance.now(), heads });
    if (samples.length > SAMPLES) samples.shift();
    const lags = [null, status.lag_steps, Math.max(0, (heads[1] ?? 0) - (heads[2] ?? 0))];
    cells.forEach((cell, stage) => {
      setText(cell.head, heads[stage] === null ? 'none' : String(heads[stage]));
      setText(cell.lag, lags[stage] === null ? '' : plural(lags[stage], 'step'));
      setText(cell.rate, paceOf(samples, stage));
    });
    if (last === undefined) newest.replaceChildren(`No block is shown: ${error}`);
    else {
      newestAt = Number(last.gen_utime);
      tellAge();
      newest.replaceChildren('Newest block shown: ', blockLink(last), ', ', timeOf(newestAt), ', ', old);
    }
    gaps.replaceChildren(gapsTable(status.gaps));
    figures.replaceChildren(
      ...FIGURES.flatMap(([name, words]) =>
        metrics.has(name)
          ? [element('dt', {}, words), element('dd', { 'data-metric': name }, count(metrics.get(name)))]
          : [],
      ),
    );
  }

  await refresh();
  const sections = [
    heading(title),
    card('Stages', element('div', { class: 'scroll' }, stages, newest), [
      element('a', { class: 'more', href: `${ROOT}status` }, 'Status'),
      element('a', { class: 'more', href: `${ROOT}metrics` }, 'Metrics'),
    ]),
    card('Gaps', gaps),
    card('Queues and refusals', figures),
  ];
  const lost = element('p', { class: 'notice bad', role: 'alert' });
  const begin = () => {
    setInterval(tellAge, 1_000);
    void keepFresh(refresh, lost);
  };
  return { title, sections, begin };
}

/** One after the other, while the page is looked at. */
async function keepFresh(refresh, lost) {
  const tell = (what) => {
    setText(lost, `${sentence(what)} What you see is older; trying again.`);
    // What is put in its place once more is said once more.
    if (!lost.isConnected) document.querySelector('.about').after(lost);
  };
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    if (document.hidden) continue;
    const late = setTimeout(tell, LATE_MS, 'The service has not answered yet.');
    try {
      await refresh();
      lost.remove();
    } catch (error) {
      tell(error.message);
    } finally {
      clearTimeout(late);
    }
  }
}

function paceOf(samples, stage) {
  const [first, last] = [samples[0], samples[samples.length - 1]];
  const seconds = (last.at - first.at) / 1000;
  if (seconds === 0 || first.heads[stage] === null || last.heads[stage] === null) return '–';
  return rate((last.heads[stage] - first.heads[stage]) / seconds);
}

function gapsTable(gaps) {
  if (gaps.length === 0) return none('Every step of the log is in the tables.');
  const rows = gaps.map(({ mc_seqno: seqno, block, error }) => [String(seqno), block, error]);
  return table('Gaps', ['Step', 'Block', 'Why'], rows);
}

/** Sums over labels, by name. */
async function metricsOf() {
  const { text } = await answerOf(`${ROOT}metrics`);
  const sums = new Map();
  for (const line of text.split('\n')) {
    const [, name, value] = /^([a-z_]+)(?:\{.*\})? ([-+.\deE]+)$/.exec(line) ?? [];
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}
