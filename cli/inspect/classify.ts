import { type Observation, REASONS } from '#shared/transcript/finding.js';
import type { Inspection } from './inspect.ts';

/** The groups in which `scan` shows chats, in this order. */
export const GROUPS = {
  hung: 'Hung: a background task was ended and nothing woke the chat',
  error: 'Ended in an API error after a task was ended',
  dead: 'Dead in another way',
  waiting: 'Something is about to move it',
  healthy: 'Healthy',
} as const;
export type Group = keyof typeof GROUPS;

export interface Classified {
  group: Group;
  /** One line on why it stands in its group. */
  why: string;
}

/** A turn that has been open and silent for this long is shown: a live one writes more often than that. */
const SILENT_TURN_MS = 15 * 60_000;

const DEAD_WORDS: Partial<Record<Observation, string>> = {
  'completed-unanswered': 'a task completed and nothing answered it',
  'other-terminal-status': 'a task ended (failed, timed out) and nothing answered it',
  'background-without-terminal-record': 'a task was launched and never heard of again (it may still be running)',
};

/** Sorts a judged chat into its group: what a transcript can show, beyond the hung signature too (SPEC §5, FACTS §2). */
export const classify = (judged: Extract<Inspection, { kind: 'judged' }>, silentMs: number): Classified => {
  const { verdict, reason, tasks } = judged.judgement;
  if (verdict === 'hung') return { group: 'hung', why: tasks.map(({ summary, id }) => summary || id).join('; ') };
  if (verdict === 'error-entry') return { group: 'error', why: REASONS[reason] };
  const words = judged.judgement.observations.map((name) => DEAD_WORDS[name]).filter((text) => text !== undefined);
  if (words.length > 0 && verdict === 'not-hung') return { group: 'dead', why: words.join('; ') };
  if (verdict === 'not-hung') return { group: 'healthy', why: REASONS[reason] };
  const waitsOnClock = judged.judgement.recheckAtMs !== undefined;
  if (waitsOnClock || silentMs < SILENT_TURN_MS) return { group: 'waiting', why: REASONS[reason] };
  return { group: 'dead', why: ['a turn was begun and never ended', ...words].join('; ') };
};
