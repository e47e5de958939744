import type { Cause } from './runtime.ts';

/** How fast a scripted chat goes, in milliseconds. */
export const DEFAULT_TIMINGS = {
  /** From a prompt to the end of its reply. */
  replyMs: 300,
  /** From the turn's end to the kill of its background task. */
  killMs: 700,
  /** The same for the late ones: minutes are normal in the field, tests have less time. */
  lateKillMs: 10_000,
  /** From the turn's end to the completion of its background task. */
  completeMs: 1_500,
  /** From a notification to the wake that it causes. */
  wakeMs: 50,
};
export type Timings = typeof DEFAULT_TIMINGS;

/** What becomes of the background task that a turn launches. */
export type TaskEnd = 'killed' | 'killed-late' | 'killed-and-wakes' | 'completed' | 'never';

/** One turn of a script. */
export interface TurnPlan {
  reply: string;
  /** Launches a background task that ends so. */
  task?: TaskEnd;
  /** After its reply the chat waits for its user (a plan to approve); nothing of that is in the transcript. */
  thenWaits?: boolean;
}

const launch = (task: TaskEnd, thenWaits = false): TurnPlan => ({
  reply: 'The build runs in the background; I will carry on when it is done.',
  task,
  thenWaits,
});
const carryOn: TurnPlan = { reply: 'The build had been ended half-way. I ran it again in the foreground: all green.' };
const plain: TurnPlan = { reply: 'Done.' };

/** First turn, the turns that recovery starts (the last one repeats), and any other turn. */
interface Script {
  first: TurnPlan;
  nudged?: TurnPlan[];
  other?: TurnPlan;
}

/**
 * - `hang`: the background task is killed after the turn, nothing wakes the chat; `hang-late`: much later
 * - `hang-twice`: hangs again after the first nudge
 * - `healthy`: the task completes and wakes the chat
 * - `wakes-after-kill`: the task is killed, and that wakes the chat (as its own time limit does)
 * - `waiting`: as `hang`, while the chat waits for its user
 * - `lasting`: the task runs until somebody kills it
 * - `plain`: no background task at all
 */
export const SCRIPTS = {
  hang: { first: launch('killed') },
  'hang-late': { first: launch('killed-late') },
  'hang-twice': { first: launch('killed'), nudged: [launch('killed'), carryOn] },
  healthy: { first: launch('completed') },
  'wakes-after-kill': { first: launch('killed-and-wakes') },
  waiting: { first: launch('killed', true) },
  lasting: { first: launch('never') },
  plain: { first: plain },
} as const satisfies Record<string, Script>;
export type ScriptName = keyof typeof SCRIPTS;

/** Whether there is such a script. */
export const isScript = (name: string): name is ScriptName => Object.hasOwn(SCRIPTS, name);

/** The plan of the next turn, from what the chat has had so far. */
export function planOf(name: ScriptName, cause: Cause, turnsBefore: number, nudgesBefore: number): TurnPlan {
  const script: Script = SCRIPTS[name];
  if (cause === 'wake') return { reply: 'The build is through: all green.' };
  if (cause === 'recovery') return script.nudged?.[Math.min(nudgesBefore, script.nudged.length - 1)] ?? carryOn;
  return turnsBefore === 0 ? script.first : (script.other ?? plain);
}
