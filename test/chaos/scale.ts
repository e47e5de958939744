/**
 * Times of a chaos run, scaled down from the defaults, but not so far that a slow machine of two cores breaks the physics.
 * The backstop steps (10 s, 30 s, 2 min) and the margin of a lease (5 s) are the product's own.
 */
export const DEBOUNCE_MS = 500;
export const WAKE_GRACE_MS = 3_000;
export const SESSION_API_TIMEOUT_MS = 1_000;
/** Past the end of the run: a chat whose nudged turn dies silently is unconfirmed by design, and five in a row would rightly pause all. */
export const CONFIRM_MS = 900_000;
export const SETTLE_MS = 200;

/** Projects and their caps (`maxRetries`). */
export const CAPS = { one: 1, two: 2 } as const;
export type Project = keyof typeof CAPS;

export const WATCHERS = ['watcher-1', 'watcher-2'] as const;
export const WORKERS = ['worker-1', 'worker-2', 'worker-3'] as const;
export const SERVICES = [...WATCHERS, ...WORKERS] as const;
export type ServiceName = (typeof SERVICES)[number];
export type WorkerName = (typeof WORKERS)[number];

/** How a run's time is divided. All from the start of the first chat. */
export interface Phases {
  /** Faults happen and chats begin until then. */
  chaosMs: number;
  /** Faults off: at least so long, so that backstop and sweep come round once more and a second nudge would be seen. */
  quietAtLeastMs: number;
  /** Waited no longer than that for what is still missing. */
  quietAtMostMs: number;
}

export function phasesOf(minutes: number): Phases {
  const totalMs = minutes * 60_000;
  return {
    chaosMs: Math.round(totalMs * 0.45),
    quietAtLeastMs: minutes >= 2 ? 35_000 : 12_000,
    quietAtMostMs: Math.max(60_000, totalMs * 0.5),
  };
}
