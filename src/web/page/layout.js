/** Blocks of a page: facts, lists, sections. */
import { element } from './elements.js';
import { sentence } from './format.js';

/** A card with a heading; `more` stands beside it. */
export function card(title, content, more = []) {
  const heading = element('h2', {}, title);
  const section = element('section', { class: 'card' }, element('header', {}, heading, ...more), content);
  const id = `card-${title.toLowerCase().replace(/\W+/g, '-')}`;
  heading.id = id;
  section.setAttribute('aria-labelledby', id);
  return section;
}

/** Pairs of a name and what is shown for it; pairs without a value are left out. */
export function facts(pairs) {
  const list = element('dl', { class: 'facts' });
  for (const [name, value] of pairs) {
    if (value === null || value === undefined) continue;
    const shown = Array.isArray(value) ? value : [value];
    list.append(element('dt', {}, name), element('dd', { 'data-fact': name }, ...shown));
  }
  return list;
}

/** `columns`: headings; a row is a list of cells, each a node, a text or a list of them. */
export function table(caption, columns, rows) {
  const heading = element('tr', {}, ...columns.map((name) => element('th', { scope: 'col' }, name)));
  const body = element('tbody', {});
  const made = element('table', { class: 'plain', 'aria-label': caption }, element('thead', {}, heading), body);
  addRows(made, columns, rows);
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption }, made);
}

export function addRows(inside, columns, rows) {
  const body = inside.querySelector('tbody') ?? inside;
  for (const cells of rows) {
    const row = element('tr', {});
    cells.forEach((cell, index) => {
      row.append(element('td', { 'data-column': columns[index] }, ...(Array.isArray(cell) ? cell : [cell])));
    });
    body.append(row);
  }
}

export function none(text) {
  return element('p', { class: 'none' }, text);
}

/**
 * A table of the first things, and a button for further ones. `page` asks for those behind an offset, at most `limit`;
 * `first` are those behind 0; `rowsOf` makes rows of them.
 */
export function pagedTable(caption, columns, { first, limit, page, rowsOf }) {
  const made = table(caption, columns, rowsOf(first));
  let offset = first.length;
  if (offset < limit) return made;
  const button = moreButton(async () => {
    const further = await page(offset);
    addRows(made, columns, rowsOf(further));
    offset += further.length;
    return further.length >= limit;
  }, 'Show more');
  return element('div', {}, made, button);
}

/** A button that adds the next page for as long as there is one: `next` adds rows and tells whether more come. */
export function moreButton(next, text = 'Show older') {
  const button = element('button', { type: 'button', class: 'quiet next' }, text);
  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      if (!(await next())) button.remove();
    } catch (error) {
      button.textContent = `${sentence(error.message)} Try again`;
    }
    button.disabled = false;
  });
  return button;
}

/** Why a page is not shown, in `words`; with a way to ask again where that may help. */
export function refusal({ status }, words) {
  const notice = element('p', { class: 'notice bad', role: 'alert' }, ...words);
  if (status === 0 || status === 429 || status >= 500) {
    const again = element('button', { type: 'button', class: 'quiet' }, 'Try again');
    again.addEventListener('click', () => location.reload());
    notice.append(' ', again);
  }
  return notice;
}

/** The heading of a page: what it is about, with its long name below. */
export function heading(title, ...below) {
  return element('div', { class: 'about' }, element('h1', {}, title), ...below);
}
