import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Small files that must survive a crash. Everything is synchronous on purpose: what is written here is the intent that
 * stands before an effect, a few hundred bytes each, and an await between the two would let other requests in.
 */

/** Replaces a file whole: after a crash the old or the new text stands there, never a part. */
export function writeWhole(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/** Parsed content of every `.json` file of a folder, by name; files that do not parse are left out. */
export function readAllJson(folder: string): { path: string; value: unknown }[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .flatMap((name) => {
      const path = join(folder, name);
      const value = parsed(readFileSync(path, 'utf8'));
      return value === undefined ? [] : [{ path, value }];
    });
}

/** Parsed lines of a JSONL file; a line that a crash cut short is left out. */
export function readJsonLines(path: string): unknown[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.map((line) => parsed(line)).filter((value) => value !== undefined);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
