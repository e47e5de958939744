/**
 * When an armed session is looked at again without any file event (SPEC §4.2; ARCHITECTURE, queue): reports put kills
 * anywhere from half a second to 90 min after the turn's end (claude-code#88071), so the steps grow.
 */
const STEPS_MS = [10_000, 30_000, 120_000, 600_000, 2_100_000, 5_700_000] as const;
/** From the turn's end to the first step. */
export const FIRST_STEP_MS = STEPS_MS[0];
const HOUR_MS = 3_600_000;
const LAST_STEP_MS = 5_700_000;

/**
 * The next step after `nowMs` of a watch armed at `armedMs`, never past the watch's greatest age: at that moment the sweep
 * ends it. All epoch milliseconds on one clock.
 */
export function nextStepMs(armedMs: number, nowMs: number, watchMaxAgeMs: number): number {
  const age = Math.max(0, nowMs - armedMs);
  const step = STEPS_MS.find((candidate) => candidate > age) ?? hourlyStep(age);
  return armedMs + Math.min(step, Math.max(watchMaxAgeMs, age + 1_000));
}

function hourlyStep(ageMs: number): number {
  const hours = Math.floor((ageMs - LAST_STEP_MS) / HOUR_MS) + 1;
  return LAST_STEP_MS + hours * HOUR_MS;
}
