import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { lifecycleEventSchema } from '#shared/session/events.js';
import { readHook, type Hook } from '../../../services/watcher/hooks/payload.ts';
import { causeOfPrompt, deliveryIdOf, eventsOf } from '../../../services/watcher/hooks/translate.ts';

const FOLDER = new URL('../../fixtures/hooks/', import.meta.url);
const INDEX = JSON.parse(readFileSync(new URL('INDEX.json', FOLDER), 'utf8')) as { file: string; event: string }[];

/** A recorded payload: over http the body of the request, else what the command got. */
function recorded(name: string): Record<string, unknown> {
  const content = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Record<string, unknown>;
  return (content['body'] as Record<string, unknown> | undefined) ?? content;
}
const hookOf = (name: string): Hook => {
  const hook = readHook(recorded(name));
  if ('ignored' in hook || 'refused' in hook) throw new Error(`${name} is no hook of ours`);
  return hook;
};
/** Types of the events that a hook becomes, with what tells them apart. */
const told = (name: string, cause: 'human' | 'wake' | 'recovery' = 'human') =>
  eventsOf(hookOf(name), { project: 'demo', cause }).map(({ type, data }) =>
    [type, 'outcome' in data ? data.outcome : undefined, 'cause' in data ? data.cause : undefined]
      .filter(Boolean)
      .join(' '),
  );

const OURS = new Set(['Stop', 'StopFailure', 'UserPromptSubmit', 'SessionStart', 'SessionEnd']);

describe('recorded payloads of Claude Code', () => {
  it.each(INDEX.map(({ file, event }) => [file.replace('hooks/', ''), event]))('%s is understood', (file, event) => {
    const hook = readHook(recorded(file ?? ''));
    expect('refused' in hook).toBe(false);
    expect('ignored' in hook).toBe(!OURS.has(event ?? ''));
    if ('ignored' in hook || 'refused' in hook) return;
    for (const one of eventsOf(hook, { project: 'demo', cause: 'human' })) {
      expect(lifecycleEventSchema.safeParse({ ...one, timestamp: new Date().toISOString() }).success).toBe(true);
    }
  });

  it.each([
    ['http-Stop.bg-shell-running.json', ['turn.ended completed human']],
    ['http-Stop.stop_hook_active.json', ['turn.ended completed human']],
    ['http-StopFailure.api-400-on-wake.json', ['turn.ended failed human']],
    ['http-UserPromptSubmit.sdk.json', ['message.human', 'turn.started human']],
    ['command-SessionStart.resume.json', []],
    ['http-SessionEnd.sigterm.json', []],
    ['command-SessionEnd.tui-sigterm.json', []],
  ])('%s becomes %j', (file, events) => expect(told(file)).toEqual(events));

  it('a Stop tells of the tasks that still run', () => {
    const [event] = eventsOf(hookOf('http-Stop.bg-shell-running.json'), { project: 'demo', cause: 'wake' });
    expect(event).toMatchObject({ data: { cause: 'wake', backgroundTasks: [{ id: 'bw0r4kqiz', type: 'shell' }] } });
  });

  it.each([
    ['http-UserPromptSubmit.task-notification.json', 'wake'],
    ['command-UserPromptSubmit.tui-task-notification.json', 'wake'],
    ['http-UserPromptSubmit.nudge-after-stop_task.json', 'recovery'],
    ['http-UserPromptSubmit.nudge-isSynthetic.json', 'recovery'],
    ['http-UserPromptSubmit.sdk.json', 'human'],
    ['command-UserPromptSubmit.tui-typed.json', 'human'],
  ])('the prompt of %s is a %s', (file, cause) =>
    expect(causeOfPrompt(String(recorded(file)['prompt']), 'Own label')).toBe(cause),
  );

  it('a nudge is known by its own label and behind the line of the runtime', () => {
    expect(causeOfPrompt('[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT]\n[Own label] Go on.', 'Own label')).toBe(
      'recovery',
    );
    expect(causeOfPrompt('About [Own label]: what is it?', 'Own label')).toBe('human');
  });
});

describe('what is no plain hook', () => {
  const stop = recorded('http-Stop.bg-shell-running.json');
  it.each([
    ['nothing', undefined, { refused: 'none' }],
    ['a list', [], { refused: 'none' }],
    ['an odd session id', { ...stop, session_id: '../../etc' }, { refused: 'Stop' }],
    ['an unknown event', { ...stop, hook_event_name: 'Whatever' }, { ignored: 'other' }],
    ['a turn of a sub-agent', { ...stop, agent_id: 'a1' }, { ignored: 'Stop' }],
  ])('%s', (_what, body, result) => expect(readHook(body)).toEqual(result));

  it('odd fields are left out, the hook is taken', () => {
    const hook = readHook({ ...stop, cwd: 7, prompt_id: null, background_tasks: 'many', transcript_path: ['a'] });
    expect(hook).toMatchObject({ hook_event_name: 'Stop', session_id: stop['session_id'] });
    expect(hook).not.toHaveProperty('cwd', 7);
  });

  it('long descriptions are cut, not refused', () => {
    const hook = readHook({ ...stop, background_tasks: [{ id: 'b1', description: 'x'.repeat(10_000) }] });
    expect(hook).toMatchObject({ background_tasks: [{ id: 'b1', description: 'x'.repeat(2_000) }] });
  });

  it('/clear closes the chat: its user has begun another', () => {
    const hook = readHook({ ...recorded('http-SessionEnd.sigterm.json'), reason: 'clear' }) as Hook;
    expect(eventsOf(hook, { project: '', cause: 'human' })).toMatchObject([
      { type: 'session.closed', data: { reason: 'ended' } },
    ]);
  });
});

describe('repeats', () => {
  const stop = hookOf('http-Stop.bg-shell-running.json');
  const body = Buffer.from(JSON.stringify(stop));
  it('the same payload twice is one delivery', () =>
    expect(deliveryIdOf(stop, body, 'a')).toBe(deliveryIdOf(stop, Buffer.from(body), 'b')));
  it('another end of the same prompt (a Stop hook made the model go on) is another', () =>
    expect(deliveryIdOf(stop, Buffer.from(`${body.toString()} `), 'a')).not.toBe(deliveryIdOf(stop, body, 'a')));
  it('without a prompt’s id nothing is taken for a repeat', () => {
    const old = { ...stop, prompt_id: undefined };
    expect(deliveryIdOf(old, body, 'a')).not.toBe(deliveryIdOf(old, body, 'b'));
  });
});
