import { randomUUID } from 'node:crypto';
import type { ChatRuntime, LiveSession, Outcome, RuntimeListener, SessionPlace, TurnRequest } from './runtime.ts';
import {
  DEFAULT_TIMINGS,
  isScript,
  planOf,
  type ScriptName,
  type TaskEnd,
  type Timings,
  type TurnPlan,
} from './scripts.ts';
import { newTask, type LaunchedTask, type PromptOrigin } from './transcript-shapes.ts';
import { TranscriptWriter } from './transcript-writer.ts';

/**
 * Runs no model: writes the transcript that a real session would have written, entry by entry and in the real order.
 * Needs no key and no download.
 */
export function createScriptedRuntime(defaults: Partial<Timings> = {}): ChatRuntime {
  return {
    open: async (place, listener) =>
      new ScriptedSession(place, { ...DEFAULT_TIMINGS, ...defaults, ...place.timings }, listener),
  };
}

interface RunningTurn extends TurnRequest {
  plan: TurnPlan;
  timer: NodeJS.Timeout;
}
interface RunningTask extends LaunchedTask {
  timer: NodeJS.Timeout | undefined;
}

class ScriptedSession implements LiveSession {
  readonly #listener: RuntimeListener;
  readonly #timings: Timings;
  readonly #script: ScriptName;
  readonly #transcript: TranscriptWriter;
  readonly #tasks = new Map<string, RunningTask>();
  /** Killed notices that stand in the queue until some turn folds them in: nothing wakes for them. */
  #notices: { text: string; at: string }[] = [];
  /** Finished tasks' notices that will wake the chat as soon as it is idle. */
  readonly #wakes: string[] = [];
  readonly #waitingTurns: TurnRequest[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #turn: RunningTurn | undefined;
  #turns = 0;
  #nudges = 0;

  constructor(place: SessionPlace, timings: Timings, listener: RuntimeListener) {
    this.#listener = listener;
    this.#timings = timings;
    this.#script = place.script !== undefined && isScript(place.script) ? place.script : 'plain';
    this.#turns = place.resumed ? 1 : 0;
    this.#transcript = new TranscriptWriter({ path: place.transcriptPath, ...place });
  }

  async begin(turn: TurnRequest): Promise<void> {
    this.#transcript.enqueue(turn.text);
    if (this.#turn === undefined) this.#start(turn);
    else this.#waitingTurns.push(turn);
  }

  /** No script asks in the middle of a turn. */
  async answer(): Promise<void> {}

  async interrupt(): Promise<void> {
    if (this.#turn === undefined) return;
    this.#transcript.interrupted();
    this.#end('interrupted');
  }

  async killTask(taskId: string, by: 'runtime' | 'user'): Promise<boolean> {
    const task = this.#take(taskId);
    if (task === undefined) return false;
    this.#kill(task, by);
    return true;
  }

  /** As a process that gets SIGTERM: its background tasks are killed and their notices are its last words. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#turn = undefined;
    for (const { taskId } of this.#tasks.values()) await this.killTask(taskId, 'runtime');
  }

  #start(turn: TurnRequest): void {
    this.#transcript.dequeue();
    this.#transcript.prompt(turn.text, originOf(turn));
    for (const { text, at } of this.#notices.splice(0)) this.#transcript.absorb(text, at);
    const plan = planOf(this.#script, turn.cause, this.#turns, this.#nudges);
    this.#turns += 1;
    if (turn.cause === 'recovery') this.#nudges += 1;
    this.#turn = { ...turn, plan, timer: this.#after(this.#timings.replyMs, () => this.#finish(plan)) };
  }

  /** The reply is complete: launch what the plan says, answer, end the turn. */
  #finish(plan: TurnPlan): void {
    const task = plan.task === undefined ? undefined : newTask('npm run build', 'Run the long build');
    if (task !== undefined) {
      this.#transcript.launch(task);
      this.#tasks.set(task.taskId, { ...task, timer: undefined });
      this.#tellTasks();
    }
    this.#transcript.reply(plan.reply);
    this.#listener.noted('reply', { text: plan.reply, cause: this.#turn?.cause });
    this.#end('completed', plan.thenWaits);
    if (task !== undefined && plan.task !== undefined) this.#schedule(task, plan.task);
  }

  #end(outcome: Outcome, waiting = false): void {
    const turn = this.#turn;
    if (turn === undefined) return;
    this.#cancel(turn.timer);
    this.#turn = undefined;
    this.#listener.turnEnded({ turnId: turn.turnId, outcome, waiting });
    this.#next();
  }

  #next(): void {
    if (this.#turn !== undefined) return;
    const queued = this.#waitingTurns.shift();
    if (queued !== undefined) return this.#start(queued);
    const text = this.#wakes.shift();
    if (text === undefined) return;
    const turnId = randomUUID();
    this.#listener.woken(turnId);
    this.#start({ turnId, text, cause: 'wake' });
  }

  #schedule(launched: LaunchedTask, end: TaskEnd): void {
    const task = this.#tasks.get(launched.taskId);
    if (task === undefined || end === 'never') return;
    const delays = {
      killed: this.#timings.killMs,
      'killed-late': this.#timings.lateKillMs,
      'killed-and-wakes': this.#timings.killMs,
      completed: this.#timings.completeMs,
    };
    task.timer = this.#after(delays[end], () => {
      this.#take(task.taskId);
      if (end === 'completed') this.#complete(task);
      else if (end === 'killed-and-wakes') this.#timeOut(task);
      else this.#kill(task, 'runtime');
    });
  }

  #kill(task: LaunchedTask, by: 'runtime' | 'user'): void {
    const summary =
      by === 'runtime'
        ? `Background command "${task.description}" was stopped`
        : `Task "${task.description}" was stopped by the user or by the app connected to this session`;
    const text = this.#transcript.notification(task, 'killed', summary);
    this.#transcript.enqueue(text);
    this.#notices.push({ text, at: new Date().toISOString() });
    this.#listener.noted('task.killed', { taskId: task.taskId, by });
  }

  #timeOut(task: LaunchedTask): void {
    const summary = `Background command "${task.description}" was stopped after reaching its background time limit`;
    this.#wake(this.#transcript.notification(task, 'killed', summary));
    this.#listener.noted('task.killed', { taskId: task.taskId, by: 'limit' });
  }

  #complete(task: LaunchedTask): void {
    const summary = `Background command "${task.description}" completed (exit code 0)`;
    this.#wake(this.#transcript.notification(task, 'completed', summary));
    this.#listener.noted('task.completed', { taskId: task.taskId });
  }

  #wake(text: string): void {
    this.#transcript.enqueue(text);
    this.#wakes.push(text);
    this.#after(this.#timings.wakeMs, () => this.#next());
  }

  #take(taskId: string): RunningTask | undefined {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return undefined;
    if (task.timer !== undefined) this.#cancel(task.timer);
    this.#tasks.delete(taskId);
    this.#tellTasks();
    return task;
  }

  #tellTasks(): void {
    const tasks = [...this.#tasks.values()];
    this.#listener.tasksChanged(tasks.map(({ taskId, description }) => ({ id: taskId, type: 'shell', description })));
  }

  #after(delayMs: number, act: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, delayMs);
    this.#timers.add(timer);
    return timer;
  }

  #cancel(timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.#timers.delete(timer);
  }
}

function originOf(turn: TurnRequest): PromptOrigin {
  if (turn.cause === 'wake') return 'task-notification';
  return turn.cause === 'human' ? 'human' : 'sdk';
}
