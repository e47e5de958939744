import type { Entry, EntryOf } from './entry.ts';
import { isTerminated } from './notification.ts';
import { type ChatState, type PendingTask, taskIdOf } from './signature-state.ts';

/** Notes every block of a notification. `isCopy`: the same notice was in the queue before; it is no newer report. */
export const noteNotification = (state: ChatState, entry: EntryOf<'notification'>, isCopy: boolean): void => {
  for (const block of entry.blocks) {
    const id = taskIdOf(block, entry.key);
    endLaunch(state, id, block.toolUseId);
    if (isTerminated(block)) noteTerminated(state, entry, id, isCopy);
    else if (block.status !== undefined) {
      const known = state.otherPending.get(id);
      const delivered = entry.via !== 'enqueue' || (known?.delivered ?? false);
      state.otherPending.set(id, { notification: block, entry, delivered, promptSince: known?.promptSince ?? false });
    }
  }
};

const noteTerminated = (state: ChatState, entry: EntryOf<'notification'>, id: string, isCopy: boolean): void => {
  if (state.answered.has(id)) {
    state.repeated.set(id, entry);
    return;
  }
  const block = entry.blocks.find((each) => isTerminated(each) && taskIdOf(each, entry.key) === id);
  const known = state.pending.get(id);
  const delivered = entry.via !== 'enqueue' || (known?.delivered ?? false);
  const stoppedBy = known?.stoppedBy ?? stopperOf(state);
  state.pending.set(id, {
    id,
    status: block?.status ?? '',
    summary: block?.summary ?? '',
    toolUseId: block?.toolUseId ?? known?.toolUseId,
    first: known?.first ?? entry,
    newest: entry,
    delivered,
    promptSince: known?.promptSince ?? false,
    stoppedBy,
  });
  const onPurpose = stoppedBy !== undefined || state.modelStopped.has(id);
  if (isCopy || onPurpose) return;
  // A newer report of a task that nobody ended on purpose stands behind what was said before it.
  state.error = undefined;
  state.placeholder = undefined;
};

const stopperOf = (state: ChatState): PendingTask['stoppedBy'] => {
  if (state.interruption === undefined) return undefined;
  return state.interruption.nudge ? 'nudged-user' : 'user';
};

/**
 * A real reply: it answers what had been delivered before it, or what stood before the prompt that began its turn. The
 * tail of a turn that was already running when the notice was queued answers nothing.
 */
export const answer = (state: ChatState): void => {
  for (const [id, other] of state.otherPending) {
    if (!other.delivered && !other.promptSince) continue;
    state.otherPending.delete(id);
    state.answered.add(id);
  }
  for (const [id, task] of state.pending) {
    const known = task.delivered || task.promptSince || state.answered.has(id);
    if (!known) continue;
    state.pending.delete(id);
    state.answered.add(id);
    state.answeredTerminated.add(id);
    state.lastAnswered = task;
  }
};

/** Background work that began: by its call, by its task, or by both as they become known. */
export const launch = (
  state: ChatState,
  entry: Entry,
  toolUseId: string | undefined,
  taskId: string | undefined,
): void => {
  const key = toolUseId ?? taskId ?? '';
  const known = state.launched.get(key);
  const started = taskId !== undefined || (known?.started ?? false);
  state.launched.set(key, { entry: known?.entry ?? entry, taskId: taskId ?? known?.taskId, started });
};

const endLaunch = (state: ChatState, taskId: string, toolUseId: string | undefined): void => {
  for (const [key, { taskId: known }] of state.launched) {
    if (key === toolUseId || key === taskId || known === taskId) state.launched.delete(key);
  }
};

/** Launches before a prompt that got its reply: the chat has moved on since, whatever became of them. */
export const settleLaunches = (state: ChatState, promptOffset: number): void => {
  for (const [key, { entry }] of state.launched) if (entry.offset < promptOffset) state.launched.delete(key);
};

/** The chat ended the task itself. */
export const stopTask = (state: ChatState, taskId: string, entry: Entry): void => {
  state.modelStopped.set(taskId, entry);
  endLaunch(state, taskId, undefined);
};
