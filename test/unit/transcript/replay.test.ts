import { describe, expect, test } from 'vitest';
import type { Finding } from '#shared/transcript/finding.js';
import { parseLine } from '#shared/transcript/line.js';
import { findingOf, judge } from '#shared/transcript/signature.js';
import { type ChatLines, type Fields, SESSION, chat, clocksAgo, payload } from '../../support/chat-lines.ts';

/** The whole chat replayed from its first entry: the rule without the reader that stops early. */
const replayed = (lines: ChatLines, answered: string[] = []): Finding =>
  findingOf(
    lines.lines.flatMap((line, n) => [
      ...parseLine(Buffer.from(line), n * 1_000, { sessionId: SESSION, senderLabels: [] }).entries,
    ]),
    new Set(answered),
  );

const verdict = (lines: ChatLines, answered: string[] = []): string => {
  const { verdict: kind, reason } = judge(replayed(lines, answered), clocksAgo(600_000));
  return `${kind}: ${reason}`;
};
const tasks = (lines: ChatLines): string[] => replayed(lines).tasks.map(({ id }) => id);
const seen = (lines: ChatLines): string[] => replayed(lines).observations;
const keyOf = (lines: ChatLines): string => {
  const finding = replayed(lines);
  if (finding.kind !== 'pending') throw new Error(`expected a pending finding, got ${finding.reason}`);
  return finding.noticeKey;
};

const quoted = { task: 'old', call: 'toolu_old' };
const pasted = (): ChatLines => chat().human().reply().enqueue(payload(quoted)).dequeue().human(payload(quoted));
const again = (): ChatLines => chat().turn().kill().nudge().reply().turn();
const hung = (): ChatLines => chat().turn().kill();
const bare = (): ChatLines => chat().turn().kill({}, { timestamp: undefined });
const text = (): ChatLines => chat().turn().kill().enqueue('Any news?');
const asked = (): ChatLines => chat().human().call('t1', 'Bash', { run_in_background: true });
const done = (fields: object): string => payload({ status: 'completed', ...fields });
const launched = (): ChatLines =>
  asked()
    .result('t1', { toolUseResult: { backgroundTaskId: 'b1' } })
    .reply();
const launchedInShell = (): ChatLines => asked().result('t1', { toolUseResult: { backgroundTaskId: 'b1' } });
const notes = (lines: ChatLines): string[] =>
  replayed(lines).evidence.map(({ note, offset }) => `${offset / 1_000} ${note}`);

describe('a notice that somebody pasted', () => {
  test('is no notice, however their turn ends', () => {
    expect(verdict(pasted().apiError())).toBe('not-hung: no-notification');
    expect(verdict(pasted().synthetic('x'))).toBe('not-hung: no-notification');
    expect(verdict(pasted().interruption())).toBe('not-hung: user-interrupted');
    expect(replayed(pasted().reply()).answeredTaskIds).toEqual([]);
  });

  test('nor where it was folded into a running turn', () => {
    const attachment = { type: 'queued_command', commandMode: 'prompt', prompt: payload(quoted) };
    const lines = chat().human().call('t1').enqueue(payload(quoted)).entry({ type: 'attachment', attachment });
    expect(verdict(lines.apiError())).toBe('not-hung: no-notification');
  });

  test('waits in the queue as a person’s text does', () => {
    const lines = chat().turn().kill().enqueue(payload(quoted)).dequeue().human('Another').human(payload(quoted));
    expect(verdict(lines.synthetic('x'))).toBe('hung: resume-placeholder-only');
    expect(tasks(lines)).toEqual(['b1']);
  });

  test('and is what its dequeue takes, not a notice that is queued before it', () => {
    const lines = hung().enqueue(payload(quoted)).dequeue().human(payload(quoted)).synthetic('x');
    expect(replayed(lines)).toMatchObject({ kind: 'pending', wakeKey: undefined });
    expect(replayed(lines.dequeue())).toMatchObject({ kind: 'pending', wakeKey: expect.any(String) });
  });

  test('but one that comes after the same text was a prompt is the runtime’s', () => {
    const lines = chat().human(payload(quoted)).reply().enqueue(payload(quoted));
    expect(verdict(lines)).toBe('hung: killed-unanswered');
  });

  test('an image without text is no copy of anything', () => {
    expect(
      verdict(
        chat()
          .turn()
          .kill()
          .user([{ type: 'image' }])
          .synthetic('x'),
      ),
    ).toBe('hung: resume-placeholder-only');
  });
});

describe('a launch begins a task’s story anew', () => {
  test('an earlier answer, a stop by the chat and an earlier report count no more', () => {
    expect(verdict(again().kill())).toBe('hung: killed-unanswered');
    expect(verdict(chat().turn().call('t8', 'TaskStop', { task_id: 'b1' }).result('t8').reply().turn().kill())).toBe(
      'hung: killed-unanswered',
    );
    const finding = replayed(chat().human().kill().turn().kill());
    expect(finding.tasks[0]?.stamp).toBe('2026-01-15T10:00:06.000Z');
  });

  test('by the call that the notice names, or by the launch record alone', () => {
    expect(verdict(chat().turn().kill().nudge().reply().human().launch('b1', 'other').reply().kill({ call: '' }))).toBe(
      'hung: killed-unanswered',
    );
  });

  test('by the call alone, where no record names the task', () => {
    const first = chat().human().call('c1').result('c1').reply().kill({ call: 'c1' }).nudge().reply();
    const second = first.human().call('c2').result('c2').reply().kill({ call: 'c2', status: 'stopped' });
    expect(verdict(second)).toBe('hung: killed-unanswered');
  });

  test('another task’s launch changes nothing, nor do words in a result', () => {
    expect(verdict(chat().turn().kill().nudge().reply().turn('b2', 'toolu_2').kill({ status: 'stopped' }))).toBe(
      'not-hung: already-answered',
    );
    const words = { content: 'running in background with ID: b1' };
    const lines = chat().turn().kill().nudge().call('t5', 'Bash', {}).result('t5', {}, words).reply();
    expect(verdict(lines.kill({ status: 'stopped' }))).toBe('not-hung: already-answered');
  });

  test('what the record says is answered stays answered all the same', () => {
    expect(verdict(again().kill(), ['b1'])).toBe('not-hung: already-answered');
  });

  test('a copy of the earlier run’s notice is a report of the new run', () => {
    const lines = chat().turn().kill().nudge().reply().turn().human().apiError().folded().synthetic('x');
    expect(verdict(lines)).toBe('hung: resume-placeholder-only');
    const other = chat().turn().kill().turn('b2', 'toolu_2').apiError().folded({ task: 'b2', call: 'toolu_2' });
    expect(verdict(other.synthetic('x'))).toBe('hung: resume-placeholder-only');
  });
});

describe('the newest notice', () => {
  test('a delivered copy is no newer one; one that was never queued is', () => {
    expect(keyOf(hung().delivered())).toBe(keyOf(hung()));
    expect(keyOf(hung().delivered({ status: 'stopped' }))).not.toBe(keyOf(hung()));
    expect(keyOf(hung().kill())).not.toBe(keyOf(hung()));
  });

  test('without a stamp it is known by its place', () => {
    expect(keyOf(bare())).not.toBe(keyOf(bare().kill({}, { timestamp: undefined })));
  });

  test('an error before it is no error after it; one before a copy still is', () => {
    expect(verdict(chat().turn().kill().nudge().apiError().kill({ status: 'stopped' }))).toBe(
      'hung: killed-unanswered',
    );
    expect(verdict(chat().turn().kill().human().apiError().folded().synthetic('x'))).toMatch(/^error-entry/);
    const ended = chat().turn().turn('b2', 'toolu_2').call('t8', 'TaskStop', { task_id: 'b2' }).result('t8').reply();
    expect(verdict(ended.kill().apiError().kill({ task: 'b2', call: 'toolu_2' }))).toMatch(/^error-entry/);
  });

  test('a placeholder before it, too', () => {
    expect(verdict(hung().synthetic('x').kill({ status: 'stopped' }))).toBe('hung: killed-unanswered');
  });
});

describe('the queue', () => {
  test('a dequeue takes a person’s text before a notice, and nothing where nothing is queued', () => {
    expect(verdict(text().dequeue())).toBe('hung: wake-lost');
    expect(replayed(chat().turn().dequeue().kill())).toMatchObject({ kind: 'pending', wakeKey: undefined });
    const start = JSON.stringify({ task_id: 'b1', tool_use_id: 'toolu_1' });
    expect(replayed(chat().turn().enqueue(start).dequeue().kill())).toMatchObject({
      kind: 'pending',
      wakeKey: undefined,
    });
    expect(replayed(chat().turn().kill().enqueue(start).dequeue())).toMatchObject({ reason: 'wake-lost' });
    expect(verdict(text().enqueue('More').dequeue())).toBe('busy-or-waiting: human-prompt-pending');
  });

  test('a notice that was removed or folded in is not there to be dequeued', () => {
    const removed = chat().turn().kill().queue('remove', { content: payload() }).dequeue();
    expect(replayed(removed)).toMatchObject({ kind: 'pending', wakeKey: undefined });
    const two = chat().turn().kill().kill({ task: 'b2', call: 't2' }).queue('remove', { content: payload() }).dequeue();
    expect(replayed(two)).toMatchObject({ reason: 'wake-lost' });
    const unknown = chat().turn().kill().queue('remove', { content: 'something else' }).dequeue();
    expect(replayed(unknown)).toMatchObject({ reason: 'wake-lost' });
    const folded = chat().turn().kill().human().folded().synthetic('x').dequeue();
    expect(replayed(folded)).toMatchObject({ kind: 'pending', wakeKey: undefined });
  });

  test('a delivered notice gives back only the text that was dequeued for it', () => {
    expect(verdict(text().dequeue().dequeue().delivered())).toBe('hung: wake-lost');
    expect(verdict(text().dequeue().human('Other').synthetic('x').delivered())).toBe('hung: resume-placeholder-only');
    expect(verdict(text().dequeue().folded().synthetic('x'))).toBe('hung: resume-placeholder-only');
  });

  test('a remove without text takes a task’s start, else a person’s text; popAll takes everything', () => {
    const start = JSON.stringify({ task_id: 'b7', tool_use_id: 't7' });
    expect(verdict(text().enqueue(start).queue('remove'))).toBe('busy-or-waiting: human-prompt-pending');
    expect(verdict(text().queue('remove'))).toBe('hung: killed-unanswered');
    expect(verdict(text().enqueue('More').queue('popAll'))).toBe('hung: killed-unanswered');
    expect(verdict(text().enqueue('More').queue('remove'))).toBe('busy-or-waiting: human-prompt-pending');
  });

  test('what was queued before a turn that has its reply is gone, what came later is not', () => {
    expect(verdict(chat().enqueue('x').human().reply())).toBe('not-hung: no-notification');
    expect(verdict(chat().human().enqueue('x').reply())).toBe('busy-or-waiting: human-prompt-pending');
    expect(verdict(chat().enqueue('x').delivered({ status: 'completed' }).reply())).toBe('not-hung: no-notification');
    expect(verdict(chat().enqueue('x').reply())).toBe('busy-or-waiting: human-prompt-pending');
  });
});

describe('turns', () => {
  test('a pending prompt keeps its reason whatever comes within its turn', () => {
    const thought = [{ type: 'thinking', thinking: 'hm' }];
    const open = { stop_reason: null };
    expect(verdict(chat().human().assistant(thought, {}, open))).toBe('busy-or-waiting: human-prompt-pending');
    expect(verdict(chat().nudge().assistant(thought, {}, open))).toBe('busy-or-waiting: nudge-pending');
    expect(verdict(chat().nudge().compaction())).toBe('busy-or-waiting: nudge-pending');
    expect(
      verdict(
        chat()
          .human('x', { origin: { kind: 'peer' } })
          .compaction(),
      ),
    ).toBe('busy-or-waiting: compacting');
    expect(verdict(chat().reply().assistant(thought, {}, open))).toBe('busy-or-waiting: open-turn');
  });

  test('a wake begins a turn: what was queued before it is answered with it', () => {
    const other = { task: 'b2', call: 'toolu_2', status: 'completed' };
    expect(verdict(chat().turn().kill().delivered(other).reply())).toBe('not-hung: answered');
    expect(verdict(chat().turn().kill().delivered(other, { queueTranscriptOnly: true }).reply())).toBe(
      'hung: killed-unanswered',
    );
    expect(verdict(chat().compaction().kill().dequeue().delivered())).toBe('hung: wake-lost');
  });

  test('an interruption of a nudge, and one after the nudge’s turn was over', () => {
    expect(verdict(chat().turn().nudge().interruption().kill())).toBe('not-hung: nudge-interrupted');
    expect(verdict(chat().turn().nudge().reply().interruption().kill())).toBe('not-hung: user-interrupted');
    expect(verdict(chat().turn().kill().human().interruption())).toBe('not-hung: user-interrupted');
    expect(verdict(chat().human().interruption())).toBe('not-hung: user-interrupted');
    expect(verdict(chat().nudge().interruption())).toBe('not-hung: nudge-interrupted');
  });

  test('only nudges are counted as such', () => {
    expect(
      replayed(chat().human().reply().nudge().human('x', { promptSource: 'system' }).reply()).nudgesSinceHuman,
    ).toBe(1);
  });

  test('a command during a wake starts nothing', () => {
    const other = { task: 'b2', call: 'toolu_2', status: 'completed' };
    const command = '<command-name>/cost</command-name>';
    expect(verdict(chat().turn().delivered(other).kill().user(command).reply())).toBe('hung: killed-unanswered');
  });
});

const idOf = (lines: ChatLines): string | undefined => replayed(lines).noticeId;
const wakeOf = (lines: ChatLines): string | undefined => {
  const finding = replayed(lines);
  return finding.kind === 'pending' ? finding.wakeKey : undefined;
};
const wokenKey = (fields: Fields): string | undefined => wakeOf(hung().delivered({}, fields));

describe('identities', () => {
  test('a hang has the same id behind a busy verdict, and none has none', () => {
    expect(idOf(hung().human())).toBe(idOf(hung()));
    expect(idOf(chat().human())).toBeUndefined();
    expect(idOf(chat().human().reply())).toBeUndefined();
  });

  test('task and first stamp make the id', () => {
    const other = chat().turn().kill({}, { timestamp: '2027-01-01T00:00:00.000Z' });
    const ids = [hung(), other, chat().turn().kill({ task: 'b2' })].map((lines) => idOf(lines));
    expect(new Set(ids).size).toBe(3);
  });

  test('a wake is known by its entry’s id, or by its stamp where it has none', () => {
    const stamp = '2027-01-01T00:00:00.000Z';
    const keys = [
      wokenKey({}),
      wokenKey({ uuid: 'other' }),
      wokenKey({ uuid: undefined }),
      wokenKey({ uuid: undefined, timestamp: stamp }),
    ];
    expect(new Set(keys).size).toBe(4);
  });

  test('a stop by the user stands, also behind the error that ends their next turn', () => {
    expect(verdict(hung().human().interruption().human().apiError())).toBe('not-hung: user-interrupted');
  });

  test('text that is folded in opens a turn where none was known', () => {
    const attachment = { type: 'queued_command', commandMode: 'prompt', prompt: 'More' };
    expect(verdict(chat().reply().entry({ type: 'attachment', attachment }))).toBe('busy-or-waiting: open-turn');
  });

  test('what another task’s answer was is no evidence of a hang', () => {
    const lines = chat().turn().kill().nudge().reply().turn('b2', 'toolu_2').kill({ task: 'b2', call: 'toolu_2' });
    expect(replayed(lines).evidence.map(({ note }) => note)).not.toContain('killed notice of task b1, answered');
  });
});

describe('tasks that are reported in several ways', () => {
  const completed = { status: 'completed' };

  test('delivered once is delivered, also where it is queued again', () => {
    expect(verdict(chat().turn().human().kill().folded().kill({ status: 'stopped' }).reply())).toBe(
      'not-hung: answered',
    );
    expect(verdict(chat().turn().human().folded(completed).kill(completed).reply())).toBe('not-hung: no-notification');
    expect(seen(chat().turn().human().folded(completed).kill(completed).reply())).toEqual([]);
  });

  test('a prompt after the first report counts for the next ones', () => {
    expect(verdict(chat().turn().kill().human().kill({ status: 'stopped' }).reply())).toBe('not-hung: answered');
    expect(seen(chat().turn().kill(completed).human().kill(completed).reply())).toEqual([]);
    expect(seen(chat().turn().human().kill(completed).reply())).toEqual(['completed-unanswered']);
  });

  test('one payload with two terminated tasks names both rightly', () => {
    const both = `${payload({ summary: 'first' })}${payload({ task: 'b2', call: 't2', status: 'stopped', summary: 'second' })}`;
    expect(replayed(chat().turn().enqueue(both)).tasks).toMatchObject([
      { id: 'b1', status: 'killed', summary: 'first', toolUseId: 'toolu_1' },
      { id: 'b2', status: 'stopped', summary: 'second', toolUseId: 't2' },
    ]);
    const mixed = `${payload({ status: 'completed', summary: 'no' })}${payload({ summary: 'yes' })}`;
    expect(replayed(chat().turn().enqueue(mixed)).tasks).toMatchObject([{ status: 'killed', summary: 'yes' }]);
  });

  test('a later report without a call keeps the one that is known', () => {
    expect(replayed(chat().turn().kill().kill({ call: '', status: 'stopped' })).tasks[0]?.toolUseId).toBe('toolu_1');
  });

  test('an event without a status is nothing', () => {
    const event = '<task-notification><task-id>m1</task-id><event>killed</event></task-notification>';
    expect(seen(chat().human().reply().enqueue(event))).toEqual([]);
  });
});

describe('background work that is never heard of again', () => {
  const lost = ['background-without-terminal-record'];

  test('is known by the call with its result, or by the launch record', () => {
    expect(seen(asked().reply())).toEqual([]);
    expect(seen(asked().result('t1').reply())).toEqual(lost);
    expect(
      seen(
        chat()
          .human()
          .call('t1')
          .result('t1', { toolUseResult: { backgroundTaskId: 'b1' } })
          .reply(),
      ),
    ).toEqual(lost);
    expect(seen(chat().human().call('t1').result('t1').reply())).toEqual([]);
    expect(seen(asked().call('t2').result('t2').reply())).toEqual([]);
  });

  test('ends by its task, by its call, by the task that its result’s words name', () => {
    expect(seen(launched().delivered({ task: 'b1', call: '', status: 'completed' }))).toEqual(['completed-unanswered']);
    expect(seen(launched().delivered({ task: 'zz', call: 't1', status: 'completed' }))).toEqual([
      'completed-unanswered',
    ]);
    expect(seen(launched().delivered({ task: 'zz', call: 'zz', status: 'completed' }))).toEqual([
      'completed-unanswered',
      ...lost,
    ]);
    const words = { content: 'Started in the background with id b1.' };
    expect(
      seen(
        asked()
          .result('t1', {}, words)
          .reply()
          .enqueue(done({ call: '' })),
      ),
    ).toEqual(['completed-unanswered']);
    const foreground = chat().human().call('t1').result('t1', {}, words).reply();
    expect(seen(foreground)).toEqual([]);
  });

  test('ends by the chat’s own stop, and no longer counts once the chat has gone on', () => {
    expect(seen(launchedInShell().call('t8', 'TaskStop', { task_id: 'b1' }).result('t8').reply())).toEqual([]);
    expect(seen(launchedInShell().reply().human().apiError())).toEqual(lost);
    expect(seen(launchedInShell().reply().human().reply())).toEqual([]);
    const start = JSON.stringify({ task_id: 'b5', tool_use_id: 't5' });
    expect(seen(chat().human().enqueue(start).reply())).toEqual(lost);
    expect(seen(chat().human().enqueue(start).reply().kill({ task: 'b5', call: '' }))).toEqual([]);
  });

  test('the evidence cites the call, or the record where the call is not there', () => {
    expect(notes(chat().turn().kill())).toContain('1 launch of task b1');
    expect(
      notes(
        chat()
          .result('x', { toolUseResult: { backgroundTaskId: 'b1' } })
          .reply()
          .kill(),
      ),
    ).toContain('0 launch of task b1');
  });
});
