import { setTimeout as sleep } from 'node:timers/promises';
import type { Chat, Task } from './chat.ts';

/** Longest wait for recovery within a play; after it the play goes on, and the judge sees what is missing. */
const PATIENCE_MS = 45_000;

/** Plays one chat by its plan, from its first prompt to the last thing that happens to it by itself. */
export async function play(chat: Chat): Promise<void> {
  const { kind, turnMs } = chat.plan;
  const isInterrupted = kind === 'stop' && chat.plan.stop === 'interrupted';
  const tasks = kind === 'healthy' ? 0 : kind === 'mass' ? 2 : 1;
  if (kind === 'capped') chat.nudgedTasks = [1, 1, 1, 1];
  const killsEarly = chat.plan.killAfterMs < 0 && !isInterrupted;
  const launched = await chat.turn({
    cause: 'human',
    forMs: turnMs,
    tasks,
    outcome: isInterrupted ? 'interrupted' : 'completed',
  });
  const [task] = launched;
  if (task === undefined) return;
  if (!killsEarly) await sleep(chat.plan.killAfterMs);
  await PLAYS[kind](chat, task, launched);
}

type Play = (chat: Chat, task: Task, all: Task[]) => Promise<void>;

const killed: Play = async (chat, task) => chat.transcript.notice(task);

const PLAYS: Record<Chat['plan']['kind'], Play> = {
  healthy: async () => undefined,
  early: killed,
  late: killed,
  silent: killed,
  async mass(chat, _task, all) {
    for (const task of all) {
      chat.transcript.notice(task);
      await sleep(5);
    }
  },
  wake: (chat, task) => chat.wake(task, 'completed', 2 * chat.plan.turnMs),
  'killed-wake': (chat, task) => chat.wake(task, 'killed', 2 * chat.plan.turnMs),
  async human(chat, task) {
    chat.transcript.notice(task);
    if (chat.plan.human === 'get') await chat.happens('get', PATIENCE_MS);
    if (chat.plan.human === 'nudge') await chat.happens('nudged', PATIENCE_MS);
    const [next] = await chat.turn({ cause: 'human', forMs: 300, tasks: chat.plan.hangsAgain ? 1 : 0 });
    if (next !== undefined) chat.transcript.notice(next);
  },
  async busy(chat, task) {
    const over = chat.busy(chat.plan.busy, chat.plan.busyMs);
    chat.transcript.notice(task);
    await over;
  },
  async capped(chat, task) {
    chat.transcript.notice(task);
    // Each nudged turn leaves a task behind, which is killed in its turn: one nudge more than the cap allows is waited for.
    for (let seen = 1; await chat.happens('nudge-ended', seen === 1 ? PATIENCE_MS : 20_000); seen += 1) {
      const next = chat.launched[seen];
      if (next === undefined) return;
      chat.transcript.notice(next);
    }
    if (!chat.plan.hangsAgain || chat.nudges === 0) return;
    const [last] = await chat.turn({ cause: 'human', forMs: 300, tasks: 1 });
    if (last !== undefined) chat.transcript.notice(last);
  },
  async stop(chat, task) {
    if (chat.plan.stop === 'task') await chat.stopTask(task);
    if (chat.plan.stop === 'task-racing') void chat.stopTask(task);
    chat.transcript.notice(task);
  },
  async deleted(chat, task) {
    const { deleted } = chat.plan;
    if (deleted === 'closed-first') await chat.close();
    if (deleted === '404') chat.lose(404);
    if (deleted === '410') chat.lose(410);
    chat.transcript.notice(task);
    if (deleted === 'closed-later') await chat.close();
  },
};
