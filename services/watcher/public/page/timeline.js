import { el } from './dom.js';
import { age, dayTime, fullTime, isoTime, span } from './words.js';

/** @typedef {import('../../page-types.ts').TrailLine} TrailLine */

/** @type {Partial<Record<TrailLine['kind'], import('./states.js').Tone>>} */
const TONES = {
  'killed-task': 'amber',
  unconfirmed: 'amber',
  exhausted: 'amber',
  stuck: 'amber',
  'stood-down': 'amber',
  failed: 'red',
  'error-entry': 'red',
  'transcript-missing': 'red',
  claimed: 'blue',
  sending: 'blue',
  nudged: 'blue',
  recovered: 'green',
};

/**
 * The trail of one chat, newest first: when, what, why, and on what evidence.
 *
 * @param {readonly TrailLine[]} trail oldest first
 * @param {{ nowMs: number, words: import('../../page-types.ts').Words | undefined }} context
 */
export function timeline(trail, { nowMs, words }) {
  const lines = trail.toReversed().map((line) => {
    const item = el(
      'li',
      { 'data-tone': TONES[line.kind] ?? 'plain' },
      el(
        'time',
        { datetime: isoTime(line.atMs), title: `${fullTime(line.atMs)}, ${age(nowMs - line.atMs)} ago` },
        dayTime(line.atMs, nowMs),
      ),
      el('p', { class: 't-what' }, line.text),
    );
    if (line.reasonText !== null) item.append(el('p', { class: 't-why' }, line.reasonText));
    const evidence = evidenceOf(line, words?.verdicts ?? {});
    if (evidence.length > 0) item.append(el('dl', { class: 't-evidence' }, ...evidence.flatMap(pair)));
    return item;
  });
  return el('ol', { class: 'timeline', reversed: true }, ...lines);
}

/** @param {[string, string]} fact */
const pair = ([name, value]) => [el('dt', {}, name), el('dd', {}, value)];

/** Names of what a line may carry. */
/** @type {Record<string, string>} */
const NAMES = {
  verdict: 'Verdict',
  attempt: 'Attempt',
  notice: 'Notice',
  turn: 'Turn',
  cause: 'Cause',
  outcome: 'Outcome',
  generation: 'Generation',
  kind: 'Kind',
  answer: 'Answer',
  provenBy: 'Proven by',
  task: 'Task',
  by: 'By',
  cid: 'Correlation id',
  streak: 'Without effect in a row',
};

/**
 * @param {TrailLine} line
 * @param {Record<string, string>} verdicts
 * @returns {[string, string][]}
 */
function evidenceOf({ detail = {}, reason }, verdicts) {
  /** @type {[string, string][]} */
  const facts = [];
  for (const [name, value] of Object.entries(detail)) {
    if (name === 'tasks') facts.push(...tasksOf(value));
    else if (name === 'try') facts.push(['Try', `${worded(value)} of ${worded(detail['maxRetries'] ?? '?')}`]);
    else if (name === 'verdict') facts.push(['Verdict', verdicts[worded(value)] ?? worded(value)]);
    else if (name === 'afterMs') facts.push(['Reply after', span(Number(value))]);
    else if (name !== 'maxRetries') facts.push([NAMES[name] ?? name, worded(value)]);
  }
  if (reason !== undefined) facts.push(['Code', reason]);
  return facts;
}

/**
 * An empty list comes out of Lua as an empty object.
 *
 * @param {unknown} tasks
 * @returns {[string, string][]}
 */
function tasksOf(tasks) {
  if (!Array.isArray(tasks)) return [];
  return tasks.map((/** @type {{ id?: string, status?: string, summary?: string }} */ task) => [
    'Task',
    `${task.id ?? '?'} ${task.status ?? ''}: ${task.summary ?? ''}`,
  ]);
}

/** @param {unknown} value */
const worded = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
