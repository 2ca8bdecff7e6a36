/** An account: what it is, what it holds, what it did. */
import { ApiError, apiUrl, ask, book, ROOT } from './ask.js';
import { element, say } from './elements.js';
import { short } from './format.js';
import { addRows, card, facts, heading, moreButton, table } from './layout.js';
import { accountLink, accountName, actionLine, copied, hashLink, timeOf, tokensOf, tonsOf } from './links.js';
import { failureOf, operationOf } from './trace-graph.js';

const PAGE = 25;
const HELD = 50;
/** What waits is looked at again after this long, though nobody told of it. */
const WAITING_MS = 2_000;
const HISTORY = ['Transaction', 'Time', 'Operation', 'Value', 'Fees', 'Outcome'];

export async function accountPage(given) {
  const { accounts } = await ask('accountStates', { address: given, include_boc: false });
  const [account] = accounts;
  if (account === undefined) throw new ApiError('Nothing is indexed of this account.', 404);
  const { address } = account;
  const [jettons, items, actions, history, wallets] = await Promise.all([
    ask('jetton/wallets', { owner_address: address, exclude_zero_balance: true, limit: HELD }),
    ask('nft/items', { owner_address: address, limit: HELD }),
    ask('actions', { account: address, limit: PAGE }),
    ask('transactions', { account: address, limit: PAGE }),
    ask('walletStates', { address }),
  ]);
  const friendly = book.rows.get(address)?.user_friendly ?? address;
  const state = element('div', {}, stateFacts(account, wallets.wallets[0]));
  const done = actionList(actions.actions);
  const past = table('Transactions', HISTORY, historyRows(history.transactions));
  const body = past.querySelector('tbody');
  /** What is not final yet, on top. */
  const waiting = element('tbody', { class: 'waiting' });
  body.before(waiting);
  const live = element('span', { class: 'pill', id: 'line', 'data-state': 'connecting' }, 'Connecting');
  const sections = [
    heading(book.rows.get(address)?.domain ?? 'Account', copied(friendly, 'address'), live),
    card('State', state, [jsonLink('accountStates', { address })]),
    ...held(jettons.jetton_wallets, items.nft_items),
    card(
      'Actions',
      withMore(done, 'actions', { account: address }, actions, ({ actions: more }) => {
        done.append(...more.map(actionLine));
      }),
    ),
    card(
      'Transactions',
      withMore(past, 'transactions', { account: address }, history, ({ transactions }) => {
        addRows(body, HISTORY, historyRows(transactions));
      }),
    ),
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
    prepend(body, newest.transactions, historyRows);
    const final = new Set(newest.transactions.map(messageOf));
    const shown = unsure.filter((transaction) => !final.has(messageOf(transaction)));
    waiting.replaceChildren();
    addRows(waiting, HISTORY, unsureRows(shown));
    const known = new Set(Array.from(done.children, (line) => line.dataset.action));
    done.prepend(...told.actions.filter(({ action_id: id }) => !known.has(id)).map(actionLine));
    return shown.length > 0;
  };
  return { title: `${accountName(address)} · account`, sections, begin: () => follow(address, live, refresh) };
}

/** Rows of transactions that are not shown yet, on top. */
function prepend(body, transactions, toRows) {
  const known = new Set(Array.from(body.querySelectorAll('a.hash'), (link) => link.title));
  const fresh = transactions.filter(({ hash }) => !known.has(hash));
  const rows = element('tbody', {});
  addRows(rows, HISTORY, toRows(fresh));
  body.prepend(...rows.children);
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
 * Hears of the account's transactions over the stream, from the moment they are sent, and asks again then, once at a
 * time; and as long as something waits that may come to nothing.
 */
function follow(address, pill, refresh) {
  const query = new URLSearchParams({
    types: 'transactions',
    addresses: address,
    min_finality: 'pending',
    finality_scope: 'transaction',
  });
  const source = new EventSource(`${ROOT}api/streaming/v2/sse?${query}`);
  const tell = (state, text) => {
    pill.dataset.state = state;
    pill.textContent = text;
  };
  let asking = false;
  let again = false;
  let later = 0;
  async function update(event) {
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    clearTimeout(later);
    do {
      again = false;
      try {
        if (await refresh()) later = setTimeout(update, WAITING_MS);
        if (event?.type === 'event') say('The account has new transactions');
      } catch (error) {
        tell('lost', error.message);
      }
    } while (again);
    asking = false;
  }
  source.addEventListener('connected', () => tell('live', 'Live'));
  source.addEventListener('connected', update);
  source.addEventListener('event', (event) => {
    // That it goes on where it was: `connected` has said so.
    if (JSON.parse(event.data).type !== 'caught_up') void update(event);
  });
  source.onerror = () => tell('lost', 'Connection lost');
  addEventListener('pagehide', () => source.close());
}

function stateFacts(account, wallet) {
  const interfaces = account.interfaces ?? [];
  const isJetton = interfaces.includes('jetton_master');
  return facts([
    ['Balance', tonsOf(account.balance ?? '0')],
    ['Status', account.status],
    ['Is', interfaces.length === 0 ? (wallet?.wallet_type ?? null) : interfaces.join(', ')],
    ['Seqno', wallet?.seqno === undefined || wallet.seqno === null ? null : String(wallet.seqno)],
    ['Jetton', isJetton ? accountLink(account.address, { page: 'jetton' }) : null],
    ['Last transaction', account.last_transaction_hash ? hashLink(account.last_transaction_hash) : null],
    ['Code hash', account.code_hash ?? null],
    ['Raw address', account.address.toLowerCase()],
  ]);
}

function held(wallets, items) {
  const sections = [];
  if (wallets.length > 0) {
    const rows = wallets.map((wallet) => [tokensOf(wallet.balance, wallet.jetton), accountLink(wallet.address)]);
    sections.push(card('Jettons', table('Jettons', ['Balance', 'Wallet'], rows)));
  }
  if (items.length > 0) {
    const rows = items.map((item) => [
      accountLink(item.address),
      item.collection_address === null ? 'none' : accountLink(item.collection_address),
      item.on_sale ? 'on sale' : '',
    ]);
    sections.push(card('NFTs', table('NFTs', ['Item', 'Collection', 'Sale'], rows)));
  }
  return sections;
}

function actionList(actions) {
  return element('ol', { class: 'actions' }, ...actions.map(actionLine));
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

/** What is shown, and a button for what is older, which the answers' cursors lead to. */
function withMore(shown, endpoint, parameters, first, add) {
  let cursor = first.next_cursor ?? null;
  const box = element('div', {}, shown);
  if (cursor === null) return box;
  const button = moreButton(async () => {
    const page = await ask(endpoint, { ...parameters, limit: PAGE, cursor });
    add(page);
    cursor = page.next_cursor ?? null;
    return cursor !== null;
  });
  box.append(button);
  return box;
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
