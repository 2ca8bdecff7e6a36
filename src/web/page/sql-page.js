/** An editor for `/api/sql`: examples, the schema, answers as a table, errors as the service says them. */
import { apiUrl, askAt } from './ask.js';
import { element, say, setText } from './elements.js';
import { count, plural } from './format.js';
import { card, heading, none, table } from './layout.js';

const FIRST = 'SELECT hour, transactions, active_accounts FROM ton.hourly ORDER BY hour DESC LIMIT 24';
/** Rows of the table on the page; the rest is in the file. */
const SHOWN = 500;
/** An address longer than this is not taken by every server. */
const MOST_ADDRESS = 8_000;

const addressOf = (parameters) => apiUrl('sql', parameters, 'api/');

export async function sqlPage() {
  const schema = await askAt(addressOf({}).replace(/sql$/, 'sql/schema'));
  const title = 'SQL';
  const editor = element('textarea', { id: 'statement', rows: '8', spellcheck: 'false', autocapitalize: 'off' });
  editor.value = statementOf(location.hash.slice(1)) || FIRST;
  const run = element('button', { type: 'submit' }, 'Run');
  const csv = element('a', { class: 'more', download: 'answer.csv' }, 'CSV');
  const link = element('a', { class: 'more' }, 'Link');
  const said = element('p', { class: 'hint', id: 'told', role: 'status' });
  const answer = element('div', { id: 'answer' });
  const form = element(
    'form',
    { class: 'editor' },
    element('label', { for: 'statement' }, 'One SELECT in ClickHouse’s dialect. Ctrl and Enter run it.'),
    editor,
    element('div', { class: 'buttons' }, run, examples(schema.examples, editor), csv, link),
  );

  const update = () => {
    const url = addressOf({ sql: editor.value, format: 'csv' });
    csv.hidden = url.length > MOST_ADDRESS;
    csv.href = url;
    link.href = `#${encodeURIComponent(editor.value)}`;
  };
  const submit = async (event) => {
    event?.preventDefault();
    if (run.disabled) return;
    run.disabled = true;
    setText(said, 'Running…');
    try {
      const told = await askAt(addressOf({}), { sql: editor.value, format: 'json' });
      answer.replaceChildren(rowsTable(told));
      setText(said, summaryOf(told));
    } catch (error) {
      answer.replaceChildren(element('p', { class: 'notice bad', role: 'alert' }, error.message));
      setText(said, '');
    } finally {
      run.disabled = false;
    }
  };
  editor.addEventListener('input', update);
  editor.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void submit(event);
  });
  form.addEventListener('submit', submit);
  update();
  const sections = [
    heading(title),
    card('Statement', form),
    card('Answer', element('div', {}, said, answer)),
    card('Views', views(schema, editor)),
  ];
  return { title, sections, begin: () => (location.hash === '' ? undefined : submit()) };
}

/** What stands above the rows of an answer. */
export function summaryOf({ rows, truncated, rows_read: read, elapsed_ms: ms, mc_seqno: seqno }) {
  const cut = truncated ? ', cut: add LIMIT or take the file' : '';
  const shown = rows.length > SHOWN ? `, the first ${SHOWN} shown` : '';
  const work = `${count(Number(read))} read in ${ms} ms, as of masterchain block ${count(seqno)}`;
  return `${plural(rows.length, 'row')}${cut}${shown}, ${work}`;
}

/** As it is where somebody else has written the link. */
function statementOf(hash) {
  try {
    return decodeURIComponent(hash);
  } catch {
    return hash;
  }
}

function examples(listed, editor) {
  const select = element('select', { 'aria-label': 'Examples' }, element('option', { value: '' }, 'Examples'));
  // Those with parameters are for the API.
  const plain = listed.filter(({ params }) => params === undefined || Object.keys(params).length === 0);
  plain.forEach(({ title }, at) => {
    select.append(element('option', { value: String(at) }, title));
  });
  select.addEventListener('change', () => {
    if (select.value === '') return;
    editor.value = plain[Number(select.value)].sql;
    editor.dispatchEvent(new Event('input'));
    editor.focus();
    say('The statement is in the editor');
  });
  return select;
}

function rowsTable({ columns, rows }) {
  if (rows.length === 0) return none('No rows.');
  const text = (value) => (value === null ? 'NULL' : typeof value === 'object' ? JSON.stringify(value) : String(value));
  const names = columns.map(({ name }) => name);
  return table(
    'Rows',
    names,
    rows.slice(0, SHOWN).map((row) => row.map((value) => text(value))),
  );
}

function views(schema, editor) {
  const made = schema.views.map(({ name, about, columns }) => {
    const take = element('button', { type: 'button', class: 'quiet' }, 'Ask');
    take.addEventListener('click', () => {
      editor.value = `SELECT * FROM ${name} LIMIT 20`;
      editor.dispatchEvent(new Event('input'));
      editor.focus();
    });
    const listed = table(
      name,
      ['Column', 'Type', 'Meaning'],
      columns.map((column) => [element('code', {}, column.name), column.type ?? '', column.meaning]),
    );
    return element(
      'details',
      { 'data-view': name },
      element('summary', {}, element('code', {}, name), ` ${about}`),
      take,
      listed,
    );
  });
  return element('div', { class: 'views' }, ...made);
}
