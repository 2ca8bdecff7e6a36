/** A chart of bars: figures over time as a picture, and the same as a table. */
import { element, setText, svg } from './elements.js';

const WIDTH = 720;
const HEIGHT = 200;
const LEFT = 56;
const BOTTOM = 24;
const TOP = 8;
/** Words below the bars, as many as fit. */
const LABELS = 6;

/**
 * @param points `{ from, open, value }`, in the order of time; `value` a number, null where there is none
 * @param tell how a value is written
 * @param label how a time is written: below the bars, and whole
 */
export function chart(title, points, { tell, label, whole }) {
  const most = Math.max(...points.map(({ value }) => value ?? 0), 0);
  const top = niceTop(most);
  const width = (WIDTH - LEFT) / Math.max(points.length, 1);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
  const bars = points.map(({ value, open }, at) =>
    svg('rect', {
      class: open ? 'bar open' : 'bar',
      x: (LEFT + at * width + width * 0.08).toFixed(2),
      width: (width * 0.84).toFixed(2),
      y: y(value ?? 0).toFixed(2),
      height: Math.max(0, HEIGHT - BOTTOM - y(value ?? 0)).toFixed(2),
    }),
  );
  const lines = [0, top / 2, top].flatMap((value) => [
    svg('line', { class: 'grid', x1: LEFT, x2: WIDTH, y1: y(value).toFixed(1), y2: y(value).toFixed(1) }),
    svg('text', { class: 'tick', x: LEFT - 6, y: (y(value) + 4).toFixed(1), 'text-anchor': 'end' }, tell(value)),
  ]);
  const every = Math.max(1, Math.ceil(points.length / LABELS));
  const names = points.flatMap(({ from }, at) =>
    at % every === 0
      ? [
          svg(
            'text',
            { class: 'tick', x: (LEFT + (at + 0.5) * width).toFixed(1), y: HEIGHT - 6, 'text-anchor': 'middle' },
            label(from),
          ),
        ]
      : [],
  );
  const picture = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'chart', role: 'img', tabindex: '0', 'aria-label': title },
    ...lines,
    ...names,
    ...bars,
  );
  const said = element('output', { class: 'said' });
  mind(picture, {
    bars,
    points,
    width,
    say: (point) => setText(said, `${whole(point.from)}: ${tell(point.value ?? 0)}${point.open ? ' so far' : ''}`),
  });
  return element('figure', { class: 'charted' }, picture, said, asTable(title, points, { tell, whole }));
}

/** A bar is chosen by pointing at it, or by the arrow keys. */
function mind(picture, { bars, points, width, say }) {
  let chosen = points.length - 1;
  const choose = (at) => {
    if (points.length === 0) return;
    bars[chosen]?.classList.remove('chosen');
    chosen = Math.min(Math.max(at, 0), points.length - 1);
    bars[chosen].classList.add('chosen');
    say(points[chosen]);
  };
  picture.addEventListener('pointermove', ({ clientX }) => {
    const { left, width: shown } = picture.getBoundingClientRect();
    choose(Math.floor((((clientX - left) / shown) * WIDTH - LEFT) / width));
  });
  picture.addEventListener('keydown', (event) => {
    const to = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: points.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to);
  });
  picture.addEventListener('focus', () => choose(chosen));
}

function asTable(title, points, { tell, whole }) {
  const rows = points.map((point) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, whole(point.from)),
      element('td', { 'data-from': String(point.from) }, tell(point.value ?? 0)),
    ),
  );
  const table = element('table', { class: 'plain', 'aria-label': title }, element('tbody', {}, ...rows));
  return element('details', {}, element('summary', {}, 'As a table'), element('div', { class: 'scroll' }, table));
}

/** The next of … 0.5, 1, 2, 5, 10, 20 … that is not below; 1 where there is nothing. */
export function niceTop(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((one) => one * power >= value);
  return step * power;
}
