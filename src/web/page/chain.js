/** Blocks, transactions and the bars of what the newest steps hold. */
import { apiUrl, ROOT } from './ask.js';
import { byId, copyButton, element, keep, setText, svg } from './elements.js';
import { count, exactTons, moment, plural, rate, short, tons } from './format.js';
import { hexOf } from './links.js';

const BARS = 48;
const BAR_HEIGHT = 44;
const SHOWN_BLOCKS = 9;

const NETWORKS = { '-239': 'mainnet', '-3': 'testnet' };

/** Roles are said again because a table that is laid out as a grid stops to be one for some screen readers. */
function cell(name, ...children) {
  return element('td', { role: 'cell', class: `c-${name}` }, ...children);
}

/** An age that main.js keeps up to date. */
export function timeElement(utime, form = 'age') {
  return element('time', {
    datetime: new Date(utime * 1000).toISOString(),
    title: moment(utime),
    'data-utime': utime,
    'data-form': form,
  });
}

/** `followed`: the network as the service calls it. */
export function renderChain(view, followed) {
  const empty = view.steps.length === 0;
  byId('chain').hidden = empty;
  byId('activity').hidden = empty;
  if (empty) return;
  renderNetwork(view.network, followed);
  setText(byId('head'), String(view.head));
  byId('head-note').replaceChildren(timeElement(view.steps[0].utime, 'ago'));
  setText(byId('rate-note'), view.perSecond === null ? ' ' : `${rate(view.perSecond)} tx/s in chain time`);
  renderActivity(view.activity);
  keep(byId('steps'), view.steps, ({ seqno }) => String(seqno), stepElement);
  keep(byId('transactions'), view.transactions, ({ hash }) => hash, transactionElement);
}

/** A network that is known only by its `global_id` is called by that. */
function renderNetwork(id, followed) {
  const name = NETWORKS[id] ?? (followed === 'devnet' ? followed : `network ${id}`);
  byId('network').hidden = id === null;
  setText(byId('network'), name);
}

/** Newest at the right end; without a value the bar is a mark on the ground line. */
function renderActivity(steps) {
  const highest = Math.max(1, ...steps.map(({ transactions }) => transactions));
  const offset = BARS - steps.length;
  const bars = steps.map(({ seqno, transactions }, index) => {
    const height = transactions === 0 ? 1 : Math.max(2.5, (transactions / highest) * BAR_HEIGHT);
    const name = svg('title', {}, `${seqno}: ${plural(transactions, 'transaction')}`);
    const place = { x: (offset + index) * 10 + 2, y: BAR_HEIGHT - height, width: 6, height };
    return svg('rect', { ...place, class: transactions === 0 ? 'none' : 'some' }, name);
  });
  const chart = byId('bars');
  chart.setAttribute('viewBox', `0 0 ${BARS * 10} ${BAR_HEIGHT}`);
  const range = `${plural(steps.length, 'step')}, at most ${count(highest)}`;
  setText(byId('bars-title'), `Transactions per step: ${range}`);
  chart.querySelector('g').replaceChildren(...bars);
  setText(byId('activity-note'), range);
}

function stepElement(step) {
  const [first, ...rest] = step.blocks;
  const hasMaster = first.workchain === -1;
  const shards = hasMaster ? rest : step.blocks;
  const head = element('div', { class: 'step-head' });
  const name = element('a', { class: 'seqno', href: stepLink(step.seqno) }, String(step.seqno));
  head.append(name);
  if (hasMaster) head.append(copyButton(first.hash, `root hash of masterchain block ${step.seqno}`));
  if (step.keyBlock) head.append(element('span', { class: 'badge key' }, 'key block'));
  head.append(timeElement(step.utime));
  const list = element('ul', { class: 'blocks' });
  if (hasMaster) list.append(blockElement(first, 'masterchain'));
  for (const block of shards.slice(0, SHOWN_BLOCKS))
    list.append(blockElement(block, `${block.workchain}:${shardName(block.shard)}`));
  if (shards.length > SHOWN_BLOCKS) {
    const more = element(
      'a',
      { href: apiUrl('blocks', { mc_seqno: step.seqno }) },
      `${shards.length - SHOWN_BLOCKS} more`,
    );
    list.append(element('li', {}, more));
  }
  return element('li', { class: 'step' }, head, list);
}

function stepLink(seqno) {
  return `${ROOT}block/${seqno}`;
}

/** The zeros at the end of a shard say nothing to a reader. */
function shardName(shard) {
  return shard.replace(/0+$/, '');
}

function blockElement({ workchain, shard, seqno, transactions }, name) {
  const link = element('a', { href: `${ROOT}block/${workchain},${shard},${seqno}` }, name);
  link.title = `${workchain}:${shard}, block ${seqno}`;
  const filled = transactions > 0 ? 'tx' : 'tx none';
  return element(
    'li',
    {},
    link,
    element('span', { class: 'number' }, String(seqno)),
    element('span', { class: filled }, `${count(transactions)} tx`),
  );
}

function transactionElement(transaction) {
  const { hash, account, utime, kind, fees, comment } = transaction;
  const badge = element('span', { class: `badge ${kind}` }, kind);
  const hashLink = element('a', { href: `${ROOT}tx/${hexOf(hash)}`, title: hash }, short(hash));
  const accountLink = element('a', { href: `${ROOT}account/${account}`, title: account }, short(account, 6, 6));
  const row = element(
    'tr',
    { role: 'row' },
    cell('hash', hashLink, copyButton(hash, 'transaction hash')),
    cell('kind', badge),
    cell('account', accountLink, copyButton(account, 'account address'), ...marksOf(transaction)),
    valueCell(transaction),
    cell(
      'fees',
      element('span', { class: 'unit' }, 'fees '),
      element('span', { title: `${exactTons(fees)} TON` }, tons(fees, 6)),
    ),
    cell('age', timeElement(utime)),
  );
  if (comment !== null) row.append(cell('comment', element('q', {}, element('bdi', {}, comment))));
  return row;
}

function valueCell({ value, direction }) {
  if (value === null) return cell('value', element('span', { class: 'nothing', 'aria-label': 'none' }, '–'));
  const amount = tons(value, 4);
  const sign = value === '0' || amount.startsWith('<') ? '' : direction === 'in' ? '+' : '−';
  const text = element('span', { class: value === '0' ? 'nothing' : direction, title: `${exactTons(value)} TON` });
  text.append(`${sign}${amount}`, element('span', { class: 'unit' }, ' TON'));
  return cell('value', text);
}

/** What was called, and what went wrong. */
function marksOf({ opcode, failure }) {
  const marks = [];
  if (opcode !== null) marks.push(element('span', { class: 'opcode', title: 'opcode' }, opcode));
  if (failure !== null) marks.push(element('span', { class: 'failure' }, failure));
  return marks;
}
