/** Making and keeping elements. Text from outside only ever becomes a text node. */

const SVG = 'http://www.w3.org/2000/svg';
const COPIED_MS = 1_400;

/** The element with this id, which index.html has. */
export function byId(id) {
  return document.getElementById(id);
}

/** An element with attributes and children; strings become text. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Sets the text where it differs: a screen reader and a selection are left alone otherwise. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Makes the children of `list` those of `items`, in order. A child is kept as long as its key is there, and with it the
 * focus; `make` makes one for a new key, which is marked as fresh unless the list was empty.
 */
export function keep(list, items, keyOf, make) {
  const known = new Map(Array.from(list.children, (child) => [child.dataset.key, child]));
  const animate = known.size > 0;
  let place = list.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let child = known.get(key);
    known.delete(key);
    if (child === undefined) {
      child = make(item);
      child.dataset.key = key;
      if (animate) child.classList.add('fresh');
    }
    if (child === place) place = place.nextElementSibling;
    else list.insertBefore(child, place);
  }
  for (const child of known.values()) child.remove();
}

/** A button that copies `text`; `what` names it. */
export function copyButton(text, what) {
  const shape = svg('use', { href: '#copy' });
  const button = element('button', {
    type: 'button',
    class: 'copy',
    title: `Copy ${what}`,
    'aria-label': `Copy ${what}`,
  });
  button.append(svg('svg', { 'aria-hidden': 'true', viewBox: '0 0 16 16' }, shape));
  button.addEventListener('click', async () => {
    const copied = await copy(text);
    say(copied ? `Copied ${what}` : `${what} could not be copied`);
    if (!copied) return;
    button.classList.add('copied');
    shape.setAttribute('href', '#done');
    setTimeout(() => {
      button.classList.remove('copied');
      shape.setAttribute('href', '#copy');
    }, COPIED_MS);
  });
  return button;
}

/** The clipboard is for pages on https and on this machine; elsewhere a selection is copied. */
async function copy(text) {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const focused = document.activeElement;
  const area = element('textarea', { class: 'unseen', readonly: '' });
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  focused?.focus();
  return copied;
}

/** Tells a screen reader when it has said what it is saying. What is said once more differs by a space, else it is not. */
export function say(text) {
  const place = byId('say');
  place.textContent = place.textContent === text ? `${text}\u00a0` : text;
}
