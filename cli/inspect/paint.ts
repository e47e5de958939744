import { styleText } from 'node:util';

export type Paint = (style: Style, text: string) => string;
export type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green' | 'cyan';

/** Colours on a terminal, plain text otherwise (https://no-color.org). */
export const painterFor = (stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv): Paint => {
  const colours = stream.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  return (style, text) => (colours ? styleText(style, text, { validateStream: false }) : text);
};

/** Control characters, which in a transcript's text could steer the terminal. */
const CONTROLS = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

/** Outside text made safe to print: one line, no control characters, cut. */
export const printable = (text: string, length = 120): string => {
  const line = text.replaceAll(CONTROLS, ' ').trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
};

export const VERDICT_STYLES = {
  hung: 'red',
  'error-entry': 'yellow',
  'busy-or-waiting': 'cyan',
  'not-hung': 'green',
} as const satisfies Record<string, Style>;

/** An age in the two largest units that say enough: `3 d 4 h`, `12 min`, `8 s`. */
export const age = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
};
