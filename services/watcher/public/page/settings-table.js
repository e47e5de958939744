import { span } from './words.js';

/** What is shown of a setting: its name, its value in words, and where that comes from. Pure. */

/** @typedef {keyof import('../../page-types.ts').RecoverySettings} Key */

/** @type {Record<Key, { label: string, kind: 'switch' | 'count' | 'time', zero?: string }>} */
export const SETTINGS = {
  surfaceKilledTask: { label: 'Show killed tasks', kind: 'switch' },
  autoReDrive: { label: 'Nudge automatically', kind: 'switch' },
  debounceMs: { label: 'Debounce', kind: 'time' },
  maxRetries: { label: 'Nudges between two human messages', kind: 'count', zero: 'none' },
  limboTimeoutMs: { label: 'Shown as stuck after', kind: 'time', zero: 'never' },
};
export const KEYS = /** @type {Key[]} */ (Object.keys(SETTINGS));

/** @type {Record<string, string>} */
export const SOURCES = {
  default: 'built-in default',
  file: 'instance file',
  environment: 'environment',
  project: 'this project',
};

/**
 * @param {Key} key
 * @param {boolean | number} value
 */
export function valueWords(key, value) {
  const { kind, zero } = SETTINGS[key];
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (value === 0 && zero !== undefined) return zero;
  return kind === 'time' ? span(value) : String(value);
}
