import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { print } from '../inspect/print.ts';
import { difference } from './difference.ts';
import { OddSettings, withHooks, withoutHooks, type JsonMap, type Wanted } from './entries.ts';
import type { Place } from './place.ts';
import { readSettings, writeSettings, type SettingsFile } from './settings-file.ts';
import { spliceHooks } from './splice.ts';

export interface ChangeOptions {
  dryRun: boolean;
  /** Nobody is asked. */
  yes: boolean;
}

const SCRIPT = new URL('./session-start.mjs', import.meta.url);

/** Puts our hooks in. Says what it will do, asks, does it; resolves with the exit status. */
export async function install(place: Place, wanted: Wanted, options: ChangeOptions): Promise<number> {
  const script = await readFile(SCRIPT, 'utf8');
  const known = await readFile(place.script, 'utf8').catch(() => '');
  const file = await readSettings(place.settings);
  const steps = script === known ? [] : [`${known === '' ? 'Write' : 'Write anew'} ${place.script}`];
  const fresh = changed(file, (settings) => withHooks(settings, wanted));
  if (!(await agreed(file, fresh, steps, options))) return options.dryRun || steps.length + fresh.length === 0 ? 0 : 1;
  if (steps.length > 0) {
    await mkdir(dirname(place.script), { recursive: true });
    await writeFile(place.script, script);
  }
  await write(file, fresh);
  print('Installed. Chats that are open take it over once they are started anew.');
  return 0;
}

/** Takes our hooks out, and nothing else. */
export async function remove(place: Place, options: ChangeOptions): Promise<number> {
  const file = await readSettings(place.settings);
  const hasScript = await readFile(place.script, 'utf8').then(
    () => true,
    () => false,
  );
  const steps = hasScript ? [`Remove ${place.script}`] : [];
  const fresh = changed(file, withoutHooks);
  if (!(await agreed(file, fresh, steps, options))) return options.dryRun || steps.length + fresh.length === 0 ? 0 : 1;
  await write(file, fresh);
  await rm(place.script, { force: true });
  print('Removed.');
  return 0;
}

/** The file's new text; `''`: it stays as it is. */
function changed({ path, text, settings }: SettingsFile, change: (settings: JsonMap) => JsonMap): string {
  try {
    const fresh = change(settings);
    return fresh === settings ? '' : spliceHooks(text, fresh);
  } catch (error) {
    if (error instanceof OddSettings)
      throw new Error(`${path}: ${error.message}; nothing was changed.`, { cause: error });
    throw error;
  }
}

async function write(file: SettingsFile, fresh: string): Promise<void> {
  if (fresh === '') return;
  const backup = await writeSettings(file, fresh);
  if (backup !== undefined) print(`The file as it was: ${backup}`);
}

/** Says what will be done, and whether it is to be. */
async function agreed(file: SettingsFile, fresh: string, steps: string[], options: ChangeOptions): Promise<boolean> {
  if (fresh === '' && steps.length === 0) {
    print('Nothing to change.');
    return false;
  }
  for (const step of steps) print(step);
  if (fresh !== '') {
    print(`${file.text === '' ? 'Write' : 'Change'} ${file.path}`);
    for (const line of difference(file.text, fresh)) print(`  ${line}`);
  }
  if (options.dryRun) print('Nothing was changed (--dry-run).');
  if (options.dryRun || options.yes) return options.yes && !options.dryRun;
  if (!process.stdin.isTTY) {
    console.error('Nothing was changed: there is no terminal to ask at. Add --yes.');
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('Do it? [y/N] ');
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}
