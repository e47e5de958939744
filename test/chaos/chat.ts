import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestTranscript } from '../support/transcript.ts';
import type { Journal } from './journal.ts';
import type { ApiFault, ChatPlan } from './plan-chat.ts';
import type { CAPS } from './scale.ts';
import { ChatWebhooks, type DataOf, type Sender } from './webhooks.ts';

export type Task = ReturnType<TestTranscript['launch']>;
type Cause = DataOf<'turn.ended'>['cause'];
export type ChatState = 'idle' | 'running' | 'waiting' | 'closed';

/** What one turn does. */
export interface Turn {
  cause: Exclude<Cause, 'recovery'>;
  forMs: number;
  /** Background tasks that it leaves behind. */
  tasks?: number;
  outcome?: 'completed' | 'interrupted';
}

/** One chat of the chat server: its state, its transcript, its webhooks. Nothing else writes or changes any of them. */
export class Chat {
  readonly plan: ChatPlan;
  readonly transcript: TestTranscript;
  readonly webhooks: ChatWebhooks;
  readonly journal: Journal;
  state: ChatState = 'idle';
  queuedFollowUp = false;
  /** The status with which the session API says that it knows it no more. */
  gone: 404 | 410 | undefined;
  /** Every nudge that started a turn. */
  nudges = 0;
  /** Told of `get` (the state was asked for), `nudged` (a nudge started a turn) and `nudge-ended`. */
  readonly happenings = new EventEmitter();
  /** What a nudged turn leaves behind: tasks of the turns to come, shifted one by one. */
  nudgedTasks: number[] = [];
  readonly launched: Task[] = [];
  readonly #calls = { GET: 0, POST: 0 };

  constructor(plan: ChatPlan, folder: string, sender: Sender) {
    this.plan = plan;
    this.journal = sender.journal;
    this.transcript = new TestTranscript(folder, plan.sessionId);
    this.webhooks = new ChatWebhooks(sender, plan, () => this.transcript.bytes);
    this.journal.note({ t: 'chat', chat: plan.sessionId, kind: plan.kind, project: plan.project });
  }

  get id(): string {
    return this.plan.sessionId;
  }
  get bytes(): number {
    return this.transcript.bytes;
  }

  /** How the chat's next call of that method is to be answered. */
  nextFault(method: 'GET' | 'POST'): ApiFault {
    const nth = this.#calls[method];
    this.#calls[method] += 1;
    return (method === 'GET' ? this.plan.api.get : this.plan.api.post)[nth] ?? 'ok';
  }

  /** A prompt waits for the turn before it, as a queued follow-up, and then runs to its end. */
  async turn({ cause, forMs, tasks = 0, outcome = 'completed' }: Turn): Promise<Task[]> {
    const turnId = randomUUID();
    if (this.state !== 'idle') this.queuedFollowUp = true;
    await this.idle();
    this.queuedFollowUp = false;
    this.state = 'running';
    if (cause === 'human') {
      this.journal.note({ t: 'human', chat: this.id, bytes: this.bytes });
      this.transcript.human();
      void this.webhooks.emit('message.human', { ...this.#about(), turnId });
    }
    void this.webhooks.emit('turn.started', { ...this.#about(), cause, turnId });
    await sleep(forMs);
    const launched = this.#launch(tasks);
    if (outcome === 'completed') this.transcript.reply();
    else {
      this.transcript.interruption();
      this.journal.note({ t: 'interrupted', chat: this.id, bytes: this.bytes });
    }
    this.#endTurn(cause, turnId, outcome);
    return launched;
  }

  /** The session API took a nudge: its turn runs from this very moment. */
  nudged(text: string, turnId: string): void {
    this.state = 'running';
    this.nudges += 1;
    this.happenings.emit('nudged');
    void this.#nudgedTurn(text, turnId);
  }

  async #nudgedTurn(text: string, turnId: string): Promise<void> {
    const { kind, slowSilence, promptMs, replyMs } = this.plan;
    const emitStarted = (): void =>
      void this.webhooks.emit('turn.started', { ...this.#about(), cause: 'recovery', turnId });
    if (!slowSilence) emitStarted();
    await sleep(promptMs);
    if (kind !== 'silent') this.transcript.prompt(text);
    await sleep(replyMs);
    if (kind !== 'silent') {
      this.#launch(this.nudgedTasks.shift() ?? 0);
      this.transcript.reply();
    }
    if (slowSilence) emitStarted();
    this.#endTurn('recovery', turnId, kind === 'silent' ? 'failed' : 'completed');
    this.happenings.emit('nudge-ended');
  }

  #launch(count: number): Task[] {
    const tasks = Array.from({ length: count }, () => this.transcript.launch());
    this.launched.push(...tasks);
    return tasks;
  }

  #endTurn(cause: Cause, turnId: string, outcome: DataOf<'turn.ended'>['outcome']): void {
    if (this.state === 'running') this.free();
    void this.webhooks.emit('turn.ended', {
      ...this.#about(),
      driveMode: 'session',
      outcome,
      cause,
      turnId,
      transcriptPath: this.transcript.path,
    });
  }

  /** A wake: the runtime takes the notice as a prompt and answers it. */
  async wake(task: Task, status: 'completed' | 'killed', forMs: number): Promise<void> {
    await this.idle();
    this.state = 'running';
    const turnId = randomUUID();
    this.transcript.notice(task, status);
    await sleep(10);
    this.transcript.deliver(task, status);
    void this.webhooks.emit('turn.started', { ...this.#about(), cause: 'wake', turnId });
    await sleep(forMs);
    this.transcript.reply();
    this.#endTurn('wake', turnId, 'completed');
  }

  stopTask(task: Task): Promise<void> {
    this.journal.note({ t: 'stopped', chat: this.id, taskId: task.taskId, bytes: this.bytes });
    return this.webhooks.emit('task.stopped', { ...this.#about(), taskId: task.taskId, by: 'user' });
  }

  /** Deleted by its user. */
  close(): Promise<void> {
    this.#end('closed');
    this.gone = 404;
    return this.webhooks.emit('session.closed', { ...this.#about(), reason: 'deleted' });
  }

  /** Lost by the chat server, which tells nobody. */
  lose(status: 404 | 410): void {
    this.#end('gone');
    this.gone = status;
  }

  #end(how: 'closed' | 'gone'): void {
    this.journal.note({ t: how, chat: this.id, bytes: this.bytes });
    this.state = 'closed';
    this.happenings.emit('free');
  }

  /** Another driver has the session for a while, or it waits for its user. */
  async busy(how: 'running' | 'waiting' | 'queued', forMs: number): Promise<void> {
    if (how === 'queued') this.queuedFollowUp = true;
    else this.state = how;
    await sleep(forMs);
    this.queuedFollowUp = false;
    this.free();
  }

  free(): void {
    if (this.state === 'closed') return;
    this.state = 'idle';
    this.happenings.emit('free');
  }

  async idle(): Promise<void> {
    while (this.state !== 'idle') await once(this.happenings, 'free');
  }

  /** Waits for a happening, no longer than that. */
  async happens(name: 'get' | 'nudged' | 'nudge-ended', withinMs: number): Promise<boolean> {
    const signal = AbortSignal.timeout(withinMs);
    return once(this.happenings, name, { signal }).then(
      () => true,
      () => false,
    );
  }

  #about(): { sessionId: string; project: keyof typeof CAPS } {
    return { sessionId: this.id, project: this.plan.project };
  }
}
