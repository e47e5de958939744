import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { judgeEvents, type Judgement } from '../../chaos/judge.ts';
import type { JournalEvent, Recorded } from '../../chaos/journal.ts';
import { TestTranscript } from '../../support/transcript.ts';

const NUDGE = '[Paddock recovery] go on';

/** One chat as journal and transcript tell of it; time is its own. */
class Told {
  readonly events: Recorded[] = [];
  readonly transcript: TestTranscript;
  readonly cap: number;

  constructor(root: string, cap = 1) {
    this.transcript = new TestTranscript(root);
    this.cap = cap;
    this.note({ t: 'settings', seed: 1, debounceMs: 500, caps: { one: cap, two: cap } });
    this.note({ t: 'chat', chat: this.id, kind: 'early', project: 'one' });
  }

  get id(): string {
    return this.transcript.sessionId;
  }
  get bytes(): number {
    return this.transcript.bytes;
  }

  note(event: JournalEvent): void {
    this.events.push({ seq: this.events.length, atMs: Date.now(), ...event });
  }
  left(key: string): void {
    this.note({ t: 'left', chat: this.id, worker: 'worker-1', key, bytes: this.bytes });
  }
  started(key: string): void {
    this.note({ t: 'post', chat: this.id, worker: 'worker-1', key, outcome: 'started', bytes: this.bytes });
  }
  accepted(type: string, more: { taskId?: string } = {}): void {
    this.note({ t: 'accepted', chat: this.id, type, id: `${type}-1`, bytes: this.bytes, ...more });
  }
  /** The call left and started a turn at the same moment. */
  nudge(key = 'k1'): void {
    this.left(key);
    this.started(key);
  }
  nudgedTurn(): void {
    this.transcript.prompt(NUDGE);
    this.transcript.reply();
  }
  judge(): Judgement {
    return judgeEvents(this.events, () => readFileSync(this.transcript.path, 'utf8'));
  }
}

const wait = (ms: number) => vi.advanceTimersByTime(ms);
const NONE = { nudgedTwice: [], missed: [], wrong: [], lost: [], raced: [] };

let folder = '';
beforeEach(() => {
  vi.useFakeTimers();
  folder = mkdtempSync(join(tmpdir(), 'chaos-judge-'));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

function hungChat(cap = 1): Told & { taskId: string } {
  const told = new Told(folder, cap);
  const { taskId } = told.transcript.hang();
  told.accepted('turn.ended');
  return Object.assign(told, { taskId });
}

describe('the judge of a chaos run', () => {
  it('is content with one nudge for one hang', () => {
    const told = hungChat();
    wait(500);
    told.nudge();
    told.nudgedTurn();
    expect(told.judge()).toMatchObject({ ...NONE, hung: 1, nudgedOnce: 1 });
  });

  it('calls a hang missed, and its turn’s end lost, where nothing came', () => {
    const verdict = hungChat().judge();
    expect(verdict.missed).toHaveLength(1);
    expect(verdict.lost[0]).toContain('turn.ended');
  });

  it('calls it twice where a second turn was started for the same hang, whatever the cap', () => {
    const told = hungChat(2);
    wait(500);
    told.nudge('k1');
    told.nudge('k2');
    expect(told.judge().nudgedTwice).toHaveLength(1);
  });

  it('counts a hang after the nudge as a hang of its own, up to the cap', () => {
    const told = hungChat(1);
    wait(500);
    told.nudge();
    told.transcript.prompt(NUDGE);
    const task = told.transcript.launch();
    told.transcript.reply();
    told.transcript.notice(task);
    expect(told.judge()).toMatchObject({ ...NONE, nudgedOnce: 1 });
    wait(500);
    told.nudge('k2');
    expect(told.judge().wrong[0]).toContain('over the cap');
  });

  it('misses the hang after a person’s message, where the counter was not set back', () => {
    const told = hungChat(1);
    wait(500);
    told.nudge();
    told.nudgedTurn();
    told.transcript.hang();
    told.accepted('message.human');
    const verdict = told.judge();
    expect(verdict.missed).toHaveLength(1);
    expect(verdict.lost.join()).toContain('message.human');
  });

  it('calls a nudge before the debounce wrong', () => {
    const told = hungChat();
    wait(499);
    told.nudge();
    expect(told.judge().wrong[0]).toContain('debounce');
  });

  it('calls a nudge into a healthy chat wrong, and one long after a person’s turn too', () => {
    const healthy = new Told(folder);
    healthy.transcript.human();
    healthy.transcript.reply();
    wait(5_000);
    healthy.nudge();
    expect(healthy.judge().wrong[0]).toContain('nothing hung');

    const answered = hungChat();
    wait(500);
    answered.transcript.human();
    answered.transcript.reply();
    wait(2_000);
    answered.nudge();
    expect(answered.judge().wrong[0]).toContain('nothing hung');
  });

  it('takes a call that left before the person wrote as right, however late the wire brought it', () => {
    const told = hungChat();
    wait(500);
    told.left('k1');
    told.transcript.human();
    told.transcript.reply();
    wait(5_000);
    told.started('k1');
    expect(told.judge()).toMatchObject({ ...NONE, nudgedOnce: 1 });
  });

  it('shows a call that crossed a person’s turn within the time of a decision as raced', () => {
    const told = hungChat();
    wait(500);
    told.transcript.human();
    wait(300);
    told.transcript.reply();
    wait(200);
    told.nudge();
    expect(told.judge()).toMatchObject({ ...NONE, raced: [expect.stringContaining(told.id)] });
  });

  it('counts such a nudge before the person: the hang after their turn is nudged in its own right', () => {
    const told = hungChat();
    wait(500);
    told.transcript.human();
    const task = told.transcript.launch();
    told.transcript.reply();
    told.transcript.notice(task);
    wait(100);
    told.nudge('k1');
    wait(500);
    told.nudge('k2');
    expect(told.judge()).toMatchObject({ ...NONE, nudgedOnce: 2, raced: [expect.stringContaining('k1')] });
  });

  it('calls a nudge wrong and the stop lost where its user’s stop had been answered 2xx', () => {
    const told = hungChat();
    told.accepted('task.stopped', { taskId: told.taskId });
    wait(2_000);
    told.nudge();
    expect(told.judge().wrong[0]).toContain('stopped the task');
    expect(told.judge().lost).toHaveLength(1);
  });

  it('excuses a hang whose user stopped the task, interrupted the turn or deleted the chat', () => {
    const stopped = hungChat();
    stopped.note({ t: 'stopped', chat: stopped.id, taskId: stopped.taskId, bytes: stopped.bytes });
    const deleted = hungChat();
    deleted.note({ t: 'closed', chat: deleted.id, bytes: deleted.bytes });
    const interrupted = new Told(folder);
    interrupted.transcript.human();
    const task = interrupted.transcript.launch();
    interrupted.transcript.interruption();
    interrupted.transcript.notice(task);
    for (const told of [stopped, deleted, interrupted]) expect(told.judge()).toMatchObject(NONE);
    wait(600);
    interrupted.nudge();
    expect(interrupted.judge().wrong[0]).toContain('interrupted');
  });

  it('takes a refused webhook for lost', () => {
    const told = new Told(folder);
    told.transcript.human();
    told.note({ t: 'refused', chat: told.id, type: 'turn.ended', id: 'w', status: 422, body: 'no' });
    expect(told.judge().lost[0]).toContain('422');
  });
});
