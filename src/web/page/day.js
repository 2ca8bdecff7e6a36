/** The transactions of the last hours as a chart, on the first page. */
import { askAt } from './ask.js';
import { byId, element } from './elements.js';
import { seriesChart, seriesUrl } from './series.js';

const SERIES = 'transactions';
const EVERY_MS = 60_000;
/** After a failure. */
const RETRY_MS = 5_000;

let askAfter = 0;

/** Asks for the hours, unless that was done a while ago or somebody reads the chart, and shows them or why there are none. */
export async function renderDay() {
  const place = byId('hours');
  const isRead = place.contains(document.activeElement) || place.querySelector('details[open]') !== null;
  if (Date.now() < askAfter || isRead) return;
  askAfter = Date.now() + EVERY_MS;
  try {
    const { points, resolution } = await askAt(seriesUrl(SERIES, {}));
    place.replaceChildren(seriesChart('Transactions an hour', SERIES, { points, resolution }));
  } catch (error) {
    askAfter = Date.now() + RETRY_MS;
    place.replaceChildren(element('p', { class: 'none' }, error.message));
  }
  byId('day').hidden = false;
}
