import type { StatsAnswer } from './live/stats.ts';
import type { liveEvent } from './live/frames.ts';
import type { Allowed, SessionView, sessionDetails } from './session-view.ts';
import type { EffectiveSettings, RecoverySettings } from '#shared/settings/recovery.js';
import type { SessionState } from '#shared/session/record.js';
import type { TrailEntry } from '#shared/trail/reasons.js';

/**
 * What the page (`public/page`, plain JavaScript) is told by this watcher's API, in the API's own types: `npm run typecheck`
 * holds one to the other.
 */

export type { Allowed, EffectiveSettings, RecoverySettings, SessionState, StatsAnswer };

export interface Actions {
  continue: Allowed;
  endWatch: { allowed: boolean; reason?: string };
}
export type Session = SessionView & { actions: Actions };

export type TrailLine = TrailEntry & { text: string; reasonText: string | null };
export type Details = Omit<ReturnType<typeof sessionDetails>, 'actions' | 'settings'> & {
  actions: Actions;
  settings: EffectiveSettings | null;
  trail: TrailLine[];
};

export interface SessionPage {
  sessions: Session[];
  next: string | null;
}

/** One event of the stream; `open` and `reset` carry less. */
export type LiveEvent = Partial<ReturnType<typeof liveEvent>> & { nowMs?: number };

export interface Pause {
  paused: boolean;
  by: string | null;
  sinceMs: number | null;
}

export interface ProjectSettings {
  server: string;
  project: string;
  exists: boolean;
  override: Partial<RecoverySettings>;
  effective: EffectiveSettings;
}

export interface Continued {
  outcome: 'nudged' | 'unconfirmed';
  detail: string | null;
}

/** Answer of `GET /v1/reasons`. */
export type Words = Record<'decisions' | 'deliveries' | 'verdicts' | 'trail' | 'settings', Record<string, string>>;
