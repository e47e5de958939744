import { readFileSync } from 'node:fs';
import type { RedisClient } from '#shared/platform/redis.js';
import type { SessionKeys } from './keys.ts';

export type { RedisClient };

const NAMES = [
  'applyEvent',
  'context',
  'noticed',
  'restartDebounce',
  'cleared',
  'claimNudge',
  'sending',
  'releaseLease',
  'settleNudge',
  'unconfirmed',
  'show',
  'note',
  'endWatch',
  'setPause',
  'takeDue',
  'reschedule',
  'now',
  'rearm',
] as const;
export type ScriptName = (typeof NAMES)[number];

/** All scripts take the same thirteen keys in the same order (lua/prelude.lua). */
const KEY_COUNT = 13;

/** One script's arguments: JSON without nulls, since a JSON null is true to Lua. */
export type ScriptArguments = Record<string, unknown>;

export interface Scripts {
  /** Runs one script atomically and gives its JSON answer, parsed. Throws the connection's error. */
  run<T>(name: ScriptName, target: { sessionId: string; mark?: string }, args: ScriptArguments): Promise<T>;
}

type Command = (...args: string[]) => Promise<string>;

function source(name: string): string {
  return readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');
}

/**
 * Defines the session scripts on a client (EVALSHA, with ioredis' own fall-back on NOSCRIPT).
 * @param ttlMs how long a session's keys live after their last change
 */
export function defineScripts(redis: RedisClient, keys: SessionKeys, ttlMs: number): Scripts {
  const prelude = source('prelude');
  for (const name of NAMES) {
    redis.defineCommand(commandName(name), { numberOfKeys: KEY_COUNT, lua: `${prelude}\n${source(name)}` });
  }
  const noMark = keys.mark('', '');
  const commands = redis as unknown as Record<string, Command>;
  return {
    async run<T>(name: ScriptName, target: { sessionId: string; mark?: string }, args: ScriptArguments): Promise<T> {
      const command = commands[commandName(name)];
      if (command === undefined) throw new Error(`script ${name} is not defined`);
      const answer = await command.call(
        redis,
        ...keyList(keys, target.sessionId, target.mark ?? noMark),
        JSON.stringify({ ...args, id: target.sessionId }),
        String(ttlMs),
      );
      return JSON.parse(answer) as T;
    },
  };
}

function commandName(name: ScriptName): string {
  return `chatRecovery_${name}`;
}

function keyList(keys: SessionKeys, id: string, mark: string): string[] {
  return [
    keys.session(id),
    keys.sessionTrail(id),
    keys.once(id),
    keys.trail,
    keys.armed,
    keys.sessions,
    keys.pause,
    keys.hour,
    keys.slots,
    keys.streak,
    keys.settings,
    mark,
    keys.unwatched,
  ];
}
