import { describe, expect, test } from 'vitest';
import { OTHER_SESSION, chat, findingIn, judged, payload, verdictIn } from '../../support/chat-lines.ts';

/** Shapes of public reports (and of real runs) that no recorded file has; the numbers are the reports' own. */

describe('when a kill lands and what is written', () => {
  test('06: a completed block followed by a killed one in one payload is hung', async () => {
    const both = `${payload({ task: 'b2', status: 'completed', call: 'toolu_2' })}\n${payload()}`;
    const { verdict, tasks } = await judged(chat().turn().enqueue(both));
    expect(verdict).toBe('hung');
    expect(tasks.map(({ id }) => id)).toEqual(['b1']);
  });

  test('12: a task that was answered stays answered when it is reported again in both shapes', async () => {
    const lines = chat()
      .turn()
      .kill()
      .nudge()
      .reply()
      .kill({ status: 'stopped' })
      .dequeue()
      .delivered({ status: 'stopped' });
    expect(await verdictIn(lines)).toBe('not-hung: already-answered');
  });

  test('13: a killed notice of another session is not ours', async () => {
    const lines = chat().turn().kill({}, { sessionId: OTHER_SESSION });
    expect(await verdictIn(lines)).toBe('not-hung: no-notification');
  });

  test('18: a notice that was queued and removed is still un-answered', async () => {
    const lines = chat().turn().kill().queue('remove', { content: payload(), reason: 'absorbed_mid_turn' });
    expect(await verdictIn(lines)).toBe('hung: killed-unanswered');
  });

  test('19: file order decides: a kill stamped before the reply it follows is hung', async () => {
    const lines = chat().turn().kill({}, { timestamp: '2026-01-15T09:59:59.000Z' });
    expect(await verdictIn(lines)).toBe('hung: killed-unanswered');
  });

  test('54: a completed notice after the kill: one debounce from the newest, then hung', async () => {
    const lines = chat().turn().kill().kill({ task: 'b2', status: 'completed', call: 'toolu_2' });
    expect(await verdictIn(lines, {}, 3_000)).toBe('busy-or-waiting: debounce');
    expect(await verdictIn(lines, {}, 5_000)).toBe('hung: killed-unanswered');
  });
});

describe('what only looks like a hang', () => {
  test('21: an interruption, then two kills: a user stop', async () => {
    const lines = chat().human().launch().interruption().kill().kill({ task: 'b2', call: 'toolu_2' });
    expect(await verdictIn(lines)).toBe('not-hung: user-interrupted');
  });

  test('53: the chat called TaskStop for that id itself', async () => {
    const lines = chat()
      .human()
      .launch()
      .call('toolu_9', 'TaskStop', { task_id: 'b1' })
      .result('toolu_9')
      .reply()
      .kill();
    expect(await verdictIn(lines)).toBe('not-hung: model-stopped-task');
  });

  test('53: one task stopped by the chat, another killed: only the other hangs', async () => {
    const lines = chat()
      .human()
      .launch()
      .launch('b2', 'toolu_2')
      .call('toolu_9', 'TaskStop', { task_id: 'b1' })
      .result('toolu_9')
      .reply()
      .kill()
      .kill({ task: 'b2', call: 'toolu_2' });
    const { verdict, tasks } = await judged(lines);
    expect(verdict).toBe('hung');
    expect(tasks.map(({ id }) => id)).toEqual(['b2']);
  });

  test('28: a kill that was dequeued 12 s ago may be waking the chat; after the grace it is hung', async () => {
    const lines = chat().turn().kill().dequeue();
    expect(await verdictIn(lines, {}, 12_000)).toBe('busy-or-waiting: wake-grace');
    expect(await verdictIn(lines, {}, 30_000)).toBe('hung: wake-lost');
  });

  test('31: a manual compaction whose summary quotes a kill notice', async () => {
    const lines = chat()
      .human()
      .reply()
      .compaction('manual')
      .user(`This session continues. ${payload()}`, { isCompactSummary: true, isVisibleInTranscriptOnly: true })
      .user('<local-command-stdout>Compacted</local-command-stdout>');
    expect(await verdictIn(lines)).toBe('not-hung: no-notification');
  });

  test('32: a resume’s “continue”, answered by the placeholder alone, is hung', async () => {
    const placeholder = 'No response requested.';
    const meta = chat()
      .turn()
      .kill()
      .user('Continue from where you left off.', { isMeta: true })
      .synthetic(placeholder);
    expect(await verdictIn(meta)).toBe('hung: resume-placeholder-only');
    const plain = chat().turn().kill().user('continue').synthetic(placeholder, { isApiErrorMessage: false });
    expect(await verdictIn(plain)).toBe('hung: resume-placeholder-only');
  });

  test('34: a killed notice inside a side chain is no notice of the chat', async () => {
    const lines = chat().turn().delivered({}, { isSidechain: true, agentId: 'a1' });
    expect(await verdictIn(lines)).toBe('not-hung: no-notification');
  });

  test('38: copies of a notice in bookkeeping after the reply', async () => {
    const lines = chat()
      .turn()
      .kill()
      .dequeue()
      .delivered()
      .reply()
      .entry({ type: 'last-prompt', lastPrompt: payload() })
      .entry({ type: 'api-request-blob', messages: [{ role: 'user', content: payload() }] });
    expect(await verdictIn(lines)).toBe('not-hung: answered');
  });
});

describe('what is in the file', () => {
  test('41: bad UTF-8 and a lone surrogate before the kill are passed over', async () => {
    const before = chat()
      .turn()
      .raw(
        String.raw`{"type":"user","sessionId":"a0000000-0000-4000-8000-00000000000a","message":{"content":[{"type":"tool_result","content":"\ud83d"}]}}`,
      );
    const reply = chat().reply().bytes();
    const broken = Buffer.concat([
      Buffer.from('{"type":"summary","summary":"'),
      Buffer.from([0xc3, 0x28, 0xff]),
      Buffer.from('"}\n'),
    ]);
    const lines = Buffer.concat([before.bytes(), broken, reply, chat().kill().bytes()]);
    expect(await verdictIn(lines)).toBe('hung: killed-unanswered');
  });

  test('41: a notice with bad UTF-8 in its summary is still a notice', async () => {
    const [head = '', tail = ''] = chat().kill({ summary: 'cut @@ here' }).bytes().toString().split('@@');
    const bytes = Buffer.concat([
      chat().turn().bytes(),
      Buffer.from(head),
      Buffer.from([0xe2, 0x82]),
      Buffer.from(tail),
    ]);
    expect(await verdictIn(bytes)).toBe('hung: killed-unanswered');
  });

  test('45: a file of session B that holds only A’s lines is not hung for B', async () => {
    expect(await verdictIn(chat().turn().kill(), { sessionId: OTHER_SESSION })).toBe('not-hung: no-notification');
  });

  test('45: what a fork copied from its parent is not the fork’s', async () => {
    const copied = { forkedFrom: { sessionId: OTHER_SESSION, messageUuid: 'u-1' } };
    const lines = chat().turn().kill({}, copied).delivered({}, copied);
    expect(await verdictIn(lines)).toBe('not-hung: no-notification');
  });
});

describe('nudges', () => {
  test('48: our nudge, then an interruption marker: stand down', async () => {
    const finding = await findingIn(chat().turn().kill().nudge().interruption());
    expect(finding).toMatchObject({ verdict: 'not-hung', reason: 'nudge-interrupted', nudgesSinceHuman: 1 });
  });

  test('56: human text still in the queue', async () => {
    expect(await verdictIn(chat().turn().kill().enqueue('Any news?'))).toBe('busy-or-waiting: human-prompt-pending');
  });

  test('our nudge still in the queue is pending', async () => {
    expect(await verdictIn(chat().turn().kill().enqueue('[recovery] Go on.'))).toBe('busy-or-waiting: nudge-pending');
  });
});

const nudgedAndRetried = (): ReturnType<typeof chat> => chat().turn().kill().nudge().retry();

describe('shapes of real runs that are not among the recorded files', () => {
  test('one kill, then another task completes, wakes the chat and folds the kill in', async () => {
    const other = { task: 'b2', call: 'toolu_2', status: 'completed' };
    const lines = chat().human().launch().launch('b2', 'toolu_2').reply().kill().kill(other).dequeue().delivered(other);
    expect(await verdictIn(lines, {}, 10_000)).toBe('busy-or-waiting: wake-grace');
    const folded = lines.queue('remove', { content: payload(), reason: 'absorbed_mid_turn' }).folded();
    expect(await verdictIn(folded)).toBe('busy-or-waiting: open-turn');
    expect(await verdictIn(folded.reply())).toBe('not-hung: answered');
  });

  test('the terminal is closed: an enqueue and a bare dequeue', async () => {
    expect(await verdictIn(chat().turn().kill().dequeue())).toBe('hung: wake-lost');
  });

  test('killed in mid-turn by SIGTERM, resumed without a message', async () => {
    const stopped = { status: 'stopped' };
    const lines = chat()
      .turn()
      .human('Another question')
      .kill()
      .kill(stopped)
      .dequeue()
      .synthetic('No response requested.')
      .delivered(stopped, { queueTranscriptOnly: true });
    expect(await verdictIn(lines)).toBe('hung: resume-placeholder-only');
  });

  test('a person sends a notice’s text among other text, then interrupts', async () => {
    const quoted = `What does this mean?\n${payload()}`;
    const lines = chat().turn().enqueue(quoted).dequeue().human(quoted).interruption();
    expect(await verdictIn(lines)).toBe('not-hung: user-interrupted');
  });

  test('a person sends exactly a notice’s text and waits for the answer', async () => {
    const lines = chat().turn().enqueue(payload()).dequeue().human(payload());
    expect(await verdictIn(lines)).toBe('busy-or-waiting: human-prompt-pending');
  });

  test('2.1.50: the start of a task stands in the queue as JSON and is nobody’s message', async () => {
    const start = JSON.stringify({ task_id: 'b1', tool_use_id: 'toolu_1', description: 'x', task_type: 'local_bash' });
    const lines = chat()
      .human()
      .call('toolu_1', 'Bash', { run_in_background: true })
      .enqueue(start)
      .result('toolu_1')
      .reply();
    expect(await verdictIn(lines)).toBe('not-hung: no-notification');
    const { observations } = await findingIn(lines.queue('remove'));
    expect(observations).toEqual(['background-without-terminal-record']);
  });

  test('an API error ends the nudged turn: the error’s class', async () => {
    expect(await verdictIn(nudgedAndRetried().apiError())).toBe('error-entry: api-error-other');
    expect(await verdictIn(nudgedAndRetried().apiError({ apiErrorStatus: 429 }))).toBe('error-entry: api-error-limit');
    expect(await verdictIn(nudgedAndRetried().apiError({ error: 'authentication_failed' }))).toBe(
      'error-entry: api-error-login',
    );
    expect(await verdictIn(nudgedAndRetried().apiError({ apiErrorType: 'overloaded_error' }))).toBe(
      'error-entry: api-error-overload',
    );
  });
});
