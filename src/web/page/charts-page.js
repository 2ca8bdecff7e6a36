/** Hours or days of the chain as charts, each asked of `/api/stats`. */
import { ask, askAt, atMost, tokenOf } from './ask.js';
import { element } from './elements.js';
import { count } from './format.js';
import { card, heading, none, table } from './layout.js';
import { accountLink, accountName, named } from './links.js';
import { jsonLink, seriesChart, seriesUrl } from './series.js';

const NANO = 1e9;

const CHARTS = [
  ['transactions', 'Transactions'],
  ['active_accounts', 'Active accounts'],
  ['failed_transactions', 'Failed transactions'],
  ['messages', 'Messages'],
  ['traces', 'Traces'],
  ['fees', 'Fees, TON'],
  ['value', 'Value moved, TON'],
  ['gas', 'Gas'],
  ['new_accounts', 'New accounts'],
  ['blocks', 'Blocks'],
];

const TOPS = [
  ['actions', 'Actions by type'],
  ['opcodes', 'Messages by opcode'],
  ['jettons', 'Transfers by jetton'],
];
const LISTED = 12;

export async function chartsPage(subject) {
  const resolution = subject === 'day' ? 'day' : 'hour';
  const title = `Charts by ${resolution}`;
  const statsUrl = (series, more = {}) => seriesUrl(series, { resolution, ...more });
  const [counters, series, tops] = await Promise.all([
    tried(statsUrl('counters')),
    Promise.all(CHARTS.map(([name]) => tried(statsUrl(name)))),
    Promise.all(TOPS.map(([name]) => tried(statsUrl(name, { limit: 256 })))),
  ]);
  const cardOf = (caption, name, { failure }, shown) =>
    card(caption, failure === undefined ? shown() : notShown(failure), [jsonLink(statsUrl(name))]);
  const charts = CHARTS.map(([name, caption], at) =>
    cardOf(caption, name, series[at], () => {
      const { unit, points } = series[at];
      const scale = unit === 'nanotons' ? NANO : 1;
      const scaled = points.map((point) => ({ ...point, value: Number(point.value) / scale }));
      return seriesChart(caption, name, { points: scaled, resolution });
    }),
  );
  const listed = tops.map(({ points = [] }) => mostOf(points));
  await namesOf(listed[TOPS.findIndex(([name]) => name === 'jettons')]);
  const lists = TOPS.map(([name, caption], at) =>
    cardOf(caption, name, tops[at], () => topTable(caption, tops[at].unit, listed[at])),
  );
  const other = resolution === 'day' ? ['hour', 'Hours'] : ['day', 'Days'];
  const about = heading(
    title,
    element(
      'p',
      { class: 'hint' },
      'Times are UTC. ',
      counters.failure === undefined ? `Exact as of masterchain block ${count(counters.mc_seqno)}. ` : '',
      element('a', { href: other[0] }, other[1]),
    ),
  );
  return { title, sections: [about, element('div', { class: 'charts' }, ...charts, ...lists)] };
}

/** A series, or why there is none: what is slow leaves the others shown. */
async function tried(url) {
  try {
    return await askAt(url);
  } catch (error) {
    return { failure: error.message };
  }
}

function notShown(failure) {
  return element('p', { class: 'notice bad', role: 'alert' }, failure);
}

/** What all buckets together have most of, and how many. */
function mostOf(points) {
  const sums = new Map();
  for (const { value } of points)
    for (const row of value) sums.set(row.subject, (sums.get(row.subject) ?? 0) + row.count);
  return [...sums].sort(([, a], [, b]) => b - a).slice(0, LISTED);
}

function topTable(caption, unit, listed) {
  if (listed.length === 0) return none('None yet.');
  return table(
    caption,
    ['', unit[0].toUpperCase() + unit.slice(1)],
    listed.map(([subject, sum]) => [subjectOf(subject), count(sum)]),
  );
}

async function namesOf(listed) {
  const limit = atMost(listed.length);
  const address = listed.slice(0, limit).map(([subject]) => subject);
  if (limit > 0) await ask('jetton/masters', { address, limit });
}

function subjectOf(subject) {
  if (subject === '') return 'no opcode';
  if (!subject.includes(':')) return subject.replaceAll('_', ' ');
  const link = accountLink(subject, { page: 'jetton' });
  link.replaceChildren(named(tokenOf(subject)?.name?.trim() || accountName(subject)));
  return link;
}
