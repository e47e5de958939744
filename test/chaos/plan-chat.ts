import type { Random } from './random.ts';
import type { Phases, Project } from './scale.ts';

/** How a chat goes. */
export const KINDS = {
  early: 24, // its task is killed within a second of the turn's end, at times before it
  late: 14, // … seconds later
  mass: 4, // two tasks of one turn are killed
  wake: 10, // a completed task wakes it
  'killed-wake': 5, // … a killed one does, as a deadline's does
  human: 14, // a person writes first, at the worst moment
  busy: 9, // hung to look at, but driven by something else for a while
  capped: 8, // hangs again after each nudge
  silent: 6, // the nudged turn dies before it writes anything
  stop: 7, // its user stopped the task, or the turn
  deleted: 5, // its user deleted it, or the chat server lost it
  healthy: 4, // nothing happens
} as const;
export type Kind = keyof typeof KINDS;

/** How one call of the session API is answered; `ok`: as the contract says. `…-after`: once the message was taken. */
export type ApiFault =
  | 'ok'
  | '429'
  | '500'
  | '503'
  | '502-after'
  | '403'
  | 'reset'
  | 'reset-after'
  | 'hang'
  | 'hang-after'
  | 'slow'
  | 'lie'
  | 'lie-after'
  | 'torn-after'
  | 'says-idle';

const GET_FAULTS = {
  ok: 50,
  '429': 5,
  '500': 4,
  '503': 5,
  reset: 5,
  hang: 3,
  slow: 6,
  lie: 4,
  'says-idle': 8,
} as const;
const POST_FAULTS = {
  ok: 40,
  '429': 4,
  '500': 3,
  '503': 3,
  '502-after': 6,
  reset: 5,
  'reset-after': 10,
  hang: 3,
  'hang-after': 6,
  slow: 6,
  lie: 3,
  'lie-after': 4,
  'torn-after': 5,
} as const;

export interface ChatPlan {
  index: number;
  sessionId: string;
  kind: Kind;
  project: Project;
  startAtMs: number;
  turnMs: number;
  /** From the turn's end to the kill; negative: before it. */
  killAfterMs: number;
  /** Human: when the person writes. `get`: just after the state was asked for, before the call. */
  human: 'at-once' | 'get' | 'nudge';
  /** After the person's turn a task hangs anew: the counter must be back at zero. */
  hangsAgain: boolean;
  busy: 'running' | 'waiting' | 'queued';
  busyMs: number;
  stop: 'interrupted' | 'task' | 'task-racing';
  /** Deleted with a webhook before or after the notice, or lost by the chat server (404, 410). */
  deleted: 'closed-first' | 'closed-later' | '404' | '410';
  /** The nudged turn: until its prompt is written, and until it ends. */
  promptMs: number;
  replyMs: number;
  /** Silent: the turn is long, its webhooks come late, and the worker that called dies before it hears the answer. */
  slowSilence: boolean;
  api: { get: ApiFault[]; post: ApiFault[] };
  webhooks: {
    /** Not in order: each goes out on its own. */
    reordered: boolean;
    /** How long the nth delivery is held back. */
    heldMs: number[];
    /** The nth delivery is sent so often, and its first answer is not heard. */
    times: number[];
    deaf: boolean[];
  };
}

interface Place {
  index: number;
  phases: Phases;
  minutes: number;
  kind?: Kind;
}

export function planChat(random: Random, { index, phases, minutes, kind }: Place): ChatPlan {
  const chosen = kind ?? random.weighted(KINDS);
  const startAtMs = random.int(0, Math.round(phases.chaosMs * 0.8));
  const isSlowSilence = chosen === 'silent' && random.chance(0.5);
  const isTroubled = random.chance(0.5);
  // A refusal for good is tried again at backstop steps only, the last of which is two minutes after the turn's end.
  const maySee403 = minutes >= 3 && startAtMs < 15_000 && chosen === 'late';
  return {
    index,
    sessionId: random.uuid(),
    kind: chosen,
    project: chosen === 'silent' || random.chance(0.4) ? 'two' : 'one',
    startAtMs,
    turnMs: random.int(50, 400),
    killAfterMs: chosen === 'late' ? random.int(2_000, 11_000) : random.int(-60, 900),
    human: random.pick(['at-once', 'get', 'get', 'nudge'] as const),
    hangsAgain: random.chance(0.6),
    busy: random.pick(['running', 'waiting', 'queued'] as const),
    busyMs: random.int(1_500, 8_000),
    stop: random.pick(['interrupted', 'task', 'task-racing'] as const),
    deleted: random.pick(['closed-first', 'closed-later', '404', '410'] as const),
    promptMs: random.int(10, 250),
    replyMs: isSlowSilence ? random.int(9_000, 14_000) : random.int(50, 600),
    slowSilence: isSlowSilence,
    api: {
      get: Array.from({ length: 6 }, () => (isTroubled ? random.weighted(GET_FAULTS) : 'ok')),
      post: maySee403 && random.chance(0.1) ? ['403'] : posts(random, isTroubled && !isSlowSilence),
    },
    webhooks: {
      reordered: random.chance(0.25),
      heldMs: Array.from({ length: 16 }, () => (random.chance(0.15) ? random.int(100, 3_000) : 0)),
      times: Array.from({ length: 16 }, () => (random.chance(0.2) ? random.int(2, 4) : 1)),
      deaf: Array.from({ length: 16 }, () => random.chance(0.1)),
    },
  };
}

function posts(random: Random, isTroubled: boolean): ApiFault[] {
  return Array.from({ length: 4 }, () => (isTroubled ? random.weighted(POST_FAULTS) : 'ok'));
}
