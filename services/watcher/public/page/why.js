/** Why a chat was or was not nudged, in a sentence or two. Pure. */

/** @typedef {import('../../page-types.ts').Details} Details */

/** Lines that say what became of a hang; the newest since the hang began counts. */
const TELLING = new Set([
  'deferred',
  'stood-down',
  'refused',
  'failed',
  'void',
  'unconfirmed',
  'recovered',
  'nudged',
  'exhausted',
  'stuck',
  'error-entry',
  'would-nudge',
  'shown-only',
  'cleared',
]);

/**
 * @param {Details} session
 * @param {import('../../page-types.ts').Pause} pause
 * @param {import('../../page-types.ts').Words | undefined} words
 * @returns {string} empty where there is nothing to explain
 */
export function why(session, pause, words) {
  const since = session.trail.findLastIndex(({ kind }) => kind === 'killed-task' || kind === 'human-message');
  const told = session.trail.slice(since + 1).findLast(({ kind }) => TELLING.has(kind));
  if (told !== undefined) return [told.text, told.reasonText].filter((text) => text !== null).join(' ');
  if (session.notice === null) return '';
  if (pause.paused) return 'Not nudged yet: recovery is paused.';
  if (!session.automatic) {
    const reason = session.userStopped ? 'user-stop' : (session.automaticReason ?? '');
    return `Not nudged: ${words?.decisions[reason] ?? words?.deliveries[reason] ?? 'automatic recovery is off.'}`;
  }
  return 'Not nudged yet: it is nudged once the notice has stood un-answered for the debounce.';
}
