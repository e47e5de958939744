import { z } from 'zod';
import { MAX_DURATION_MS, parseCount, parseDuration, parseSize, showDuration, showSize } from './durations.ts';

/** A kind of setting: how its value is read, checked and written. */
export interface Kind<T> {
  /** Word for the documents: `switch`, `number`, `duration`, `size`, `text`, … */
  name: string;
  /** Reads what the environment (text) and YAML files (text, numbers, booleans) hold. */
  schema: z.ZodType<T>;
  /** Reads what a program sends (JSON): the exact type, no text for numbers or switches. */
  strict: z.ZodType<T>;
  /** The value as one would write it into the environment. */
  show(value: T): string;
  /** Something that is accepted but surely not meant; `undefined` in the normal case. */
  remark?(value: unknown): string | undefined;
}

const ON_WORDS = ['1', 'true', 'yes'];
const OFF_WORDS = ['0', 'false', 'no', 'off'];
const isWord = (words: readonly string[], word: string): boolean => words.includes(word.trim().toLowerCase());

/** A switch. As text `1`, `true` and `yes` (any case) are on, anything else is off (SPEC §3). */
export const flag: Kind<boolean> = {
  name: 'switch',
  schema: reader('must be true or false', (value) => {
    if (typeof value === 'boolean') return value;
    return typeof value === 'string' ? isWord(ON_WORDS, value) : undefined;
  }),
  strict: z.boolean('must be true or false'),
  show: String,
  remark: (value) =>
    typeof value !== 'string' || isWord(ON_WORDS, value) || isWord(OFF_WORDS, value)
      ? undefined
      : 'is read as off: it must be 1, true or yes to be on',
};

/** A non-negative integer up to `max`. */
export function count(max: number = Number.MAX_SAFE_INTEGER, min = 0): Kind<number> {
  const least = min === 0 ? 'a non-negative integer' : `an integer from ${min}`;
  const message = `must be ${least}${max === Number.MAX_SAFE_INTEGER ? '' : ` up to ${max}`}`;
  return {
    name: 'number',
    schema: reader(message, (value) => within(parseCount(value), min, max)),
    strict: z.int(message).min(min, message).max(max, message),
    show: String,
  };
}

const durationMessage =
  'must be a non-negative integer of milliseconds, or like 500ms, 10s, 5m, 24h, 7d (at most 365d)';
const strictDuration = 'must be a non-negative integer of milliseconds (at most 365 days)';

/** A duration in milliseconds, shown with a unit. */
export const duration: Kind<number> = {
  name: 'duration',
  schema: reader(durationMessage, (value) => within(parseDuration(value), 0, MAX_DURATION_MS)),
  strict: z.int(strictDuration).min(0, strictDuration).max(MAX_DURATION_MS, strictDuration),
  show: showDuration,
};

/** The same, shown as plain milliseconds: for variables that end in `_MS`. */
export const durationMs: Kind<number> = { ...duration, show: String };

const sizeMessage = 'must be a non-negative integer of bytes, or like 64KB, 64MB';

/** A size in bytes. */
export const size: Kind<number> = {
  name: 'size',
  schema: reader(sizeMessage, parseSize),
  strict: z.int(sizeMessage).min(0, sizeMessage),
  show: showSize,
};

/** A line of text, not blank. Numbers in YAML are taken as the text they look like. */
export function text(
  name = 'text',
  valid: (value: string) => boolean = () => true,
  message = 'must be text',
): Kind<string> {
  const read = (value: unknown): string | undefined => {
    const line = typeof value === 'number' ? String(value) : value;
    return typeof line === 'string' && line.trim() !== '' && valid(line.trim()) ? line.trim() : undefined;
  };
  return { name, schema: reader(message, read), strict: reader(message, read), show: (value) => value };
}

/** Whether it is the address of something on the web. */
export function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

/** One of a few words, any case. */
export function choice<const W extends string>(...words: readonly W[]): Kind<W> {
  const message = `must be one of ${words.join(', ')}`;
  const read = (value: unknown): W | undefined =>
    typeof value === 'string' ? words.find((word) => word === value.trim().toLowerCase()) : undefined;
  return {
    name: words.join(' | '),
    schema: reader(message, read),
    strict: z.enum(words, message),
    show: (value) => value,
  };
}

function within(value: number | undefined, min: number, max: number): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined;
}

/** A zod schema around a function that answers `undefined` for what it cannot read. */
export function reader<T>(message: string, read: (value: unknown) => T | undefined): z.ZodType<T> {
  return z.unknown().transform((value, context) => {
    const result = read(value);
    if (result !== undefined) return result;
    context.issues.push({ code: 'custom', message, input: value });
    return z.NEVER;
  });
}
