/** The pipeline: lag, throughput, rows, what is left out, and what to do while there is nothing. */
import { byId, copyButton, element, setText } from './elements.js';
import { count, plural, rate } from './format.js';

/** A step or two are on their way through the pipeline while a chain is followed: that is no lag to warn of. */
const USUAL_LAG = 2;

export function renderStatus({ log, projected, lag, rows, gaps, perSecond }) {
  setText(byId('lag'), plural(lag, 'step'));
  byId('lag').dataset.level = lag > USUAL_LAG ? 'behind' : 'even';
  setText(byId('lag-note'), log === null ? 'the log is empty' : `log ${log} · tables ${projected ?? 'empty'}`);
  setText(byId('rate'), perSecond === null ? '–' : `${rate(perSecond)} tx/s`);
  setText(byId('total'), count(rows.transactions ?? 0));
  setText(byId('total-note'), `in ${plural(rows.blocks ?? 0, 'block')}`);
  byId('gaps').hidden = gaps === 0;
  if (gaps > 0)
    setText(
      byId('gaps-text'),
      `${plural(gaps, 'step')} could not be decoded and ${gaps === 1 ? 'is' : 'are'} left out.`,
    );
  renderRows(rows);
}

function renderRows(rows) {
  const list = byId('rows');
  byId('tables').hidden = false;
  for (const [table, number] of Object.entries(rows)) {
    let figure = list.querySelector(`dd[data-table="${CSS.escape(table)}"]`);
    if (figure === null) {
      figure = element('dd', { 'data-table': table });
      list.append(element('div', {}, element('dt', {}, table.replaceAll('_', ' ')), figure));
    }
    setText(figure, count(number));
  }
}

const PARTS = { chain: 'Blocks and transactions', status: 'Lag and row counts' };

export function renderTrouble(parts) {
  const notice = byId('trouble');
  notice.hidden = parts.length === 0;
  const names = parts.map((part) => PARTS[part] ?? part).join(', ');
  if (parts.length > 0) {
    setText(notice, `${names} cannot be read just now: those you see are older. The service keeps trying.`);
  }
}

const IMPORT = ['Import blocks from files', 'npx tonstream import <files>'];
const WAYS = [
  IMPORT,
  ['Start a local chain with traffic', 'npx tonstream start --network devnet'],
  ['Follow the main network', 'npx tonstream start --network mainnet'],
];

/** `network`: what the service follows; `none` when it only serves what is imported, `custom` when it has no name. */
export function renderEmpty(network) {
  const follows = network !== 'none';
  const name = network === 'custom' ? 'the network' : network;
  setText(byId('empty-title'), follows ? `Waiting for the first block of ${name}` : 'Nothing is indexed yet');
  const text = follows
    ? 'No step is in the tables yet. The first one mostly takes a few seconds.'
    : 'This service follows no chain. Import into it from another terminal, with the same data folder or Kafka settings; or stop it and start it on a chain.';
  setText(byId('empty-text'), text);
  byId('empty-ways').replaceChildren(...(follows ? [] : WAYS.map(wayElement)));
}

function wayElement([name, command]) {
  const line = element('div', { class: 'command' }, element('code', {}, command), copyButton(command, 'command'));
  return element('li', {}, element('span', {}, name), line);
}
