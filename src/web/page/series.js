/** Hours and days as charts, each asked of `/api/stats`. */
import { apiUrl } from './ask.js';
import { chart } from './chart.js';
import { element } from './elements.js';
import { compact } from './format.js';

const HOUR = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const WHOLE_HOUR = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
const WHOLE_DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

/** The address of a series. */
export function seriesUrl(series, parameters) {
  return apiUrl(series, parameters, 'api/stats/');
}

export function jsonLink(url) {
  return element('a', { class: 'more', href: url }, 'JSON');
}

/** @param points `{ from, open, value }` with numbers, of a `resolution` of hour or day */
export function seriesChart(caption, series, { points, resolution }) {
  const time = (format) => (from) => format.format(new Date(from * 1000));
  const shown = chart(caption, points, {
    label: time(resolution === 'day' ? DAY : HOUR),
    whole: time(resolution === 'day' ? WHOLE_DAY : WHOLE_HOUR),
    tell: compact,
  });
  shown.dataset.series = series;
  return shown;
}
