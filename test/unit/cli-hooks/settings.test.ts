import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { difference } from '../../../cli/hooks/difference.ts';
import { EVENTS, ownIn, withHooks, withoutHooks, type Json, type JsonMap } from '../../../cli/hooks/entries.ts';
import { hookUrl, placeOf, startCommand } from '../../../cli/hooks/place.ts';
import { spliceHooks } from '../../../cli/hooks/splice.ts';

const WANTED = {
  url: 'http://127.0.0.1:8787/v1/hooks/claude-code',
  tokenVariable: 'TOKEN',
  command: 'node chat-recovery-session-start.mjs',
};
const THEIRS = { hooks: [{ type: 'command', command: 'say done' }] };

describe('our hooks among others', () => {
  it('every event gets one; http with a token by its variable, SessionStart by a command', () => {
    const settings = withHooks({}, WANTED);
    for (const event of EVENTS) expect(ownIn(settings, event)).toHaveLength(1);
    expect(ownIn(settings, 'Stop')[0]).toEqual({
      type: 'http',
      url: WANTED.url,
      timeout: 3,
      headers: { Authorization: 'Bearer $TOKEN' },
      allowedEnvVars: ['TOKEN'],
    });
    expect(ownIn(settings, 'SessionStart')[0]).toEqual({ type: 'command', command: WANTED.command, timeout: 3 });
  });

  it('what is there stays: other hooks of the same event, and of the same group', () => {
    const before = { model: 'opus', hooks: { Stop: [THEIRS], PreToolUse: [{ matcher: 'Bash', hooks: [] }] } };
    const after = withHooks(before, WANTED);
    expect(after).toMatchObject({ model: 'opus', hooks: { PreToolUse: before.hooks.PreToolUse } });
    expect((after['hooks'] as JsonMap)['Stop']).toHaveLength(2);
    expect(withoutHooks(after)).toEqual(before);
    const shared = { hooks: { Stop: [{ hooks: [...THEIRS.hooks, { type: 'http', url: WANTED.url }] }] } };
    expect(withoutHooks(shared)).toEqual({ hooks: { Stop: [THEIRS] } });
  });

  it('again with the same changes nothing; with another address ours are replaced, not doubled', () => {
    const once = withHooks({}, WANTED);
    expect(withHooks(once, WANTED)).toBe(once);
    const moved = withHooks(once, { ...WANTED, url: 'https://watcher.example/v1/hooks/claude-code' });
    for (const event of EVENTS) expect(ownIn(moved, event)).toHaveLength(1);
  });

  it('nothing of ours: nothing to take out', () => {
    const settings = { hooks: { Stop: [THEIRS] } };
    expect(withoutHooks(settings)).toBe(settings);
  });

  it.each([
    [{ hooks: [] }, '"hooks" is not an object'],
    [{ hooks: { Stop: {} } }, '"hooks.Stop" is not a list'],
  ])('settings of another shape are refused by name: %j', (settings, message) =>
    expect(() => withHooks(settings, WANTED)).toThrow(message),
  );
});

const TEXTS = [
  '{}',
  '{ }\n',
  '{"model":"opus"}',
  '{\n\t"model": "opus",\n\t"permissions": {"allow": ["a", "b"]}\n}\n',
  '{\n    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo \\"}{\\""}]}]},\n    "odd key \\" {": [1, -2.5e3, null, true]\n}\n',
  '{"a":{"hooks":{}},"hooks":{}, "z":"x"}',
];

describe('the text of a settings file', () => {
  it.each(TEXTS)('holds what is meant, and everything else byte by byte: %j', (text) => {
    const before = JSON.parse(text) as JsonMap;
    const installed = spliceHooks(text, withHooks(before, WANTED));
    expect(JSON.parse(installed)).toEqual(withHooks(before, WANTED));
    const removed = spliceHooks(installed, withoutHooks(withHooks(before, WANTED)));
    expect(JSON.parse(removed)).toEqual(withoutHooks(withHooks(before, WANTED)));
    for (const line of text.split('\n').filter((one) => /permissions|odd key/.test(one)))
      expect(installed).toContain(line);
  });

  it('any object, written in any way', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue()).filter((map) => !Object.hasOwn(map, 'hooks'));
    fc.assert(
      fc.property(object, fc.constantFrom(undefined, 1, 2, '\t'), (map, indent) => {
        const before = JSON.parse(JSON.stringify(map)) as JsonMap;
        const text = JSON.stringify(before, null, indent);
        const after = withHooks(before, WANTED);
        expect(JSON.parse(spliceHooks(text, after)) as Json).toEqual(after);
        expect(JSON.parse(spliceHooks(spliceHooks(text, after), before)) as Json).toEqual(before);
      }),
      { numRuns: 300 },
    );
  });

  it('the difference shows what goes and what comes, with the lines around', () =>
    expect(difference('a\nb\nc\nd\n', 'a\nb\nX\nd\n')).toEqual(['  a', '  b', '- c', '+ X', '  d']));
});

describe('where and what', () => {
  it.each([
    [undefined, {}, 'http://127.0.0.1:8787/v1/hooks/claude-code'],
    [undefined, { PORT: '9000' }, 'http://127.0.0.1:9000/v1/hooks/claude-code'],
    ['https://watcher.example/recovery/', {}, 'https://watcher.example/recovery/v1/hooks/claude-code'],
    ['http://[::1]:8787/v1/hooks/claude-code', {}, 'http://[::1]:8787/v1/hooks/claude-code'],
  ])('the address for %s', (given, env, url) => expect(hookUrl(given, env)).toBe(url));
  it('no web address is refused', () => expect(() => hookUrl('ftp://x', {})).toThrow('no http address'));

  it('a user’s command names its files, a project’s finds them wherever it is checked out; neither holds a token', () => {
    const user = placeOf(undefined, { CLAUDE_CONFIG_DIR: "/home/o'neil/.claude" });
    expect(startCommand(user, WANTED.url, undefined)).toBe(
      `'${process.execPath}' '/home/o'\\''neil/.claude/hooks/chat-recovery-session-start.mjs' '${WANTED.url}' >/dev/null 2>&1 || true`,
    );
    const project = placeOf('/repo', {});
    expect(project.settings).toBe('/repo/.claude/settings.json');
    expect(startCommand(project, WANTED.url, 'TOKEN')).toBe(
      `node "$CLAUDE_PROJECT_DIR"/.claude/hooks/chat-recovery-session-start.mjs '${WANTED.url}' 'TOKEN' >/dev/null 2>&1 || true`,
    );
  });
});
