/** Accounts, hashes, amounts and actions as elements that lead to their pages. */
import { book, ROOT, tokenOf } from './ask.js';
import { copyButton, element } from './elements.js';
import { exactAmount, exactTons, moment, short, tons } from './format.js';
import { tell } from './words.js';

/** Base64 of 32 bytes as hex, which needs no escape in a path. */
export function hexOf(base64) {
  const bytes = atob(base64.replaceAll('-', '+').replaceAll('_', '/'));
  return Array.from(bytes, (byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}

/** As it is shown: the name, a long one cut, else the form for people, cut in the middle unless `whole`. */
export function accountName(address, whole = false) {
  const row = book.rows.get(address);
  if (row?.domain) return short(row.domain, 40, 8);
  const friendly = row?.user_friendly ?? address;
  return whole ? friendly : short(friendly, 6, 6);
}

export function accountLink(address, { page = 'account', whole = false } = {}) {
  const row = book.rows.get(address);
  const friendly = row?.user_friendly ?? address;
  const shown = accountName(address, whole);
  return element(
    'a',
    { href: `${ROOT}${page}/${friendly}`, title: friendly, class: 'account' },
    row?.domain ? named(shown) : shown,
  );
}

export function hashLink(hash, page = 'tx') {
  return element('a', { href: `${ROOT}${page}/${hexOf(hash)}`, title: hash, class: 'hash' }, short(hash));
}

export function blockLink({ workchain, shard, seqno }) {
  const text = workchain === -1 ? String(seqno) : `${workchain}:${shard.replace(/0+$/, '')}:${seqno}`;
  return element('a', { href: `${ROOT}block/${workchain},${shard},${seqno}` }, text);
}

export function copied(text, what) {
  return element('span', { class: 'whole' }, text, copyButton(text, what));
}

export function timeOf(utime) {
  return element('time', { datetime: new Date(utime * 1000).toISOString() }, moment(utime));
}

export function tonsOf(nanotons) {
  return element('span', { title: `${exactTons(nanotons)} TON`, class: 'amount' }, `${tons(nanotons, 4)} TON`);
}

const USUAL_DECIMALS = 9;
const MOST_DECIMALS = 255;

/**
 * Decimals of a jetton: a number from 0 to 255 in digits, 9 without (TEP-64). A master whose metadata lacks something
 * else, as a document that could not be fetched, tells them all the same.
 */
export function decimalsOf(master) {
  const told = book.metadata.get(master)?.token_info ?? [];
  const decimals = told.find(({ type }) => type === 'jetton_masters')?.extra?.decimals;
  if (!/^\d{1,3}$/.test(String(decimals))) return USUAL_DECIMALS;
  return Number(decimals) <= MOST_DECIMALS ? Number(decimals) : USUAL_DECIMALS;
}

/** A name that anybody may have chosen: text with a direction of its own, a long one cut. */
export function named(text) {
  return element('bdi', {}, short(text, 40, 8));
}

export function tokensOf(amount, master) {
  const token = tokenOf(master);
  const exact = exactAmount(amount, decimalsOf(master));
  const name = token?.symbol?.trim() || token?.name?.trim() || short(accountName(master), 8, 4);
  const link = accountLink(master, { page: 'jetton' });
  link.replaceChildren(named(name));
  return element('span', { class: 'amount' }, `${exact} `, link);
}

/** An item or a collection by its name, where that is known. */
export function itemLink(address) {
  const link = accountLink(address);
  const name = tokenOf(address)?.name?.trim();
  if (name) link.replaceChildren(named(name));
  return link;
}

/** The words of an action, with links. */
export function actionWords(action) {
  return tell(action).map((part) => {
    if (typeof part === 'string') return part;
    if (part.kind === 'tons') return tonsOf(part.value);
    if (part.kind === 'tokens') return part.asset === null ? tonsOf(part.value) : tokensOf(part.value, part.asset);
    if (part.kind === 'text') return element('bdi', {}, short(part.value, 300, 20));
    return part.kind === 'item' ? itemLink(part.value) : accountLink(part.value);
  });
}

/** A line of a list of actions: what was done, and when. */
export function actionLine(action) {
  const time = element('span', { class: 'when' }, timeOf(action.end_utime), ' ', hashLink(action.trace_id));
  const words = element('span', {}, ...actionWords(action));
  return element('li', { 'data-action': action.action_id, class: action.success ? '' : 'failed' }, words, time);
}
