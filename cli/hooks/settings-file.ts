import { mkdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFile, type FileIdentity } from '#shared/settings/atomic-file.js';
import { isMap, type Json, type JsonMap } from './entries.ts';

/** A settings file of Claude Code as it was read. */
export interface SettingsFile {
  /** Where it lies; links followed, so that a link into a folder of dot-files stays one. */
  path: string;
  /** `''`: there is none yet. */
  text: string;
  settings: JsonMap;
  identity: FileIdentity | undefined;
}

/** Reads it. Throws an error that names the file where it is no JSON object: it is never written over. */
export async function readSettings(path: string): Promise<SettingsFile> {
  const real = await realpath(path).catch(() => path);
  const text = await textOf(real);
  if (text === undefined) return { path: real, text: '', settings: {}, identity: undefined };
  const { mode, uid, gid } = await stat(real);
  return { path: real, text, settings: parse(text, path), identity: { mode, uid, gid } };
}

/**
 * Writes the new text in one step, beside a copy of the old one, whose path it returns. Throws where somebody else has written
 * meanwhile (Claude Code does, when its own settings are changed).
 */
export async function writeSettings(
  { path, text, identity }: SettingsFile,
  fresh: string,
): Promise<string | undefined> {
  await mkdir(dirname(path), { recursive: true });
  const backup = `${path}.before-chat-recovery`;
  if (identity !== undefined) await writeFile(backup, text, { mode: identity.mode & 0o777 });
  const isDone = await replaceFile(path, fresh, identity, async () => ((await textOf(path)) ?? '') === text);
  if (!isDone) throw new Error(`${path} was changed by somebody else just now; nothing was written. Try again.`);
  return identity === undefined ? undefined : backup;
}

function parse(text: string, path: string): JsonMap {
  if (text.trim() === '') return {};
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${path} is not valid JSON (${why}); nothing was changed.`, { cause: error });
  }
  if (!isMap(value)) throw new Error(`${path} does not hold a JSON object; nothing was changed.`);
  return value;
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
