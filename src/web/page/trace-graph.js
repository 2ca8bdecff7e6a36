/** A trace as a graph: transactions are boxes, messages are the lines between them. */
import { book, ROOT, tokenOf } from './ask.js';
import { element, svg } from './elements.js';
import { short, tons } from './format.js';
import { accountName, hexOf } from './links.js';
import { layOut, MOST_DRAWN } from './trace-layout.js';

const BOX = { width: 196, height: 46 };
const GAP = { x: 112, y: 16 };
const EDGE = 8;

/** What the in-message asks for, in a word or as its opcode. */
export function operationOf({ in_msg: message, description }) {
  if (!message) return description?.type === 'tick_tock' ? 'system' : '';
  if (message.bounced) return 'bounce';
  const decoded = message.message_content?.decoded?.type ?? message.decoded_opcode;
  if (decoded) return decoded === 'text_comment' ? 'comment' : decoded;
  // The first bits of what comes from outside are mostly those of a signature.
  if (message.source === null) return 'external';
  return message.opcode ?? (message.destination === null ? 'log' : 'transfer');
}

/** Null when the transaction did what it was to do: an account without code runs nothing, and has what it was sent. */
export function failureOf({ description }) {
  const exit = description?.compute_ph?.exit_code;
  if (description?.aborted) {
    const { skipped, reason } = description.compute_ph ?? {};
    if (skipped) return reason === 'no_state' && !description.bounce ? null : (reason ?? 'skipped');
    return exit && exit !== 1 ? `exit code ${exit}` : `action ${description.action?.result_code ?? 'failed'}`;
  }
  return exit && exit !== 1 ? `exit code ${exit}` : null;
}

function nameOf(account) {
  return tokenOf(account)?.name?.trim() || accountName(account);
}

/** The graph of `trace`, or a sentence when it is too large to be drawn. */
export function traceGraph({ trace, transactions }) {
  const total = Object.keys(transactions).length;
  if (total > MOST_DRAWN) return element('p', { class: 'none' }, `A trace of ${total} transactions is not drawn.`);
  const alike = (hash) => {
    const transaction = transactions[hash];
    return `${operationOf(transaction)} ${failureOf(transaction)} ${transaction.in_msg?.value}`;
  };
  const { nodes, columns, rows } = layOut(trace, alike);
  const width = columns * BOX.width + (columns - 1) * GAP.x + 2 * EDGE;
  const height = rows * BOX.height + (rows - 1) * GAP.y + 2 * EDGE;
  const place = ({ column, row }) => ({
    x: EDGE + column * (BOX.width + GAP.x),
    y: EDGE + row * (BOX.height + GAP.y),
  });
  const lines = svg('g', { class: 'messages' });
  const boxes = svg('g', { class: 'boxes' });
  for (const node of nodes) {
    const transaction = transactions[node.hash];
    const { x, y } = place(node);
    if (node.parent !== null) lines.append(...lineTo(place(nodes[node.parent]), { x, y }, transaction));
    boxes.append(boxOf(node, transaction, x, y));
  }
  const drawing = svg('svg', {
    class: 'graph',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    'aria-label': `Graph of ${total} transactions; the list below says the same`,
  });
  drawing.append(lines, boxes);
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Trace graph' }, drawing);
}

function boxOf({ hash, folded }, transaction, x, y) {
  const failure = failureOf(transaction);
  const title = svg('title', {}, book.rows.get(transaction.account)?.user_friendly ?? transaction.account);
  const link = svg('a', { href: `${ROOT}tx/${hexOf(hash)}`, class: failure === null ? 'box' : 'box failed' }, title);
  const text = failure ?? operationOf(transaction);
  link.append(
    svg('rect', { x, y, width: BOX.width, height: BOX.height, rx: 8 }),
    svg('text', { x: x + 12, y: y + 19 }, short(nameOf(transaction.account), 14, 6)),
    svg('text', { x: x + 12, y: y + 36, class: 'operation' }, short(text, 20, 6) + (folded > 1 ? ` × ${folded}` : '')),
  );
  return link;
}

function lineTo(from, to, { in_msg: message }) {
  const start = { x: from.x + BOX.width, y: from.y + BOX.height / 2 };
  const end = { x: to.x, y: to.y + BOX.height / 2 };
  const middle = (start.x + end.x) / 2;
  const kind = message?.bounced ? 'bounced' : 'sent';
  const path = svg('path', {
    class: kind,
    d: `M${start.x} ${start.y}C${middle} ${start.y} ${middle} ${end.y} ${end.x} ${end.y}`,
  });
  if (message?.value === undefined || message.value === null) return [path];
  const label = svg('text', { x: end.x - 6, y: end.y - 5, 'text-anchor': 'end' }, `${tons(message.value, 3)} TON`);
  return [path, label];
}
