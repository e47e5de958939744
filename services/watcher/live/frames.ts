import { LIVE_EVENTS, liveEventName } from '#shared/trail/live-events.js';
import type { TrailEntry } from '#shared/trail/reasons.js';
import { streamIdMs, type StreamId } from '#shared/trail/stream-id.js';
import { TRAIL_WORDS } from '#shared/trail/words.js';
import { reasonText } from '../session-view.ts';

/** Frames of the event stream that are no line of the trail. */
export const CONTROL_EVENTS = [
  /** First of every stream: from which id on it tells. */
  'open',
  /** Events before this id may be missing: read everything anew. */
  'reset',
  /** The listener was too slow; it may come again with its last id. */
  'dropped',
  /** This process stops; come again, to any watcher. */
  'closing',
] as const;
export type ControlEvent = (typeof CONTROL_EVENTS)[number];

export const EVENT_NAMES = [...CONTROL_EVENTS, ...LIVE_EVENTS];

/** A comment: keeps proxies from cutting the stream, and finds a peer that is gone. */
export const HEARTBEAT = ': still here\n\n';

/** What an event of the trail says. */
export function liveEvent(id: StreamId, entry: TrailEntry) {
  return {
    id,
    event: liveEventName(entry.kind),
    ...entry,
    text: TRAIL_WORDS[entry.kind],
    reasonText: reasonText(entry.reason),
  };
}

export function trailFrame(id: StreamId, entry: TrailEntry): string {
  return frame(liveEventName(entry.kind), liveEvent(id, entry), id);
}

/** `nowMs` is the stream's clock, so that a page can tell ages without trusting its own. */
export function controlFrame(event: ControlEvent, data: Record<string, unknown>, id?: StreamId): string {
  return frame(event, { ...data, ...(id === undefined ? {} : { id, lastEventMs: streamIdMs(id) }) }, id);
}

/** JSON never holds a line break, so one `data:` line carries it. */
function frame(event: string, data: object, id: StreamId | undefined): string {
  const head = id === undefined ? '' : `id: ${id}\n`;
  return `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
