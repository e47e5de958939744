import { randomUUID } from 'node:crypto';
import type { LifecycleClient, LifecycleData, LifecycleType } from '../../shared/client/index.ts';
import type { ConflictCode, SessionApiState } from '../../shared/session-api/contract.ts';
import type { ChatRecord, CloseReason } from './chat-record.ts';
import { runtimeUnavailable } from './errors.ts';
import type { Happenings } from './happenings.ts';
import type { Cause, ChatRuntime, LiveSession, Outcome, RuntimeTask } from './runtime.ts';

/** What a chat needs from its server. */
export interface ChatParts {
  runtime: ChatRuntime;
  webhooks: LifecycleClient;
  happenings: Happenings;
  save(record: ChatRecord): void;
}

/** One chat: its state, its live session, and the webhooks that tell of both. */
export class Chat {
  readonly record: ChatRecord;
  readonly #parts: ChatParts;
  #live: Promise<LiveSession> | undefined;
  #tasks: RuntimeTask[] = [];
  #asking = false;

  constructor(record: ChatRecord, parts: ChatParts) {
    this.record = record;
    this.#parts = parts;
  }

  get id(): string {
    return this.record.sessionId;
  }

  get state(): SessionApiState {
    if (this.record.closed !== undefined) return 'closed';
    if (this.#asking) return 'waiting';
    if (this.record.turns.length > 0) return 'running';
    return this.record.waiting ? 'waiting' : 'idle';
  }

  get tasks(): readonly RuntimeTask[] {
    return this.#tasks;
  }

  /** Why no message may start a turn now. */
  busyCode(): ConflictCode | undefined {
    if (this.state === 'running') return 'turn_running';
    if (this.state === 'waiting') return 'waiting';
    return this.record.queued === undefined ? undefined : 'queued_follow_up';
  }

  /**
   * Takes the chat for one turn, before anything is awaited: of two calls at the same moment the second finds it running.
   * Follow with {@link run} or {@link release}.
   */
  reserve(cause: Cause): string {
    const turnId = randomUUID();
    this.record.turns.push({ turnId, cause });
    return turnId;
  }

  release(turnId: string): void {
    this.record.turns = this.record.turns.filter((turn) => turn.turnId !== turnId);
  }

  /** Makes sure that there is a session to talk to. Throws a problem (503) where the runtime cannot be had. */
  async open(): Promise<LiveSession> {
    this.#live ??= this.#parts.runtime.open(this.#place(), {
      woken: (turnId) => this.#woken(turnId),
      turnEnded: (turn) => this.#ended(turn),
      asking: (on) => {
        this.#asking = on;
      },
      tasksChanged: (tasks) => {
        this.#tasks = tasks;
      },
      noted: (what, fields) => this.#parts.happenings.tell(this.id, what, fields),
      crashed: (error) => this.#crashed(error),
    });
    try {
      return await this.#live;
    } catch (error) {
      this.#live = undefined;
      throw runtimeUnavailable(error);
    }
  }

  /** Begins a reserved turn: told first, then handed to the runtime. */
  async run(turnId: string, cause: Cause, text: string): Promise<void> {
    const live = await this.open();
    if (this.record.closed !== undefined) return;
    this.record.waiting = false;
    this.record.hadTurn = true;
    this.#save();
    this.#tell('turn.started', { ...this.#who(), cause, turnId });
    try {
      await live.begin({ turnId, cause, text });
    } catch (error) {
      this.#ended({ turnId, outcome: 'failed', waiting: false });
      throw runtimeUnavailable(error);
    }
  }

  /** A person writes: answers what is asked, takes the one slot behind a running turn, or begins a turn. */
  async say(text: string): Promise<{ turnId: string | undefined }> {
    if (this.#asking) {
      this.#tell('message.human', this.#who());
      await (await this.#live)?.answer(text);
      return { turnId: this.record.turns[0]?.turnId };
    }
    if (this.state === 'running') {
      this.#tell('message.human', this.#who());
      this.queue(text, false);
      return { turnId: undefined };
    }
    const turnId = this.reserve('human');
    try {
      await this.open();
    } catch (error) {
      this.release(turnId);
      throw error;
    }
    this.#tell('message.human', { ...this.#who(), turnId });
    await this.run(turnId, 'human', text);
    return { turnId };
  }

  /** Fills the queue slot; what stood there is continued. With `hold` it stays until it is released or cleared. */
  queue(text: string, hold: boolean): void {
    const before = this.record.queued?.text;
    this.record.queued = { text: before === undefined ? text : `${before}\n\n${text}`, hold };
    this.#save();
    this.#runQueued();
  }

  clearQueue(): void {
    delete this.record.queued;
    this.#save();
  }

  async interrupt(): Promise<void> {
    await (await this.#live)?.interrupt();
  }

  /** `false`: no such task. A user's kill is told before it happens, so that its notice is never taken for a hang. */
  async kill(taskId: string, by: 'runtime' | 'user'): Promise<boolean> {
    if (!this.#tasks.some((task) => task.id === taskId)) return false;
    if (by === 'user') this.#tell('task.stopped', { ...this.#who(), taskId, by });
    return (await (await this.#live)?.killTask(taskId, by)) ?? false;
  }

  async end(reason: CloseReason): Promise<void> {
    if (this.record.closed !== undefined) return;
    this.record.closed = reason;
    this.record.turns = [];
    this.#save();
    this.#tell('session.closed', { ...this.#who(), reason });
    await this.letGo();
  }

  /** Lets the live session go without closing the chat: the server stops, the chat does not. */
  async letGo(): Promise<void> {
    const live = this.#live;
    this.#live = undefined;
    this.#tasks = [];
    await (await live)?.close();
  }

  /** Ends, as failed, what the last process left running. */
  healAfterCrash(): void {
    for (const { turnId } of this.record.turns) this.#ended({ turnId, outcome: 'failed', waiting: false });
  }

  #woken(turnId: string): void {
    this.record.turns.push({ turnId, cause: 'wake' });
    this.#save();
    this.#tell('turn.started', { ...this.#who(), cause: 'wake', turnId });
  }

  #ended(turn: { turnId: string; outcome: Outcome; waiting: boolean }): void {
    const known = this.record.turns.find(({ turnId }) => turnId === turn.turnId);
    if (known === undefined || this.record.closed !== undefined) return;
    this.release(turn.turnId);
    this.record.waiting = turn.waiting;
    this.#save();
    this.#tell('turn.ended', {
      ...this.#who(),
      driveMode: 'session',
      outcome: turn.outcome,
      cause: known.cause,
      turnId: turn.turnId,
      transcriptPath: this.record.transcriptPath,
      cwd: this.record.cwd,
      backgroundTasks: [...this.#tasks],
    });
    this.#runQueued();
  }

  #crashed(error: Error): void {
    if (this.record.closed !== undefined) return;
    this.record.closed = 'crashed';
    this.record.turns = [];
    this.#save();
    this.#tell('session.closed', { ...this.#who(), reason: 'crashed' }, { error: error.message });
  }

  #runQueued(): void {
    const queued = this.record.queued;
    if (queued === undefined || queued.hold || this.state !== 'idle') return;
    delete this.record.queued;
    const turnId = this.reserve('queue');
    this.run(turnId, 'queue', queued.text).catch((error: unknown) => {
      this.release(turnId);
      this.#parts.happenings.tell(this.id, 'queue.failed', { error: String(error) });
    });
  }

  /** The webhook, and the same for whoever watches. */
  #tell<T extends LifecycleType>(type: T, data: LifecycleData[T], more: Record<string, unknown> = {}): void {
    this.#parts.webhooks.emit(type, data);
    this.#parts.happenings.tell(this.id, type, { ...data, ...more });
  }

  #who(): { sessionId: string; project: string } {
    return { sessionId: this.id, project: this.record.project };
  }

  #place() {
    const { sessionId, cwd, transcriptPath, hadTurn, script, timings } = this.record;
    return { sessionId, cwd, transcriptPath, resumed: hadTurn, script, timings };
  }

  #save(): void {
    this.#parts.save(this.record);
  }
}
