import { print } from '../inspect/print.ts';
import { COMMAND_EVENT, EVENTS, HTTP_EVENTS, ownIn, type Json, type JsonMap } from './entries.ts';
import type { Place } from './place.ts';
import { readSettings } from './settings-file.ts';

const ANSWER_WITHIN_MS = 3_000;

/** Says what is installed and whether the watcher takes hooks; resolves with whether all is well. */
export async function status(place: Place, env: NodeJS.ProcessEnv): Promise<boolean> {
  const { path, settings } = await readSettings(place.settings);
  print(path);
  const missing = EVENTS.filter((event) => ownIn(settings, event).length === 0);
  for (const event of EVENTS)
    print(`  ${event.padEnd(18)}${missing.includes(event) ? 'not installed' : whereTo(settings, event)}`);
  if (missing.length === EVENTS.length) return false;
  const troubles = obstacles(settings);
  for (const trouble of troubles) print(`  ! ${trouble}`);
  const answers = await Promise.all(targets(settings).map((target) => ask(target, env)));
  for (const { words } of answers) print(`  ${words}`);
  return missing.length === 0 && troubles.length === 0 && answers.every(({ isWell }) => isWell);
}

const whereTo = (settings: JsonMap, event: (typeof EVENTS)[number]): string =>
  ownIn(settings, event)
    .map(({ url, command }) => textOf(event === COMMAND_EVENT ? command : url))
    .join(', ');

/** Settings by which Claude Code would leave our hooks out, in silence. */
function obstacles(settings: JsonMap): string[] {
  const { disableAllHooks, allowedHttpHookUrls } = settings;
  return [
    ...(disableAllHooks === true ? ['disableAllHooks is on: Claude Code calls none of them.'] : []),
    ...(Array.isArray(allowedHttpHookUrls)
      ? ['allowedHttpHookUrls is set: the address above must be among those that it allows.']
      : []),
  ];
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

interface Target {
  url: string;
  variable: string | undefined;
}

function targets(settings: JsonMap): Target[] {
  const all = HTTP_EVENTS.flatMap((event) => ownIn(settings, event)).map(({ url, allowedEnvVars }) => ({
    url: textOf(url),
    variable: Array.isArray(allowedEnvVars) ? allowedEnvVars.map(textOf)[0] : undefined,
  }));
  return [...new Map(all.map((target) => [`${target.url} ${target.variable}`, target])).values()];
}

/** An event that means nothing, sent as Claude Code sends its own. */
async function ask({ url, variable }: Target, env: NodeJS.ProcessEnv): Promise<{ isWell: boolean; words: string }> {
  const token = variable === undefined ? undefined : env[variable];
  if (variable !== undefined && (token === undefined || token === '')) {
    return { isWell: false, words: `${variable} is not set here; Claude Code must be started with it.` };
  }
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ hook_event_name: 'ChatRecoveryStatus' }),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    if (response.ok) return { isWell: true, words: `The watcher at ${new URL(url).origin} takes them.` };
    return {
      isWell: false,
      words: `The watcher at ${new URL(url).origin} answers ${response.status}: ${await response.text()}`,
    };
  } catch (error) {
    const why = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return { isWell: false, words: `No watcher answers at ${new URL(url).origin} (${why}). Chats go on undisturbed.` };
  }
}
