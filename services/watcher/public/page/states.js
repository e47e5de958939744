/** What each state is called, what it means, and how urgent it is. Pure. */

/** @typedef {'amber' | 'red' | 'blue' | 'green' | 'plain'} Tone */
/** @typedef {'attention' | 'progress' | 'watching' | 'recovered' | 'rest'} Group */

/** Groups in the order in which chats are listed. */
export const GROUPS = /** @type {const} */ ({
  attention: 'Needs attention',
  progress: 'In progress',
  recovered: 'Recovered',
  watching: 'Watching',
  rest: 'Idle or closed',
});
const ORDER = /** @type {Group[]} */ (Object.keys(GROUPS));

/** @type {Record<import('../../page-types.ts').SessionState, { label: string, says: string, tone: Tone, group: Group }>} */
export const STATES = {
  killed: {
    label: 'Killed task',
    says: 'A background task was ended, and the chat is idle: it does not go on by itself.',
    tone: 'amber',
    group: 'attention',
  },
  exhausted: {
    label: 'Exhausted',
    says: 'It hangs again, and the automatic nudges are used up.',
    tone: 'amber',
    group: 'attention',
  },
  stuck: { label: 'Stuck', says: 'Silent for too long after the killed task.', tone: 'amber', group: 'attention' },
  'stood-down': {
    label: 'Stood down',
    says: 'It was busy for too long to be nudged; the watch goes on.',
    tone: 'amber',
    group: 'attention',
  },
  unconfirmed: {
    label: 'Unconfirmed',
    says: 'A nudge was sent and nothing that can be seen followed.',
    tone: 'amber',
    group: 'attention',
  },
  failed: { label: 'Failed', says: 'The nudge cannot be delivered.', tone: 'red', group: 'attention' },
  error: { label: 'API error', says: 'The chat ended in an API error.', tone: 'red', group: 'attention' },
  'transcript-missing': {
    label: 'No transcript',
    says: 'The transcript is nowhere under the allowed roots.',
    tone: 'red',
    group: 'attention',
  },
  nudging: { label: 'Nudging', says: 'A nudge is on its way.', tone: 'blue', group: 'progress' },
  nudged: { label: 'Nudged', says: 'The chat took the nudge; no reply yet.', tone: 'blue', group: 'progress' },
  watching: {
    label: 'Watching',
    says: 'Watched since its last turn; nothing is wrong.',
    tone: 'plain',
    group: 'watching',
  },
  recovered: { label: 'Recovered', says: 'It replied after a nudge and goes on.', tone: 'green', group: 'recovered' },
  idle: { label: 'Idle', says: 'Known, and not watched now.', tone: 'plain', group: 'rest' },
  closed: { label: 'Closed', says: 'The chat is over.', tone: 'plain', group: 'rest' },
};

/** @param {import('../../page-types.ts').SessionState} state a newer watcher may know others */
export const stateOf = (state) => STATES[state] ?? { label: state, says: '', tone: 'plain', group: 'rest' };

/** @param {import('../../page-types.ts').SessionState} state */
export const rankOf = (state) => ORDER.indexOf(stateOf(state).group);
