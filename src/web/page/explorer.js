/** Finds out which page it is, makes it, and minds the search box. */
import { accountPage } from './account-page.js';
import { blockPage } from './block-page.js';
import { chartsPage } from './charts-page.js';
import { byId, say, setText } from './elements.js';
import { sentence } from './format.js';
import { jettonPage } from './jetton-page.js';
import { refusal } from './layout.js';
import { named } from './links.js';
import { pipelinePage } from './pipeline-page.js';
import { mindSearch } from './search.js';
import { sqlPage } from './sql-page.js';
import { accountsPage, jettonsPage } from './top-pages.js';
import { transactionPage } from './transaction-page.js';

const PAGES = {
  tx: transactionPage,
  account: accountPage,
  jetton: jettonPage,
  block: blockPage,
  charts: chartsPage,
  sql: sqlPage,
  pipeline: pipelinePage,
  top: (list) => (list === 'jettons' ? jettonsPage() : accountsPage()),
};

/** What a page is named by, where the API refuses a name that is none. */
const NAMED = { tx: 'hash', account: 'address', jetton: 'address', block: 'block' };

/** After this long it is said that it takes long. */
const LONG_MS = 5_000;
const LONG = 'Still asking: the service is busy, or the connection is slow.';

const [kind, subject] = location.pathname.split('/').slice(-2).map(decodeURIComponent);
const main = byId('main');

function show(...sections) {
  byId('waiting')?.remove();
  main.append(...sections);
  main.setAttribute('aria-busy', 'false');
}

mindSearch();

const late = setTimeout(() => {
  setText(byId('waiting'), LONG);
  say(LONG);
}, LONG_MS);
try {
  const { title, sections, begin } = await PAGES[kind](subject);
  document.title = `${title} · tonstream`;
  show(...sections);
  begin?.();
} catch (error) {
  document.title = 'Not shown · tonstream';
  // Whoever wrote a link chose the name in it.
  const isNoName = error.status === 422 && Object.hasOwn(NAMED, kind);
  show(refusal(error, isNoName ? [named(subject), ` is no ${NAMED[kind]}.`] : [sentence(error.message)]));
} finally {
  clearTimeout(late);
}
