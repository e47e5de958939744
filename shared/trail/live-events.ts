import type { TrailEntry, TrailKind } from './reasons.ts';

/**
 * Names of live events (`event:` of the stream). Every line of the trail is one: those that people wait for by a name of
 * their own, the others as `chat.changed`, so that whoever follows all of them knows every state.
 */
export const LIVE_EVENTS = [
  'chat.killed_task',
  'chat.nudged',
  'chat.recovered',
  'chat.unconfirmed',
  'chat.exhausted',
  'chat.stuck',
  'chat.stood_down',
  'chat.deferred',
  'chat.changed',
  'recovery.paused',
  'recovery.resumed',
] as const;
export type LiveEventName = (typeof LIVE_EVENTS)[number];

const NAMES: Partial<Record<TrailKind, LiveEventName>> = {
  'killed-task': 'chat.killed_task',
  nudged: 'chat.nudged',
  recovered: 'chat.recovered',
  unconfirmed: 'chat.unconfirmed',
  exhausted: 'chat.exhausted',
  stuck: 'chat.stuck',
  'stood-down': 'chat.stood_down',
  deferred: 'chat.deferred',
  paused: 'recovery.paused',
  resumed: 'recovery.resumed',
};

export const liveEventName = (kind: TrailKind): LiveEventName => NAMES[kind] ?? 'chat.changed';

/** Which events a listener wants; a field that is left out means all. */
export interface LiveFilter {
  server?: string;
  project?: string;
  sessionId?: string;
}

/** Whether a listener is told. Pause and resume concern every chat, so everybody is. */
export function wanted(filter: LiveFilter, entry: TrailEntry): boolean {
  if (entry.kind === 'paused' || entry.kind === 'resumed') return true;
  return (
    (filter.server === undefined || entry.server === filter.server) &&
    (filter.project === undefined || entry.project === filter.project) &&
    (filter.sessionId === undefined || entry.sessionId === filter.sessionId)
  );
}
