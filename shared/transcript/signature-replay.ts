import type { Entry, EntryOf } from './entry.ts';
import { answer, launch, noteNotification, settleLaunches, stopTask } from './signature-tasks.ts';
import { type ChatState, type Open, freshState, taskIdOf } from './signature-state.ts';

/**
 * Replays entries in file order: what is un-answered, and who is about to move the chat (SPEC §5).
 *
 * Stamps play no part. What came before the first entry is taken as answered and closed: the reader stops only where
 * that holds.
 */
export const replay = (entries: readonly Entry[], answeredBefore: ReadonlySet<string>): ChatState => {
  const state = freshState(answeredBefore);
  const pasted = pastedNotices(entries);
  const calls = launchingCalls(entries);
  for (const entry of entries) {
    const real = entry.kind === 'notification' && isPasted(entry, pasted) ? asQueuedText(entry) : entry;
    step(state, real, calls, answeredBefore);
  }
  return state;
};

/** Where each text stands as a prompt that the runtime did not write: the last of its offsets. */
const pastedNotices = (entries: readonly Entry[]): Map<string, number> => {
  const prompts = new Map<string, number>();
  for (const entry of entries) {
    const key = entry.kind === 'prompt' || entry.kind === 'midturn-text' ? entry.key : undefined;
    if (key !== undefined) prompts.set(key, entry.offset);
  }
  return prompts;
};

/** A queued notice whose text later stands as somebody's prompt was pasted by them (SPEC §5 a). */
const isPasted = (entry: EntryOf<'notification'>, prompts: ReadonlyMap<string, number>): boolean =>
  entry.via === 'enqueue' && (prompts.get(entry.key) ?? -1) > entry.offset;

const asQueuedText = ({ offset, stamp, uuid, type, key }: EntryOf<'notification'>): EntryOf<'queued'> => ({
  kind: 'queued',
  what: 'human',
  launch: undefined,
  offset,
  stamp,
  uuid,
  type,
  key,
});

/** Which tasks each tool call launched, as far as notifications and launch records name it. */
const launchingCalls = (entries: readonly Entry[]): Map<string, Set<string>> => {
  const calls = new Map<string, Set<string>>();
  const note = (call: string | undefined, task: string | undefined): void => {
    if (call === undefined || task === undefined) return;
    calls.set(call, (calls.get(call) ?? new Set()).add(task));
  };
  for (const entry of entries) {
    if (entry.kind === 'notification') for (const block of entry.blocks) note(block.toolUseId, block.taskId);
    if (entry.kind === 'tool-result')
      for (const each of entry.launches) if (!each.byWords) note(each.toolUseId, each.taskId);
  }
  return calls;
};

const step = (
  state: ChatState,
  entry: Entry,
  calls: ReadonlyMap<string, ReadonlySet<string>>,
  answeredBefore: ReadonlySet<string>,
): void => {
  switch (entry.kind) {
    case 'notification':
      return onNotification(state, entry);
    case 'queued':
      return onQueued(state, entry);
    case 'dequeue':
      return onDequeue(state, entry);
    case 'remove':
      return onRemove(state, entry);
    case 'prompt':
      return onPrompt(state, entry);
    case 'command':
      return onCommand(state);
    case 'reply':
      return onReply(state, entry, calls, answeredBefore);
    case 'tool-result':
      return onToolResult(state, entry);
    case 'thinking':
      return keepOpen(state, { reason: 'open-turn', entry });
    case 'compaction':
      return keepOpen(state, { reason: 'compacting', entry });
    case 'midturn-text':
      takeFromQueue(state, entry.key);
      return keepOpen(state, { reason: 'open-turn', entry });
    case 'placeholder':
      closeTurn(state);
      state.placeholder = entry;
      return undefined;
    case 'api-error':
      closeTurn(state);
      state.error = { entry, class: entry.class };
      return undefined;
    case 'retry':
      if (state.wake !== undefined) state.wake.retry = entry;
      return undefined;
    case 'interruption':
      return onInterruption(state, entry);
  }
};

/** A turn is open; a pending prompt keeps its own, more telling reason. */
const keepOpen = (state: ChatState, open: Open): void => {
  const waiting = state.open?.reason === 'human-prompt-pending' || state.open?.reason === 'nudge-pending';
  if (!waiting) state.open = open;
};

const closeTurn = (state: ChatState): void => {
  state.open = undefined;
  state.wake = undefined;
};

const onNotification = (state: ChatState, entry: EntryOf<'notification'>): void => {
  if (entry.via === 'enqueue') state.queuedNotices.push(entry.key);
  else takeNotice(state, entry);
  if (entry.via === 'user') onWake(state, entry);
  if (entry.via === 'attachment') keepOpen(state, { reason: 'open-turn', entry });
  const isCopy = entry.via !== 'enqueue' && state.enqueuedKeys.has(entry.key);
  if (entry.via === 'enqueue') state.enqueuedKeys.set(entry.key, entry);
  if (!isCopy) {
    state.newestNotice = { entry, key: `${entry.key} ${entry.stamp ?? entry.offset}` };
  }
  noteNotification(state, entry, isCopy);
};

/** A notice that is delivered left the queue. Had a message been taken for what was dequeued, it is still in there. */
const takeNotice = (state: ChatState, entry: EntryOf<'notification'>): void => {
  const waiting = state.queuedNotices.includes(entry.key);
  const message = waiting && entry.via === 'user' ? state.dequeued.pop() : undefined;
  if (message !== undefined) state.queue.unshift(message);
  state.queuedNotices = without(state.queuedNotices, entry.key);
};

/** A notification that became a prompt: whatever turn was open had ended before, and a wake may be under way. */
const onWake = (state: ChatState, entry: EntryOf<'notification'>): void => {
  if (!entry.noTurn) startTurn(state, entry);
  if (state.open?.reason === 'open-turn' || state.open?.reason === 'compacting') state.open = undefined;
  state.wake = { entry, retry: undefined };
  state.error = undefined;
  state.nudgeTurn = undefined;
};

const startTurn = (state: ChatState, entry: Entry): void => {
  state.turnStart = entry.offset;
  promptSeen(state);
};

const promptSeen = (state: ChatState): void => {
  for (const task of state.pending.values()) task.promptSince = true;
  for (const other of state.otherPending.values()) other.promptSince = true;
};

const onQueued = (state: ChatState, entry: EntryOf<'queued'>): void => {
  state.queue.push(entry);
  if (entry.launch !== undefined) launch(state, entry, entry.launch.toolUseId, entry.launch.taskId);
};

/** A dequeue has no text and no order of its own: a person's message overtakes a queued notice. */
const onDequeue = (state: ChatState, entry: Entry): void => {
  const message = state.queue.findIndex((queued) => queued.what !== 'launch');
  if (message !== -1) state.dequeued.push(...state.queue.splice(message, 1));
  else if (state.queuedNotices.length === 0) return;
  else state.queuedNotices.shift();
  state.wake = { entry, retry: undefined };
};

const onRemove = (state: ChatState, entry: EntryOf<'remove'>): void => {
  if (entry.all) {
    state.queue = [];
    return;
  }
  if (entry.key !== undefined) {
    takeFromQueue(state, entry.key);
    state.queuedNotices = without(state.queuedNotices, entry.key);
    return;
  }
  const start = state.queue.findIndex((queued) => queued.what === 'launch');
  state.queue.splice(Math.max(start, 0), 1);
};

const takeFromQueue = (state: ChatState, key: string | undefined): void => {
  const index = state.queue.findIndex((queued) => queued.key === key);
  if (index !== -1) state.queue.splice(index, 1);
};

/** The list without the first `value`. */
const without = (list: readonly string[], value: string): string[] => {
  const index = list.indexOf(value);
  return index === -1 ? [...list] : list.toSpliced(index, 1);
};

const PROMPT_REASONS = {
  human: 'human-prompt-pending',
  nudge: 'nudge-pending',
  machine: 'open-turn',
} as const;

const onPrompt = (state: ChatState, entry: EntryOf<'prompt'>): void => {
  closeTurn(state);
  takeFromQueue(state, entry.key);
  startTurn(state, entry);
  state.dequeued = [];
  state.open = { reason: PROMPT_REASONS[entry.by], entry };
  state.error = undefined;
  state.placeholder = undefined;
  state.lastPrompt = entry;
  state.nudgeTurn = entry.by === 'nudge' ? { results: 0, failed: 0 } : undefined;
  if (entry.by === 'nudge') state.nudgesSinceHuman += 1;
  if (entry.by !== 'human') return;
  state.lastHuman = entry;
  state.nudgesSinceHuman = 0;
  state.interruption = undefined;
};

/** A slash command is no prompt; where no turn can be running, the next real reply can only have been started by it. */
const onCommand = (state: ChatState): void => {
  if (state.open === undefined && state.wake === undefined) promptSeen(state);
};

const onReply = (
  state: ChatState,
  entry: EntryOf<'reply'>,
  calls: ReadonlyMap<string, ReadonlySet<string>>,
  answeredBefore: ReadonlySet<string>,
): void => {
  closeTurn(state);
  if (entry.open) state.open = { reason: 'open-turn', entry };
  state.error = undefined;
  state.placeholder = undefined;
  state.interruption = undefined;
  state.reply = entry;
  answer(state);
  // What was queued before a turn that has its reply was taken along with it, or died with its process.
  state.queue = state.queue.filter((queued) => queued.offset > state.turnStart);
  settleLaunches(state, state.lastPrompt?.offset ?? -1);
  for (const call of entry.calls) {
    for (const task of calls.get(call.id) ?? []) {
      forget(state, task, answeredBefore);
      state.launches.set(task, entry);
    }
    state.launches.set(call.id, entry);
    if (call.background) launch(state, entry, call.id, undefined);
    if (call.stops !== undefined) stopTask(state, call.stops, entry);
  }
};

/** A launch begins the task's story: what was said of the same id before it is about an earlier run. */
const forget = (state: ChatState, task: string, answeredBefore: ReadonlySet<string>): void => {
  if (answeredBefore.has(task)) return;
  state.answered.delete(task);
  state.pending.delete(task);
  state.repeated.delete(task);
  state.modelStopped.delete(task);
  for (const [key, entry] of state.enqueuedKeys) {
    if (entry.blocks.some((block) => taskIdOf(block, key) === task)) state.enqueuedKeys.delete(key);
  }
};

const onToolResult = (state: ChatState, entry: EntryOf<'tool-result'>): void => {
  state.open = { reason: 'open-turn', entry };
  if (state.nudgeTurn !== undefined) {
    state.nudgeTurn.results += 1;
    if (entry.failed) state.nudgeTurn.failed += 1;
  }
  for (const id of entry.toolUseIds) {
    const launched = state.launched.get(id);
    if (launched === undefined) continue;
    if (entry.failed) state.launched.delete(id);
    else launched.started = true;
  }
  for (const { toolUseId, taskId, byWords } of entry.launches) {
    if (byWords && !state.launched.has(toolUseId ?? '')) continue;
    launch(state, entry, toolUseId, taskId);
    if (!state.launches.has(taskId)) state.launches.set(taskId, entry);
  }
};

/** A person pressed Stop: what is pending was ended under their eyes, and so is what is ended before the next reply. */
const onInterruption = (state: ChatState, entry: Entry): void => {
  const nudge = state.lastPrompt?.by === 'nudge' && state.open !== undefined;
  for (const task of state.pending.values()) task.stoppedBy ??= nudge ? 'nudged-user' : 'user';
  closeTurn(state);
  state.error = undefined;
  state.interruption = { entry, nudge };
  state.launched.clear();
};
