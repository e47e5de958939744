import { describe, expect, test } from 'vitest';
import type { Finding } from '#shared/transcript/finding.js';
import { judge } from '#shared/transcript/signature.js';
import { type ChatLines, chat, clocksAgo, findingIn, judged, payload, verdictIn } from '../../support/chat-lines.ts';

type Pending = Extract<Finding, { kind: 'pending' }>;

const pendingIn = async (lines: ChatLines): Promise<Pending> => {
  const finding = await findingIn(lines);
  if (finding.kind !== 'pending') throw new Error(`expected a pending finding, got ${finding.reason}`);
  return finding;
};

/** A chat whose task was killed; the same after a wake; the same with a person's text in the queue; nudged, its call cancelled. */
const hung = (): ChatLines => chat().turn().kill();
const woken = (): ChatLines => hung().delivered();
const withQueuedText = (): ChatLines => hung().enqueue('Any news?');
const nudgedInVain = (): ChatLines => hung().nudge().call('t9').result('t9', {}, { is_error: true });

describe('what counts as a notification', () => {
  test('a user entry that the runtime wrote, by its origin', async () => {
    expect(await verdictIn(chat().turn().delivered())).toBe('hung: wake-lost');
  });

  test('before 2.1.150: a user entry with neither origin nor prompt source', async () => {
    const lines = chat().turn().user(payload(), { version: '2.1.100' });
    expect(await verdictIn(lines)).toBe('hung: wake-lost');
  });

  test('since 2.1.150 the runtime names the origin: one without it is a person’s', async () => {
    const lines = chat().turn().user(payload(), { version: '2.1.150' });
    expect(await verdictIn(lines)).toBe('busy-or-waiting: human-prompt-pending');
  });

  test('a prompt source alone does not make it the runtime’s', async () => {
    const lines = chat().turn().user(payload(), { version: '2.1.100', promptSource: 'sdk' });
    expect(await verdictIn(lines)).toBe('busy-or-waiting: human-prompt-pending');
  });

  test.each(['sdk', 'system'])('the source %s does not take it away', async (promptSource) => {
    expect(await verdictIn(chat().turn().delivered({}, { promptSource }))).toBe('hung: wake-lost');
  });

  test('a notice that does not begin the text is none', async () => {
    expect(await verdictIn(chat().turn().enqueue(`Look: ${payload()}`).dequeue().queue('popAll'))).toBe(
      'not-hung: no-notification',
    );
  });

  test('an attachment of another kind is none', async () => {
    const attachment = { type: 'queued_command', commandMode: 'prompt', prompt: payload() };
    const lines = chat().turn().entry({ type: 'attachment', attachment }).reply();
    expect(await verdictIn(lines)).toBe('not-hung: no-notification');
  });

  test('completed and failed alone do not hang', async () => {
    for (const status of ['completed', 'failed', 'timed out', 'running']) {
      expect(await verdictIn(chat().turn().kill({ status }))).toBe('not-hung: no-notification');
    }
  });

  test('a task without an id is known by its call', async () => {
    const nameless = '<task-notification><tool-use-id>toolu_1</tool-use-id><status>killed</status></task-notification>';
    const { verdict, tasks } = await judged(chat().turn().enqueue(nameless));
    expect([verdict, tasks[0]?.id]).toEqual(['hung', 'toolu_1']);
  });
});

describe('what counts as a reply', () => {
  test('the tail of a turn that was running when the kill was queued answers nothing', async () => {
    const lines = chat().turn().human('More').kill().reply();
    expect(await verdictIn(lines)).toBe('hung: killed-unanswered');
  });

  test('not even with tool calls in that turn', async () => {
    const lines = chat().turn().human('More').call('t9').kill().result('t9').reply();
    expect(await verdictIn(lines)).toBe('hung: killed-unanswered');
  });

  test('a later prompt started the turn: answered, though never delivered', async () => {
    expect(await verdictIn(chat().turn().kill().dequeue().nudge().reply())).toBe('not-hung: answered');
  });

  test('it was folded into the turn before the reply: answered', async () => {
    const lines = chat().turn().human('More').call('t9').kill().result('t9').folded().reply();
    expect(await verdictIn(lines)).toBe('not-hung: answered');
  });

  test('folded in, but no reply yet: the turn has it', async () => {
    expect(await verdictIn(chat().turn().human('More').call('t9').kill().result('t9').folded())).toBe(
      'busy-or-waiting: open-turn',
    );
  });

  test('a slash command’s turn answers where no turn was open', async () => {
    const command = '<command-message>review</command-message>\n<command-name>/review</command-name>';
    const lines = chat().turn().kill().user(command).user('Review it.', { isMeta: true }).reply();
    expect(await verdictIn(lines)).toBe('not-hung: answered');
    const within = chat().turn().human('More').kill().user(command).reply();
    expect(await verdictIn(within)).toBe('hung: killed-unanswered');
  });

  test('a side chain’s reply, an empty one and a thinking one are none', async () => {
    expect(await verdictIn(chat().turn().delivered().reply('x', { isSidechain: true }))).toBe('hung: wake-lost');
    expect(await verdictIn(chat().turn().delivered().assistant([]))).toBe('hung: wake-lost');
    expect(
      await verdictIn(
        chat()
          .turn()
          .delivered()
          .assistant([{ type: 'text', text: ' ' }]),
      ),
    ).toBe('hung: wake-lost');
    const thought = [{ type: 'thinking', thinking: 'hm' }];
    const open = chat().turn().delivered().assistant(thought, {}, { stop_reason: null });
    expect(await verdictIn(open)).toBe('busy-or-waiting: open-turn');
    const ended = chat().turn().delivered().assistant(thought, {}, { stop_reason: 'end_turn' });
    expect(await verdictIn(ended)).toBe('not-hung: answered');
    const calling = chat().turn().delivered().assistant(thought, {}, { stop_reason: 'tool_use' });
    expect(await verdictIn(calling)).toBe('busy-or-waiting: open-turn');
  });

  test('a reply without a stop reason is one (2.1.50 writes none), and one that ends in a call leaves the turn open', async () => {
    const text = [{ type: 'text', text: 'Done.' }];
    expect(await verdictIn(chat().turn().delivered().assistant(text, {}, { stop_reason: null }))).toBe(
      'not-hung: answered',
    );
    expect(await verdictIn(chat().turn().delivered().assistant(text, {}, { stop_reason: 'tool_use' }))).toBe(
      'busy-or-waiting: open-turn',
    );
  });

  test('a reply in plain text is one', async () => {
    expect(await verdictIn(chat().turn().delivered().assistant('Done.'))).toBe('not-hung: answered');
  });

  test('either synthetic flag makes it none', async () => {
    expect(await verdictIn(chat().turn().delivered().synthetic('Hm.'))).toBe('hung: resume-placeholder-only');
    const flagged = chat().turn().delivered().reply('Credit balance too low', { isApiErrorMessage: true });
    expect(await verdictIn(flagged)).toBe('error-entry: api-error-other');
    const unflagged = chat().turn().delivered().synthetic('API Error: 529 overloaded');
    expect(await verdictIn(unflagged)).toBe('error-entry: api-error-overload');
  });
});

describe('who is about to move the chat', () => {
  test('a call without result, a result last, an automatic compaction', async () => {
    expect(await verdictIn(woken().call('t9'))).toBe('busy-or-waiting: open-turn');
    expect(await verdictIn(woken().call('t9').result('t9'))).toBe('busy-or-waiting: open-turn');
    expect(await verdictIn(woken().compaction())).toBe('busy-or-waiting: compacting');
    expect(await verdictIn(woken().compaction('manual'))).toBe('hung: wake-lost');
  });

  test('a wake shows that an earlier turn is over, though its last entry is a tool result', async () => {
    const lines = chat().turn().human('More').call('t9').result('t9').kill().dequeue().delivered();
    expect(await verdictIn(lines)).toBe('hung: wake-lost');
    expect(await verdictIn(chat().turn().human('More').kill().dequeue().delivered())).toBe(
      'busy-or-waiting: human-prompt-pending',
    );
  });

  test('a person’s prompt, also by an image alone; a machine’s prompt; a nudge', async () => {
    expect(await verdictIn(hung().human())).toBe('busy-or-waiting: human-prompt-pending');
    expect(await verdictIn(hung().user([{ type: 'image' }]))).toBe('busy-or-waiting: human-prompt-pending');
    expect(await verdictIn(hung().human('Daily report', { promptSource: 'scheduled' }))).toBe(
      'busy-or-waiting: open-turn',
    );
    expect(await verdictIn(hung().human('x', { origin: { kind: 'channel' } }))).toBe('busy-or-waiting: open-turn');
    expect(await verdictIn(hung().nudge())).toBe('busy-or-waiting: nudge-pending');
  });

  test('a host’s synthetic message starts a turn; a reminder does not', async () => {
    const host = {
      isMeta: true,
      origin: { kind: 'unclassified' },
      promptSource: 'system',
      turnOrigin: 'host_synthetic',
    };
    const prefix = '[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT]\n';
    expect(await verdictIn(hung().user(`${prefix}Go on.`, host))).toBe('busy-or-waiting: open-turn');
    expect(await verdictIn(hung().user(`${prefix}[Chat recovery] Go on.`, host))).toBe(
      'busy-or-waiting: nudge-pending',
    );
    expect(await verdictIn(hung().user(`${prefix}[Chat recovery] Go on.`, host).reply())).toBe('not-hung: answered');
    expect(await verdictIn(hung().user('Stop hook feedback:\n[Chat recovery] x', { isMeta: true }))).toBe(
      'hung: killed-unanswered',
    );
  });

  test('text in the queue: removed, taken out, folded in or dequeued it waits no more', async () => {
    expect(await verdictIn(withQueuedText())).toBe('busy-or-waiting: human-prompt-pending');
    expect(await verdictIn(withQueuedText().queue('remove', { content: 'Any news?' }))).toBe('hung: killed-unanswered');
    expect(await verdictIn(withQueuedText().queue('remove', { content: 'Other' }))).toBe(
      'busy-or-waiting: human-prompt-pending',
    );
    expect(await verdictIn(withQueuedText().queue('popAll', { content: 'Any news?' }))).toBe('hung: killed-unanswered');
    expect(await verdictIn(withQueuedText().dequeue(), {}, 1_000)).toBe('busy-or-waiting: wake-grace');
    expect(await verdictIn(withQueuedText().dequeue().human('Any news?'))).toBe(
      'busy-or-waiting: human-prompt-pending',
    );
    expect(await verdictIn(withQueuedText().queue('something-new'))).toBe('busy-or-waiting: human-prompt-pending');
  });

  test('a delivered notice shows what had been dequeued: the person’s text is still there', async () => {
    const lines = chat().turn().enqueue('Any news?').kill().dequeue().delivered();
    expect(await verdictIn(lines)).toBe('busy-or-waiting: human-prompt-pending');
    expect(await verdictIn(lines.dequeue().human('Any news?').reply(), { history: 'wide' })).toBe('not-hung: answered');
  });

  test('text that was queued before an answered prompt is in the queue no more', async () => {
    const lines = chat().enqueue('Lost with its process').turn().kill();
    expect(await verdictIn(lines)).toBe('hung: killed-unanswered');
  });

  test('local commands, their output, reminders and summaries are nothing', async () => {
    const lines = chat()
      .turn()
      .kill()
      .user('<command-name>/cost</command-name>')
      .user('<local-command-stdout>0.01</local-command-stdout>')
      .user('<bash-input>ls</bash-input>')
      .user('<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>')
      .user('<system-reminder>x</system-reminder>', { isMeta: true })
      .user('Summary', { isCompactSummary: true })
      .entry({ type: 'system', subtype: 'turn_duration' })
      .entry({ type: 'some-future-type', x: 1 });
    expect(await verdictIn(lines)).toBe('hung: killed-unanswered');
  });
});

describe('a user’s stop', () => {
  test('an interruption after a delivered notice, or after a person’s prompt', async () => {
    expect(await verdictIn(chat().turn().kill().delivered().interruption())).toBe('not-hung: user-interrupted');
    expect(await verdictIn(chat().turn().kill().human().interruption())).toBe('not-hung: user-interrupted');
    expect(
      await verdictIn(
        chat().turn().kill().human().call('t9').interruption('[Request interrupted by user for tool use]'),
      ),
    ).toBe('not-hung: user-interrupted');
  });

  test('it ends with the next reply, and with the next message of a person', async () => {
    expect(await verdictIn(chat().human().launch().interruption().human().reply().kill())).toBe(
      'hung: killed-unanswered',
    );
    const failed = chat().human().launch().interruption().human().apiError().kill();
    expect(await verdictIn(failed)).toBe('hung: killed-unanswered');
  });

  test('a person who types its words writes a prompt', async () => {
    const typed = { origin: { kind: 'human' }, promptSource: 'typed' };
    const lines = chat().turn().kill().user('[Request interrupted by user] is what I saw', typed);
    expect(await verdictIn(lines)).toBe('busy-or-waiting: human-prompt-pending');
  });

  test('the wording “stopped by the user” decides nothing', async () => {
    const lines = chat().turn().kill({ summary: 'Agent "x" was stopped by user' });
    expect(await verdictIn(lines)).toBe('hung: killed-unanswered');
  });

  test.each(['TaskStop', 'KillShell', 'KillBash'])('%s for another id stops only that one', async (tool) => {
    const lines = chat()
      .human()
      .launch()
      .call('t9', tool, { task_id: 'b7', shell_id: 'b7' })
      .result('t9')
      .reply()
      .kill();
    expect(await verdictIn(lines)).toBe('hung: killed-unanswered');
  });
});

describe('once answered, always answered', () => {
  test('by an earlier turn of the same file', async () => {
    const lines = chat().turn().kill().nudge().reply().human().reply().kill({ status: 'stopped' });
    expect(await verdictIn(lines)).toBe('not-hung: already-answered');
  });

  test('a completed task that is reported as stopped later', async () => {
    const lines = chat().turn().delivered({ status: 'completed' }).reply().kill({ status: 'stopped' });
    expect(await verdictIn(lines)).toBe('not-hung: already-answered');
  });

  test('by the session’s record', async () => {
    const { verdict, reason, tasks } = await judged(chat().turn().kill().kill({ task: 'b2', call: 'toolu_2' }), {
      answeredTaskIds: new Set(['b1']),
    });
    expect([verdict, reason]).toEqual(['hung', 'killed-unanswered']);
    expect(tasks.map(({ id }) => id)).toEqual(['b2']);
    expect(await verdictIn(chat().turn().kill(), { answeredTaskIds: new Set(['b1']) })).toBe(
      'not-hung: already-answered',
    );
  });

  test('but a launch begins a task’s story anew', async () => {
    const lines = chat().turn().kill().nudge().reply().turn().kill({ status: 'stopped' });
    expect(await verdictIn(lines)).toBe('hung: killed-unanswered');
  });

  test('the ids are told, so that the record can keep them', async () => {
    const finding = await findingIn(chat().turn().kill().nudge().reply());
    expect(finding.answeredTaskIds).toEqual(['b1']);
  });
});

describe('identities', () => {
  test('the same hang keeps its id when it is reported again and delivered; the notice’s key changes with each report', async () => {
    const once = await pendingIn(hung());
    const again = await pendingIn(hung().kill({ status: 'stopped' }));
    const delivered = await pendingIn(hung().kill({ status: 'stopped' }).dequeue().delivered({ status: 'stopped' }));
    expect([again.noticeId, delivered.noticeId]).toEqual([once.noticeId, once.noticeId]);
    expect(again.noticeKey).not.toBe(once.noticeKey);
    expect(delivered.noticeKey).toBe(again.noticeKey);
  });

  test('another task makes another hang', async () => {
    const two = await pendingIn(hung().kill({ task: 'b2', call: 'toolu_2' }));
    expect(two.noticeId).not.toBe((await pendingIn(hung())).noticeId);
    expect(two.tasks.map(({ id }) => id)).toEqual(['b1', 'b2']);
  });

  test('a newer completed notice changes the key, not the hang', async () => {
    const newer = await pendingIn(hung().kill({ task: 'b2', call: 'toolu_2', status: 'completed' }));
    const before = await pendingIn(hung());
    expect(newer.noticeId).toBe(before.noticeId);
    expect(newer.noticeKey).not.toBe(before.noticeKey);
  });

  test('a wake has an identity of its own, which each API retry changes', async () => {
    expect((await pendingIn(hung())).wakeKey).toBeUndefined();
    const delivered = await pendingIn(hung().dequeue().delivered());
    const retried = await pendingIn(hung().dequeue().delivered().retry());
    const twice = await pendingIn(hung().dequeue().delivered().retry().retry());
    expect(new Set([undefined, delivered.wakeKey, retried.wakeKey, twice.wakeKey]).size).toBe(4);
    expect(retried.wakeStampMs).toBeGreaterThan(delivered.wakeStampMs ?? Number.POSITIVE_INFINITY);
    expect((await pendingIn(hung().retry())).wakeKey).toBeUndefined();
  });
});

describe('the clocks', () => {
  test('due at first sight plus the debounce, not a millisecond earlier, and it says when to look again', async () => {
    const finding = await findingIn(chat().turn().kill());
    expect(judge(finding, clocksAgo(4_999))).toMatchObject({
      verdict: 'busy-or-waiting',
      reason: 'debounce',
      recheckAtMs: 1_000_001,
    });
    expect(judge(finding, clocksAgo(5_000))).toMatchObject({ verdict: 'hung', recheckAtMs: undefined });
    expect(judge(finding, clocksAgo(0, { debounceMs: 0 })).verdict).toBe('hung');
  });

  test('what was never seen before is seen just now', async () => {
    const finding = await findingIn(chat().turn().kill().delivered());
    const unseen = clocksAgo(0, { noticeSeenMs: undefined, wakeSeenMs: undefined });
    expect(judge(finding, unseen)).toMatchObject({ reason: 'wake-grace', recheckAtMs: 1_030_000 });
  });

  test('the later of debounce and grace counts', async () => {
    const finding = await findingIn(chat().turn().kill().delivered());
    const late = clocksAgo(40_000, { noticeSeenMs: 999_000 });
    expect(judge(finding, late)).toMatchObject({
      verdict: 'busy-or-waiting',
      reason: 'debounce',
      recheckAtMs: 1_004_000,
    });
  });

  test('a settled finding needs none', async () => {
    const finding = await findingIn(chat().human().reply());
    expect(judge(finding, clocksAgo(0))).toMatchObject({
      verdict: 'not-hung',
      reason: 'no-notification',
      recheckAtMs: undefined,
    });
  });
});

const observationsIn = async (lines: ChatLines): Promise<string[]> => (await findingIn(lines)).observations;

describe('facts beside the verdict', () => {
  test('nudges since the newest human prompt, and that prompt', async () => {
    const typed = { origin: { kind: 'human' }, promptSource: 'typed' };
    const lines = chat()
      .turn()
      .kill()
      .nudge()
      .reply()
      .human('Thanks', typed)
      .nudge('[recovery] x')
      .reply()
      .nudge('[Chat recovery] y');
    const finding = await findingIn(lines, { history: 'whole' });
    expect(finding.nudgesSinceHuman).toBe(2);
    expect(finding.lastHuman).toMatchObject({ certain: true });
    expect(finding.historyComplete).toBe(true);
    expect((await findingIn(chat().turn().kill())).lastHuman).toMatchObject({ id: 'u-0', certain: false });
  });

  test('a configured label is known besides the others', async () => {
    const lines = chat().turn().kill().nudge('[Helper] Go on.');
    expect(await verdictIn(lines, { senderLabels: ['Helper'] })).toBe('busy-or-waiting: nudge-pending');
    expect(await verdictIn(lines)).toBe('busy-or-waiting: human-prompt-pending');
  });

  test('a nudge whose every call was cancelled had no effect', async () => {
    expect((await findingIn(nudgedInVain().reply('I stop here.'))).observations).toEqual(['nudge-without-effect']);
    expect((await findingIn(nudgedInVain())).observations).toEqual([]);
    expect((await findingIn(nudgedInVain().call('t8').result('t8').reply())).observations).toEqual([]);
  });

  test('other ways to be dead', async () => {
    expect(await observationsIn(chat().turn().delivered({ status: 'completed' }))).toEqual(['completed-unanswered']);
    expect(await observationsIn(chat().turn().kill({ status: 'timed out' }))).toEqual(['other-terminal-status']);
    expect(await observationsIn(chat().turn())).toEqual(['background-without-terminal-record']);
    expect(await observationsIn(chat().turn().kill())).toEqual([]);
    expect(await observationsIn(chat().turn().delivered({ status: 'completed' }).reply())).toEqual([]);
    expect(await observationsIn(chat().turn().nudge().reply())).toEqual([]);
    expect(await observationsIn(chat().human().launch().interruption())).toEqual([]);
    const refused = chat().human().call('t1', 'Bash', { run_in_background: true }).result('t1', {}, { is_error: true });
    expect(await observationsIn(refused.reply())).toEqual([]);
    const agent = chat()
      .human()
      .call('t1', 'Agent')
      .result('t1', { toolUseResult: { agentId: 'a1', isAsync: true } });
    expect(await observationsIn(agent.reply())).toEqual(['background-without-terminal-record']);
    const inForeground = chat()
      .human()
      .call('t1', 'Agent')
      .result('t1', { toolUseResult: { agentId: 'a1' } });
    expect(await observationsIn(inForeground.reply())).toEqual([]);
  });

  test('the evidence names what decides, in file order', async () => {
    const { evidence } = await findingIn(chat().turn().kill());
    expect(evidence.map(({ note }) => note)).toEqual([
      'prompt (human)',
      'launch of task b1',
      'newest real reply',
      'killed notice of task b1',
    ]);
    expect(evidence.map(({ offset }) => offset)).toEqual(
      evidence.map(({ offset }) => offset).toSorted((a, b) => a - b),
    );
  });
});
