/** Durations and sizes as people write them: `500ms`, `10s`, `5m`, `24h`, `7d`; `64KB`, `64MB`; a bare number is ms or bytes. */

const DURATION_UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const SIZE_UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1_024, mb: 1_024 ** 2, gb: 1_024 ** 3 };

/** Due times are kept as scores of a Redis sorted set; a year ahead is far within what they hold exactly. */
export const MAX_DURATION_MS = 365 * 86_400_000;

/** Milliseconds, or `undefined` where the value is none. */
export function parseDuration(value: unknown): number | undefined {
  return parseWithUnit(value, DURATION_UNITS, 'ms');
}

/** Bytes (1 KB = 1024), or `undefined` where the value is none. */
export function parseSize(value: unknown): number | undefined {
  return parseWithUnit(value, SIZE_UNITS, 'b');
}

/** A non-negative integer, or `undefined`. Text must be digits alone: no sign, no exponent, no `0x`. */
export function parseCount(value: unknown): number | undefined {
  return parseWithUnit(value, { '': 1 }, '');
}

/** The shortest exact form: `7d`, `90m`, `1500ms`. */
export function showDuration(ms: number): string {
  return showWithUnit(ms, DURATION_UNITS, 'ms');
}

/** The shortest exact form: `64MB`, `1000` (bytes). */
export function showSize(bytes: number): string {
  return showWithUnit(bytes, SIZE_UNITS, 'b')
    .replace(/b$/, '')
    .toUpperCase()
    .replace(/[KMG]$/, '$&B');
}

function parseWithUnit(value: unknown, units: Readonly<Record<string, number>>, bare: string): number | undefined {
  if (typeof value === 'number') return asCount(value);
  if (typeof value !== 'string') return undefined;
  const match = /^(\d+)\s*([a-z]*)$/i.exec(value.trim());
  const unit = units[match?.[2]?.toLowerCase() || bare];
  return match?.[1] === undefined || unit === undefined ? undefined : asCount(Number(match[1]) * unit);
}

function asCount(value: number): number | undefined {
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function showWithUnit(value: number, units: Readonly<Record<string, number>>, smallest: string): string {
  if (value === 0) return '0';
  const fitting = Object.entries(units).filter(([, size]) => value % size === 0);
  const [unit, size] = fitting.reduce((best, next) => (next[1] > best[1] ? next : best), [smallest, 1] as const);
  return `${value / size}${unit}`;
}
