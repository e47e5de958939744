import { InvalidArgumentError } from 'commander';
import { SESSION_ID_PATTERN } from '#shared/transcript/locate.js';

const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;

/** An ISO time as epoch milliseconds. */
export const isoTime = (text: string): number => {
  const ms = ISO.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new InvalidArgumentError('It must be an ISO time such as 2026-01-15T10:00:30Z.');
  return ms;
};

/** A non-negative number of milliseconds. */
export const milliseconds = (text: string): number => {
  const ms = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(ms)) throw new InvalidArgumentError('It must be a whole number of milliseconds.');
  return ms;
};

export const sessionId = (text: string): string => {
  if (!SESSION_ID_PATTERN.test(text)) throw new InvalidArgumentError('It must be a session id (a UUID).');
  return text.toLowerCase();
};

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** A point in time: ISO, or how long ago (`90m`, `12h`, `7d`). */
export const since =
  (nowMs: () => number) =>
  (text: string): number => {
    const ago = /^(\d+)\s*(s|m|min|h|d|w)$/.exec(text);
    if (ago === null) return isoTime(text);
    return nowMs() - Number(ago[1]) * (UNITS[ago[2] ?? ''] ?? 0);
  };
