/** An account: what it is, what it holds, what it did. */
import { ApiError, apiUrl, ask, atMost, book, ROOT, tokenOf } from './ask.js';
import { element, say, setText } from './elements.js';
import { extraCurrencies, moment, short } from './format.js';
import { addRows, card, facts, heading, moreButton, pagedTable, table } from './layout.js';
import {
  accountLink,
  accountName,
  actionLine,
  copied,
  hashLink,
  itemLink,
  named,
  timeOf,
  tokensOf,
  tonsOf,
} from './links.js';
import { LINE_TEXT, lostText, openLine } from './live.js';
import { failureOf, operationOf } from './trace-graph.js';

const PAGE = atMost(25);
const HELD = atMost(50);
/** Of a list that grows by itself; a longer one begins anew with its newest page. */
const MOST = 500;
/** What waits is looked at again after this long, though nobody told of it. */
const WAITING_MS = 2_000;
/** Between two times that it asks, however much the account does. */
const EVERY_MS = 1_000;
/** After a failure that nothing else ends. */
const RETRY_MS = 5_000;
/** Between two times that a screen reader is told of what is new. */
const SAY_EVERY_MS = 30_000;
const HISTORY = ['Transaction', 'Time', 'Operation', 'Value', 'Fees', 'Outcome'];

export async function accountPage(given) {
  const { accounts } = await ask('accountStates', { address: given, include_boc: false });
  const [account] = accounts;
  if (account === undefined) throw new ApiError('Nothing is indexed of this account.', 404);
  const { address } = account;
  const [jettons, items, actions, history, wallets] = await Promise.all([
    jettonsOf(address, 0),
    itemsOf(address, 0),
    ask('actions', { account: address, limit: PAGE }),
    ask('transactions', { account: address, limit: PAGE }),
    ask('walletStates', { address }),
  ]);
  const friendly = book.rows.get(address)?.user_friendly ?? address;
  const state = element('div', {}, stateFacts(account, wallets.wallets[0]));
  const done = element('ol', { class: 'actions' });
  const acted = growing(done, done, actions, {
    endpoint: 'actions',
    parameters: { account: address },
    itemsOf: (answer) => answer.actions,
    keyOf: ({ action_id: id }) => id,
    make: (items) => items.map(actionLine),
  });
  const past = table('Transactions', HISTORY, []);
  const body = past.querySelector('tbody');
  const listed = growing(past, body, history, {
    endpoint: 'transactions',
    parameters: { account: address },
    itemsOf: (answer) => answer.transactions,
    keyOf: ({ hash }) => hash,
    make: rowsOf,
  });
  /** What is not final yet, on top. */
  const waiting = element('tbody', { class: 'waiting' });
  body.before(waiting);
  const live = element('span', { class: 'pill', id: 'line', 'data-state': 'connecting' }, 'Connecting');
  const lost = element('p', { class: 'notice bad', id: 'lost', hidden: '' });
  const sections = [
    heading(book.rows.get(address)?.domain ?? 'Account', copied(friendly, 'address'), live),
    lost,
    card('State', state, [jsonLink('accountStates', { address })]),
    ...held(address, jettons, items),
    card('Actions', acted.box),
    card('Transactions', listed.box),
    card('Get-method', methodForm(address)),
  ];
  const refresh = async () => {
    // First what waits: what becomes final meanwhile is in what is asked for behind it.
    const unsure = await unsureOf(address);
    const [states, newest, told] = await Promise.all([
      ask('accountStates', { address, include_boc: false }),
      ask('transactions', { account: address, limit: PAGE }),
      ask('actions', { account: address, limit: PAGE }),
    ]);
    state.replaceChildren(stateFacts(states.accounts[0], wallets.wallets[0]));
    listed.take(newest);
    const final = new Set(newest.transactions.map(messageOf));
    const shown = unsure.filter((transaction) => !final.has(messageOf(transaction)));
    waiting.replaceChildren();
    addRows(waiting, HISTORY, unsureRows(shown));
    acted.take(told);
    return shown.length > 0;
  };
  return {
    title: `${accountName(address)} · account`,
    sections,
    begin: () => follow(address, { pill: live, lost }, refresh),
  };
}

/** Transactions as rows of a table. */
function rowsOf(transactions) {
  const rows = element('tbody', {});
  addRows(rows, HISTORY, historyRows(transactions));
  return [...rows.children];
}

const messageOf = ({ hash, in_msg: message }) => message?.hash ?? hash;

/** The account's transactions in traces that are not final, newest first. */
async function unsureOf(address) {
  const { traces } = await ask('pendingTraces', { account: address }).catch((error) => {
    if (error.status === 404) return { traces: [] };
    throw error;
  });
  const all = traces.flatMap((trace) => Object.values(trace.transactions ?? {}));
  return all
    .filter(({ account, finality }) => account === address && finality !== 'finalized')
    .sort((a, b) => (BigInt(a.lt) < BigInt(b.lt) ? 1 : -1));
}

/** They have no page yet. */
function unsureRows(transactions) {
  return transactions.map((transaction) => [
    element('span', { class: 'hash', title: transaction.hash }, short(transaction.hash)),
    timeOf(transaction.now),
    operationOf(transaction),
    transaction.in_msg?.value ? tonsOf(transaction.in_msg.value) : '',
    tonsOf(transaction.total_fees),
    transaction.finality,
  ]);
}

/**
 * Hears of the account's transactions over the stream, from the moment they are sent, and asks again then; and as long
 * as something waits that may come to nothing.
 */
function follow(address, { pill, lost }, refresh) {
  const query = new URLSearchParams({
    types: 'transactions',
    addresses: address,
    min_finality: 'pending',
    finality_scope: 'transaction',
  });
  let state = 'connecting';
  let failure = null;
  let isNews = false;
  let saidAt = Number.NEGATIVE_INFINITY;
  let freshAt = Date.now();
  let refused = null;
  function tell() {
    lost.hidden = state !== 'lost';
    setText(lost, `${lostText(refused)} What you see is from ${moment(freshAt / 1000)}. Trying again.`);
    const isFailing = failure !== null && state === 'live';
    pill.dataset.state = isFailing ? 'lost' : state;
    setText(pill, isFailing ? failure : LINE_TEXT[state]);
  }
  const askSoon = inTurn(refresh, (error) => {
    failure = error?.message ?? null;
    if (failure === null) freshAt = Date.now();
    if (isNews && failure === null) {
      isNews = false;
      if (performance.now() - saidAt >= SAY_EVERY_MS) {
        saidAt = performance.now();
        say('The account has new transactions');
      }
    }
    tell();
  });
  openLine(`${ROOT}api/streaming/v2/sse?${query}`, ['connected', 'event'], {
    event(kind, { type }) {
      // That it goes on where it was: `connected` has said so.
      if (type === 'caught_up') return;
      isNews ||= kind === 'event';
      askSoon();
    },
    state(to, _retryAt, why) {
      if (to === 'lost' && state !== 'lost') say('Connection lost');
      else if (to === 'live' && state === 'lost') say('Connected again');
      state = to;
      refused = why;
      tell();
    },
  });
}

/**
 * A function that has `refresh` called, once at a time and not all the time. It is called again while it says that
 * something waits, and after an error; `done` hears of each end, with the error or null.
 */
function inTurn(refresh, done) {
  let asking = false;
  let again = false;
  let askedAt = Number.NEGATIVE_INFINITY;
  let later = 0;
  async function update() {
    asking = true;
    again = false;
    askedAt = performance.now();
    let error = null;
    const waits = await refresh().catch((thrown) => {
      error = thrown;
    });
    asking = false;
    done(error);
    if (error !== null) askIn(RETRY_MS);
    else if (again || waits) askIn(again ? 0 : WAITING_MS);
  }
  function askIn(ms) {
    clearTimeout(later);
    later = setTimeout(update, Math.max(ms, askedAt + EVERY_MS - performance.now()));
  }
  return () => {
    again = true;
    if (!asking) askIn(0);
  };
}

function stateFacts(account, wallet) {
  const interfaces = account.interfaces ?? [];
  const isJetton = interfaces.includes('jetton_master');
  const name = tokenOf(account.address)?.name?.trim();
  return facts([
    ['Name', name ? named(name) : null],
    ['Balance', tonsOf(account.balance ?? '0')],
    ['Extra currencies', extraCurrencies(account.extra_currencies)],
    ['Status', account.status],
    ['Is', interfaces.length === 0 ? (wallet?.wallet_type ?? null) : interfaces.join(', ')],
    ['Seqno', wallet?.seqno === undefined || wallet.seqno === null ? null : String(wallet.seqno)],
    ['Jetton', isJetton ? accountLink(account.address, { page: 'jetton' }) : null],
    ['Last transaction', account.last_transaction_hash ? hashLink(account.last_transaction_hash) : null],
    ['Code hash', account.code_hash ?? null],
    ['Raw address', account.address.toLowerCase()],
  ]);
}

async function jettonsOf(owner, offset) {
  const asked = { owner_address: owner, exclude_zero_balance: true, limit: HELD, offset };
  return (await ask('jetton/wallets', asked)).jetton_wallets;
}

async function itemsOf(owner, offset) {
  return (await ask('nft/items', { owner_address: owner, limit: HELD, offset })).nft_items;
}

/** @param wallets @param items the first ones */
function held(owner, wallets, items) {
  const sections = [];
  if (wallets.length > 0) {
    const rowsOf = (some) =>
      some.map(({ balance, jetton, address }) => [tokensOf(balance, jetton), accountLink(address)]);
    const page = (offset) => jettonsOf(owner, offset);
    const listed = pagedTable('Jettons', ['Balance', 'Wallet'], { first: wallets, limit: HELD, page, rowsOf });
    sections.push(card('Jettons', listed));
  }
  if (items.length > 0) {
    const rowsOf = (some) =>
      some.map((item) => [
        itemLink(item.address),
        item.collection_address === null ? 'none' : itemLink(item.collection_address),
        item.on_sale ? 'on sale' : '',
      ]);
    const page = (offset) => itemsOf(owner, offset);
    const listed = pagedTable('NFTs', ['Item', 'Collection', 'Sale'], { first: items, limit: HELD, page, rowsOf });
    sections.push(card('NFTs', listed));
  }
  return sections;
}

function historyRows(transactions) {
  return transactions.map((transaction) => [
    hashLink(transaction.hash),
    timeOf(transaction.now),
    operationOf(transaction),
    transaction.in_msg?.value ? tonsOf(transaction.in_msg.value) : '',
    tonsOf(transaction.total_fees),
    failureOf(transaction) ?? 'success',
  ]);
}

/**
 * What `shown` lists in `body`, newest first, from the first answer on, and a button for what is older, which the answers'
 * cursors lead to. `take` puts on top what a later answer has more; where that leaves a gap, or the list is long, it
 * begins anew.
 */
function growing(shown, body, first, { endpoint, parameters, itemsOf, keyOf, make }) {
  const keys = new Set();
  let cursor = null;
  const button = moreButton(async () => {
    const asked = cursor;
    const page = await ask(endpoint, { ...parameters, limit: PAGE, cursor: asked });
    // Else the list has begun anew meanwhile.
    if (cursor === asked) add(itemsOf(page), 'append', page.next_cursor ?? null);
    return cursor !== null;
  });
  const box = element('div', {}, shown);
  function add(items, way, next = cursor) {
    for (const item of items) keys.add(keyOf(item));
    body[way](...make(items));
    cursor = next;
  }
  function begin(answer) {
    keys.clear();
    body.replaceChildren();
    add(itemsOf(answer), 'append', answer.next_cursor ?? null);
    if (cursor === null) button.remove();
    else box.append(button);
  }
  begin(first);
  return {
    box,
    take(answer) {
      const items = itemsOf(answer);
      const fresh = items.filter((item) => !keys.has(keyOf(item)));
      if (fresh.length === 0) return;
      if (fresh.length === items.length || keys.size + fresh.length > MOST) begin(answer);
      else add(fresh, 'prepend');
    },
  };
}

function jsonLink(endpoint, parameters) {
  return element('a', { class: 'more', href: apiUrl(endpoint, parameters) }, 'JSON');
}

/** A get-method without arguments, or with numbers. */
function methodForm(address) {
  const name = element('input', { name: 'method', 'aria-label': 'Method', placeholder: 'seqno', required: '' });
  const numbers = element('input', {
    name: 'numbers',
    'aria-label': 'Numbers',
    placeholder: 'numbers, separated by spaces',
  });
  const result = element('pre', { id: 'result', 'aria-live': 'polite' });
  const form = element('form', { class: 'method' }, name, numbers, element('button', { class: 'quiet' }, 'Run'));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const values = numbers.value.split(/\s+/).filter((text) => text !== '');
    const stack = values.map((value) => ({ type: 'num', value }));
    try {
      const answer = await ask('runGetMethod', {}, { address, method: name.value.trim(), stack });
      result.textContent = JSON.stringify(
        { exit_code: answer.exit_code, gas_used: answer.gas_used, stack: answer.stack },
        null,
        1,
      );
    } catch (error) {
      result.textContent = error.message;
    }
  });
  return element('div', { class: 'inside' }, form, result);
}
