/** Figures as people read them. */

const COUNT = new Intl.NumberFormat('en-US');
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const SMALL = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 2 });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** `12,345`. */
export function count(number) {
  return COUNT.format(number);
}

/** In few digits: `1.2K`, `0.00035`. */
export function compact(number) {
  return (number < 1 ? SMALL : COMPACT).format(number);
}

/** `1 step`, `2 steps`. */
export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** What somebody says, with a full stop. */
export function sentence(text) {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** A rate a second: two digits that count below ten, whole above a hundred. */
export function rate(number) {
  if (number === 0) return '0';
  if (number < 0.01) return '<0.01';
  return COUNT.format(Number(number.toFixed(number < 1 ? 2 : number < 100 ? 1 : 0)));
}

/** All digits of an amount in the smallest units (a decimal string, which may be negative) of something with decimals. */
export function exactAmount(amount, decimals) {
  if (amount.startsWith('-')) return `-${exactAmount(amount.slice(1), decimals)}`;
  const digits = amount.padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const fraction = digits.slice(point).replace(/0+$/, '');
  const whole = COUNT.format(BigInt(digits.slice(0, point)));
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** All digits of nanotons: `12.5`. */
export function exactTons(nanotons) {
  return exactAmount(nanotons, 9);
}

/** Extra currencies, in their smallest units by id, as their owner has them: `1,500 of currency 100`; null for none. */
export function extraCurrencies(amounts) {
  const each = Object.entries(amounts ?? {}).map(([id, amount]) => `${exactAmount(amount, 0)} of currency ${id}`);
  return each.length === 0 ? null : each.join(', ');
}

/** Cut, never rounded up, to `places` behind the point; what that leaves nothing of is `<0.0001`. */
export function tons(nanotons, places) {
  const exact = exactTons(nanotons);
  const point = exact.indexOf('.');
  if (point < 0 || exact.length - point - 1 <= places) return exact;
  const cut = exact.slice(0, point + 1 + places).replace(/\.?0+$/, '');
  if (cut === '-0') return exact;
  return cut === '0' ? `<0.${'1'.padStart(places, '0')}` : cut;
}

const UNITS = [
  [60, 1, 's'],
  [3_600, 60, 'min'],
  [86_400, 3_600, 'h'],
  [86_400 * 365, 86_400, 'd'],
  [Number.POSITIVE_INFINITY, 86_400 * 365, 'y'],
];

/** `now`, `12 s`, `3 min`, `5 h`, `9 d`, `2 y`. A moment to come, as of a clock that is wrong, is now. */
export function age(seconds) {
  if (seconds < 1) return 'now';
  const [, size, unit] = UNITS.find(([below]) => seconds < below);
  return `${count(Math.floor(seconds / size))} ${unit}`;
}

/** `3 s ago`, `now`. */
export function ago(seconds) {
  const text = age(seconds);
  return text === 'now' ? text : `${text} ago`;
}

/** Date and time of day of seconds since 1970, where the reader is. */
export function moment(utime) {
  return MOMENT.format(new Date(utime * 1000));
}

/** Both ends of a long text, cut beside pairs of surrogates, never inside one. */
export function short(text, begin = 6, end = 4) {
  if (text.length <= begin + end + 1) return text;
  const first = text.slice(0, begin).replace(/[\ud800-\udbff]$/, '');
  return `${first}…${text.slice(-end).replace(/^[\udc00-\udfff]/, '')}`;
}
