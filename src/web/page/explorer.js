/** Finds out which page it is, makes it, and minds the search box. */
import { accountPage } from './account-page.js';
import { blockPage } from './block-page.js';
import { chartsPage } from './charts-page.js';
import { byId, element } from './elements.js';
import { jettonPage } from './jetton-page.js';
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

const [kind, subject] = location.pathname.split('/').slice(-2).map(decodeURIComponent);
const main = byId('main');

function show(...sections) {
  byId('waiting')?.remove();
  main.append(...sections);
  main.setAttribute('aria-busy', 'false');
}

mindSearch();

try {
  const { title, sections, begin } = await PAGES[kind](subject);
  document.title = `${title} · tonstream`;
  show(...sections);
  begin?.();
} catch (error) {
  document.title = 'Not shown · tonstream';
  // Whoever wrote a link chose the name in it.
  const isNoName = error.status === 422 && Object.hasOwn(NAMED, kind);
  const words = isNoName ? [named(subject), ` is no ${NAMED[kind]}.`] : [error.message];
  show(element('p', { class: 'notice bad', role: 'alert' }, ...words));
}
