/** Times and names in words. Pure. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * How long something has lasted: `now`, `42 s`, `3 min`, `5 h`, `2 d`.
 *
 * @param {number} ms
 */
export function age(ms) {
  if (ms < 2 * SECOND) return 'now';
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

/**
 * A span of milliseconds as people write it: `300 ms`, `5 s`, `1 min 30 s`, `6 h`.
 *
 * @param {number} ms
 */
export function span(ms) {
  if (ms < SECOND) return `${ms} ms`;
  if (ms < MINUTE) return `${Number((ms / SECOND).toFixed(1))} s`;
  const [large, unit, small, rest] =
    ms < HOUR
      ? [Math.floor(ms / MINUTE), 'min', Math.round((ms % MINUTE) / SECOND), 's']
      : [Math.floor(ms / HOUR), 'h', Math.round((ms % HOUR) / MINUTE), 'min'];
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${rest}`;
}

/** A log's clock: no "PM" that wraps, and it sorts by eye. */
const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** @param {number} ms */
export const clockTime = (ms) => clock.format(ms);
/**
 * With the day, where it is not today's.
 *
 * @param {number} ms
 * @param {number} nowMs
 */
export const dayTime = (ms, nowMs) =>
  day.format(ms) === day.format(nowMs) ? clock.format(ms) : `${day.format(ms)} ${clock.format(ms)}`;
/** @param {number} ms */
export const fullTime = (ms) => whole.format(ms);
/** @param {number} ms */
export const isoTime = (ms) => new Date(ms).toISOString();

/** @param {string} slug the empty one is a real project too */
export const projectName = (slug) => (slug === '' ? 'Root workspace' : slug);
/** @param {string} slug as it stands in a path of the API */
export const projectPath = (slug) => (slug === '' ? '~root' : encodeURIComponent(slug));
/** @param {string} id */
export const shortId = (id) => id.slice(0, 8);

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (count, one, many = `${one}s`) => `${count.toLocaleString()} ${count === 1 ? one : many}`;
