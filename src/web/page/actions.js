/** The newest actions in words, on the first page. */
import { ask, atMost } from './ask.js';
import { byId, element, keep } from './elements.js';
import { actionLine } from './links.js';

const SHOWN = atMost(12);
const EVERY_MS = 3_000;

let askedAt = 0;
let asking = false;

/** Asks for the newest actions, unless that was done a moment ago, and shows them or why there are none. */
export async function renderActions() {
  if (asking || Date.now() - askedAt < EVERY_MS) return;
  asking = true;
  try {
    const { actions } = await ask('actions', { limit: SHOWN, sort: 'desc' });
    byId('acted').hidden = actions.length === 0;
    keep(byId('actions'), actions, ({ action_id: id }) => id, actionLine);
  } catch (error) {
    byId('acted').hidden = false;
    byId('actions').replaceChildren(element('li', {}, error.message));
  } finally {
    askedAt = Date.now();
    asking = false;
  }
}
