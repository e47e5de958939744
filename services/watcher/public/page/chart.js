import { call } from './api.js';
import { el, part } from './dom.js';
import { clockTime, counted, fullTime, span } from './words.js';

/** @typedef {import('../../page-types.ts').StatsAnswer} Stats */

const SVG = 'http://www.w3.org/2000/svg';
const SERIES = /** @type {const} */ ([
  { key: 'hangs', label: 'Hangs', tone: 'amber' },
  { key: 'nudges', label: 'Nudges', tone: 'blue' },
  { key: 'recoveries', label: 'Recoveries', tone: 'green' },
]);
/** @type {Record<string, string>} */
const WINDOWS = { '1h': 'last hour', '24h': 'last 24 hours', '7d': 'last 7 days' };
/** The newest bucket grows while one looks; events say when. */
const AT_MOST_EVERY_MS = 2_000;
const BAR = 6;
const HEIGHT = 28;

/** Hangs, nudges and recoveries over time: three small charts on one scale. */
export function createChart() {
  let window = '24h';
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const figures = el('div', { class: 'figures' });
  const note = el('p', { class: 'chart-note', hidden: true });
  const choose = el(
    'select',
    {
      'aria-label': 'Time of the charts',
      change: (event) => pick(/** @type {HTMLSelectElement} */ (event.target).value),
    },
    ...Object.entries(WINDOWS).map(([value, words]) => el('option', { value, selected: value === window }, words)),
  );
  part('charts', HTMLElement).append(figures, el('div', { class: 'chart-side' }, choose, note));

  /** @param {string} value */
  function pick(value) {
    window = value;
    void read();
  }

  async function read() {
    waiting = undefined;
    try {
      draw(await call(`v1/stats?window=${window}`));
    } catch {
      waiting ??= setTimeout(() => void read(), 4 * AT_MOST_EVERY_MS); // the link says what is wrong
    }
  }

  /** @param {Stats} stats */
  function draw(stats) {
    const most = Math.max(1, ...stats.buckets.flatMap((bucket) => SERIES.map(({ key }) => bucket[key])));
    figures.replaceChildren(...SERIES.map((series) => figure(series, stats, most)));
    const cut = stats.incompleteBeforeMs;
    note.hidden = cut === null || cut <= (stats.buckets[0]?.atMs ?? 0);
    if (cut !== null) note.textContent = `Counted since ${fullTime(cut)}.`;
  }

  return {
    read,
    /** Something was counted: reads again, soon. */
    touch() {
      waiting ??= setTimeout(() => void read(), AT_MOST_EVERY_MS);
    },
  };
}

/**
 * @param {(typeof SERIES)[number]} series
 * @param {Stats} stats
 * @param {number} most
 */
function figure({ key, label, tone }, stats, most) {
  const total = stats.totals[key];
  const peak = stats.buckets.reduce(
    (best, bucket) => (bucket[key] > best[key] ? bucket : best),
    stats.buckets[0] ?? { atMs: 0, hangs: 0, nudges: 0, recoveries: 0 },
  );
  const words =
    total === 0
      ? `${label} in the ${WINDOWS[stats.window]}: none.`
      : `${label} in the ${WINDOWS[stats.window]}: ${total}; most, ${peak[key]}, in the ${span(stats.bucketMs)} from ${fullTime(peak.atMs)}.`;
  return el(
    'figure',
    { class: 'figure', 'data-tone': tone },
    el('figcaption', {}, el('span', { class: 'total' }, total.toLocaleString()), ' ', label),
    bars(stats, key, most, words),
  );
}

/**
 * @param {Stats} stats
 * @param {(typeof SERIES)[number]['key']} key
 * @param {number} most
 * @param {string} words
 */
function bars({ buckets, bucketMs }, key, most, words) {
  const chart = svg('svg', {
    viewBox: `0 0 ${buckets.length * BAR} ${HEIGHT}`,
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': words,
  });
  chart.append(svg('rect', { class: 'ground', x: 0, y: HEIGHT - 1, width: buckets.length * BAR, height: 1 }));
  for (const [at, bucket] of buckets.entries()) {
    const count = bucket[key];
    if (count === 0) continue;
    const height = Math.max(3, (count / most) * (HEIGHT - 1));
    const bar = svg('rect', { x: at * BAR + 1, y: HEIGHT - height, width: BAR - 2, height });
    const title = svg('title', {});
    title.textContent = `${clockTime(bucket.atMs)} + ${span(bucketMs)}: ${counted(count, key.slice(0, -1), key)}`;
    bar.append(title);
    chart.append(bar);
  }
  return chart;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 */
function svg(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}
