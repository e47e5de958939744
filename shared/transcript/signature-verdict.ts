import type { Entry } from './entry.ts';
import type {
  ErrorClass,
  Evidence,
  Finding,
  FindingFacts,
  HungReason,
  Observation,
  ReasonCode,
  TaskNotice,
  VerdictKind,
} from './finding.ts';
import type { ChatState, PendingTask } from './signature-state.ts';
import { shortHash } from './text.ts';

const ERROR_REASONS: Readonly<Record<ErrorClass, ReasonCode>> = {
  'usage-limit': 'api-error-limit',
  login: 'api-error-login',
  overload: 'api-error-overload',
  other: 'api-error-other',
};

/** What the replayed chat comes to: the table of SPEC §5, row by row. Free of clocks. */
export const verdictOf = (state: ChatState): Finding => {
  const live = [...state.pending.values()].filter((task) => isLive(state, task));
  const facts = factsOf(state, live);
  const settled = settler(facts, live);
  if (state.open !== undefined) return settled('busy-or-waiting', state.open.reason);
  const queued = state.queue.find((entry) => entry.what !== 'launch');
  if (queued !== undefined) {
    return settled('busy-or-waiting', queued.what === 'nudge' ? 'nudge-pending' : 'human-prompt-pending');
  }
  if (live.length === 0) return settled('not-hung', clearReason(state));
  if (state.error !== undefined) {
    return { ...settled('error-entry', ERROR_REASONS[state.error.class]), errorClass: state.error.class };
  }
  return pendingFinding(state, facts, live);
};

/** Neither its user nor the chat itself ended it. */
const isLive = (state: ChatState, task: PendingTask): boolean =>
  task.stoppedBy === undefined && !state.modelStopped.has(task.id);

type Settled = Extract<Finding, { kind: 'settled' }>;

const settler =
  (facts: FindingFacts, live: readonly PendingTask[]) =>
  (verdict: Exclude<VerdictKind, 'hung'>, reason: ReasonCode): Settled => ({
    kind: 'settled',
    verdict,
    reason,
    tasks: live.map(noticeOf),
    noticeId: live.length === 0 ? undefined : noticeIdOf(live),
    errorClass: undefined,
    ...facts,
  });

const clearReason = (state: ChatState): ReasonCode => {
  const stopped = [...state.pending.values()].at(-1);
  if (stopped !== undefined && state.modelStopped.has(stopped.id)) return 'model-stopped-task';
  if (stopped?.stoppedBy === 'nudged-user') return 'nudge-interrupted';
  if (stopped !== undefined) return 'user-interrupted';
  if (state.interruption !== undefined) return state.interruption.nudge ? 'nudge-interrupted' : 'user-interrupted';
  if (state.repeated.size > 0) return 'already-answered';
  return state.lastAnswered === undefined ? 'no-notification' : 'answered';
};

const pendingFinding = (state: ChatState, facts: FindingFacts, live: readonly PendingTask[]): Finding => {
  const { wake, newestNotice } = state;
  const wakeEntry = wake?.retry ?? wake?.entry;
  const reason: HungReason =
    state.placeholder !== undefined
      ? 'resume-placeholder-only'
      : wake === undefined
        ? 'killed-unanswered'
        : 'wake-lost';
  return {
    kind: 'pending',
    reason,
    tasks: live.map(noticeOf),
    noticeId: noticeIdOf(live),
    noticeKey: shortHash(newestNotice?.key ?? ''),
    wakeKey: wakeEntry === undefined ? undefined : identityOf(wakeEntry),
    noticeStampMs: stampMs(newestNotice?.entry),
    wakeStampMs: stampMs(wakeEntry),
    ...facts,
  };
};

const noticeOf = (task: PendingTask): TaskNotice => ({
  id: task.id,
  status: task.status,
  summary: task.summary,
  toolUseId: task.toolUseId,
  stamp: task.first.stamp ?? '',
});

/** The same hang, the same id: by the tasks and when each was reported first, however often it is reported again. */
const noticeIdOf = (live: readonly PendingTask[]): string =>
  shortHash(
    live
      .map((task) => `${task.id} ${task.first.stamp ?? ''}`)
      .toSorted()
      .join('\n'),
  );

const identityOf = (entry: Entry): string => shortHash(`${entry.uuid ?? ''} ${entry.stamp ?? ''} ${entry.type}`);

const stampMs = (entry: Entry | undefined): number | undefined => {
  const ms = Date.parse(entry?.stamp ?? '');
  return Number.isNaN(ms) ? undefined : ms;
};

const factsOf = (state: ChatState, live: readonly PendingTask[]): FindingFacts => ({
  evidence: evidenceOf(state, live),
  answeredTaskIds: [...state.answeredTerminated],
  nudgesSinceHuman: state.nudgesSinceHuman,
  lastHuman: state.lastHuman && {
    id: state.lastHuman.uuid ?? String(state.lastHuman.offset),
    timestamp: state.lastHuman.stamp,
    certain: state.lastHuman.certain,
  },
  observations: observationsOf(state),
});

const observationsOf = (state: ChatState): Observation[] => {
  const others = [...state.otherPending.values()].map(({ notification }) => notification.status);
  const { nudgeTurn, open } = state;
  const found: Record<Observation, boolean> = {
    'completed-unanswered': others.includes('completed'),
    'background-without-terminal-record': [...state.launched.values()].some(({ started }) => started),
    'other-terminal-status': others.some((status) => status !== 'completed'),
    'nudge-without-effect':
      nudgeTurn !== undefined && open === undefined && nudgeTurn.results > 0 && nudgeTurn.failed === nudgeTurn.results,
  };
  return (Object.keys(found) as Observation[]).filter((name) => found[name]);
};

/** The entries on which the verdict stands, in file order. */
const evidenceOf = (state: ChatState, live: readonly PendingTask[]): Evidence[] => {
  const cited = new Map<Entry, string>();
  const cite = (entry: Entry | undefined, note: string): void => {
    if (entry !== undefined && !cited.has(entry)) cited.set(entry, note);
  };
  for (const task of state.pending.values()) {
    const ended = live.includes(task) ? '' : ', ended on purpose';
    cite(task.first, `${task.status} notice of task ${task.id}${ended}`);
    cite(task.newest, `${task.status} notice of task ${task.id} again`);
    cite(state.modelStopped.get(task.id), `the chat itself stopped task ${task.id}`);
    cite(state.launches.get(task.toolUseId ?? '') ?? state.launches.get(task.id), `launch of task ${task.id}`);
  }
  for (const [id, entry] of state.repeated) cite(entry, `task ${id} reported again; it was answered before`);
  if (state.lastAnswered !== undefined && state.pending.size === 0) {
    cite(state.lastAnswered.newest, `${state.lastAnswered.status} notice of task ${state.lastAnswered.id}, answered`);
  }
  for (const [id, other] of state.otherPending)
    cite(other.entry, `${other.notification.status ?? ''} notice of task ${id}`);
  cite(state.open?.entry, OPEN_NOTES[state.open?.reason ?? 'open-turn']);
  cite(
    state.queue.find((entry) => entry.what !== 'launch'),
    'text still in the queue',
  );
  cite(state.wake?.entry, 'delivered or dequeued: a wake may be under way');
  cite(state.wake?.retry, 'the runtime tries its request again');
  cite(state.error?.entry, `synthetic API error (${state.error?.class ?? ''})`);
  cite(state.placeholder, 'synthetic placeholder of a resume');
  cite(state.interruption?.entry, 'interruption marker');
  cite(state.lastPrompt, `prompt (${state.lastPrompt?.by ?? ''})`);
  cite(state.reply, 'newest real reply');
  return [...cited].map(([entry, note]) => evidence(entry, note)).toSorted((a, b) => a.offset - b.offset);
};

const OPEN_NOTES = {
  'open-turn': 'a turn is open here',
  'human-prompt-pending': 'a person’s prompt without a reply',
  'nudge-pending': 'our nudge without a reply',
  compacting: 'automatic compaction',
} as const;

const evidence = (entry: Entry, note: string): Evidence => ({
  offset: entry.offset,
  line: undefined,
  type: entry.type,
  timestamp: entry.stamp,
  note,
});
