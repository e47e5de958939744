import type { Entry } from './entry.ts';
import type { Finding, ReadContext } from './finding.ts';
import { replay } from './signature-replay.ts';
import { taskIdOf } from './signature-state.ts';
import { verdictOf } from './signature-verdict.ts';

export { judge } from './signature-judge.ts';

/** Entries in file order to a finding: the whole rule, without a reader. */
export const findingOf = (entries: readonly Entry[], answeredTaskIds: ReadonlySet<string> = new Set()): Finding =>
  verdictOf(replay(entries, answeredTaskIds));

/**
 * How far a reader goes on behind the entry that decided, for facts that decide nothing (nudges since the last human
 * prompt, tasks behind a busy verdict). Counted in bytes from that entry, so that block borders play no part.
 */
export const CONTEXT_BYTES = 32 * 1_024;
/** The same for a person who asks about one chat: what was answered before is told, too. */
export const WIDE_CONTEXT_BYTES = 1_024 * 1_024;

/** Takes entries from the newest to the oldest and says when the verdict cannot change any more. */
export interface Reducer {
  add(entry: Entry): void;
  /** Whether nothing that begins before `offset` is wanted. */
  isEnough(offset: number): boolean;
  /** Whether the verdict is certain whatever stands before. The start of the file decides as well: {@link atStart}. */
  readonly decided: boolean;
  atStart(): void;
  finding(): Finding;
}

/** Kinds of entry that say whether a turn is open. */
const TURN_KINDS: ReadonlySet<Entry['kind']> = new Set([
  'prompt',
  'reply',
  'tool-result',
  'thinking',
  'placeholder',
  'api-error',
  'interruption',
  'compaction',
  'midturn-text',
]);

export const createReducer = (context: Pick<ReadContext, 'answeredTaskIds' | 'history'>): Reducer => {
  const newestFirst: Entry[] = [];
  let turnSeen = false;
  let replySeen = false;
  let humanSeen = false;
  let boundary: number | undefined;
  let wanted: Wanted | undefined;
  let decidedAt: number | undefined;
  let startSeen = false;

  const current = (): Finding => findingOf(newestFirst.toReversed(), context.answeredTaskIds);

  /** The newest entry that tells of a turn: an open one decides at once. */
  const lookAtTurn = (entry: Entry): void => {
    if (turnSeen || !tellsOfTurn(entry)) return;
    turnSeen = true;
    const finding = current();
    if (finding.kind === 'settled' && finding.verdict === 'busy-or-waiting') decidedAt = entry.offset;
  };

  /** A prompt that has its reply: whatever stood before it is answered. What is pending behind it goes back to its launch. */
  const lookAtBoundary = (entry: Entry): void => {
    if (boundary !== undefined || !replySeen || !startsTurn(entry)) return;
    boundary = entry.offset;
    const finding = current();
    if (finding.tasks.length > 0) wanted = wantedOf(finding, newestFirst);
    const certain = finding.kind === 'settled' && finding.verdict !== 'error-entry';
    if (certain || (wanted?.isMet() ?? true)) decidedAt ??= entry.offset;
  };

  const lookForLaunches = (entry: Entry): void => {
    if (wanted === undefined) return;
    wanted.meet(entry);
    if (wanted.isMet()) decidedAt ??= entry.offset;
  };

  return {
    add(entry) {
      newestFirst.push(entry);
      if (decidedAt === undefined) lookAtTurn(entry);
      lookForLaunches(entry);
      lookAtBoundary(entry);
      if (entry.kind === 'reply') replySeen = true;
      if (entry.kind === 'prompt' && entry.by === 'human') humanSeen = true;
    },
    isEnough(offset) {
      if (decidedAt === undefined) return false;
      if (context.history === 'wide') return humanSeen && offset < decidedAt - WIDE_CONTEXT_BYTES;
      const told = boundary !== undefined && boundary > offset && humanSeen && (wanted?.isMet() ?? true);
      return told || (context.history !== 'whole' && offset < decidedAt - CONTEXT_BYTES);
    },
    get decided() {
      return decidedAt !== undefined || startSeen;
    },
    atStart() {
      startSeen = true;
    },
    finding() {
      return { ...current(), historyComplete: humanSeen || startSeen };
    },
  };
};

const tellsOfTurn = (entry: Entry): boolean =>
  TURN_KINDS.has(entry.kind) || (entry.kind === 'notification' && entry.via === 'attachment');

const startsTurn = (entry: Entry): boolean =>
  entry.kind === 'prompt' || (entry.kind === 'notification' && entry.via === 'user' && !entry.noTurn);

/** What must still be met of each pending task's story: its launch, its being stopped, or an earlier report of it. */
interface Wanted {
  meet(entry: Entry): void;
  isMet(): boolean;
}

const wantedOf = (finding: Finding, seen: readonly Entry[]): Wanted => {
  const open = new Map(finding.tasks.map((task) => [task.id, task.toolUseId]));
  const meet = (entry: Entry): void => {
    for (const [task, call] of open) if (tellsOf(entry, task, call)) open.delete(task);
  };
  for (const entry of seen) if (entry.kind !== 'notification') meet(entry);
  return { meet, isMet: () => open.size === 0 };
};

const tellsOf = (entry: Entry, task: string, call: string | undefined): boolean => {
  switch (entry.kind) {
    case 'reply':
      return entry.calls.some((each) => each.id === call || each.stops === task);
    case 'tool-result':
      return entry.launches.some((each) => !each.byWords && each.taskId === task);
    case 'queued':
      return entry.launch?.taskId === task;
    case 'notification':
      return entry.blocks.some((block) => taskIdOf(block, entry.key) === task);
    default:
      return false;
  }
};
