import { announce } from './announce.js';
import { el } from './dom.js';
import { KEYS, SETTINGS, SOURCES, valueWords } from './settings-table.js';
import { stateOf } from './states.js';
import { timeline } from './timeline.js';
import { age, fullTime, isoTime, projectName } from './words.js';
import { sinceMs } from './row.js';

/** @typedef {import('../../page-types.ts').Details} Details */

/**
 * One chat in full.
 *
 * @typedef {object} DetailView
 * @property {Details} session
 * @property {number} nowMs
 * @property {string} why
 * @property {import('../../page-types.ts').Words | undefined} words
 * @property {import('./actions.js').Outcome | undefined} outcome
 * @property {{ close: () => void, continueChat: () => void, endWatch: () => void, settings: () => void }} does
 */

/**
 * @param {DetailView} view
 * @returns {HTMLElement[]}
 */
export function detail(view) {
  const { session, nowMs } = view;
  return [
    head(view),
    notice(view),
    section('Timeline', timeline(session.trail, { nowMs, words: view.words })),
    section('Settings in force', settings(view)),
    section('Facts', facts(session)),
  ];
}

/** @param {DetailView} view */
function head({ session, nowMs, does }) {
  const state = stateOf(session.state);
  const since = sinceMs(session);
  return el(
    'header',
    { class: 'd-head' },
    el('button', { type: 'button', class: 'quiet d-close', click: does.close, 'aria-label': 'Close this chat' }, '✕'),
    el('h2', {}, projectName(session.project)),
    el('p', { class: 'd-id' }, el('code', {}, session.sessionId), copyButton(session.sessionId)),
    el(
      'p',
      { class: 'd-state' },
      el('span', { class: 'badge', 'data-tone': state.tone }, state.label),
      el('time', { datetime: isoTime(since), title: fullTime(since) }, stateAge(session, nowMs)),
    ),
  );
}

/**
 * @param {Details} session
 * @param {number} nowMs
 */
export const stateAge = (session, nowMs) => `for ${age(nowMs - sinceMs(session))}`;

/**
 * Browsers have a clipboard only where the page came over TLS or from this machine.
 *
 * @param {string} id
 */
function copyButton(id) {
  const button = el('button', { type: 'button', class: 'quiet small' }, 'Copy id');
  button.hidden = navigator.clipboard === undefined;
  const tell = (/** @type {string} */ words) => () => {
    button.textContent = words;
    announce(words);
  };
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(id).then(tell('Copied'), tell('Not copied'));
  });
  button.addEventListener('blur', () => {
    button.textContent = 'Copy id';
  });
  return button;
}

/** @param {DetailView} view */
function notice({ session, why, outcome, does }) {
  const state = stateOf(session.state);
  const tasks = (session.notice?.tasks ?? []).map(({ id, status, summary }) =>
    el('li', {}, summary === '' ? `Task was ${status}` : summary, ' ', el('code', {}, id)),
  );
  const { continue: mayContinue, endWatch } = session.actions;
  const busy = outcome?.busy === true;
  return el(
    'section',
    { class: 'd-notice', 'data-tone': state.tone, 'aria-label': 'What happened' },
    el('p', { class: 'd-says' }, state.says || state.label),
    tasks.length === 0 ? null : el('ul', { class: 'd-tasks' }, ...tasks),
    why === '' ? null : el('p', { class: 'd-why' }, why),
    el(
      'div',
      { class: 'd-actions' },
      el(
        'button',
        { type: 'button', class: 'primary', click: does.continueChat, disabled: busy || !mayContinue.allowed },
        busy ? 'Continuing…' : 'Continue',
      ),
      endWatch.allowed ? confirmed('End the watch', 'End it: sure?', does.endWatch) : null,
    ),
    mayContinue.allowed || busy ? null : el('p', { class: 'd-hint' }, `Continue is not offered: ${mayContinue.reason}`),
    el(
      'p',
      { class: 'd-outcome', 'data-ok': outcome === undefined ? undefined : String(outcome.ok) },
      outcome?.text ?? '',
    ),
  );
}

/**
 * A button that does it on the second press only.
 *
 * @param {string} words
 * @param {string} sure
 * @param {() => void} does
 */
function confirmed(words, sure, does) {
  const button = el('button', { type: 'button', class: 'quiet' }, words);
  button.addEventListener('click', () => {
    if (button.textContent === sure) does();
    else button.textContent = sure;
  });
  button.addEventListener('blur', () => {
    button.textContent = words;
  });
  return button;
}

/**
 * @param {string} title
 * @param {...Node} children
 */
const section = (title, ...children) => el('section', { class: 'd-section' }, el('h3', {}, title), ...children);

/** @param {DetailView} view */
function settings({ session, does }) {
  if (session.settings === null) return el('p', {}, 'Its chat server is no longer in the settings.');
  const { values, sources } = session.settings;
  const rows = KEYS.map((key) =>
    el(
      'tr',
      {},
      el('th', { scope: 'row' }, SETTINGS[key].label),
      el('td', {}, valueWords(key, values[key])),
      el('td', { class: 'source', 'data-source': sources[key] }, SOURCES[sources[key]] ?? sources[key]),
    ),
  );
  return el(
    'div',
    {},
    el(
      'table',
      { class: 'plain' },
      el('thead', { class: 'sr' }, headRow('Setting', 'Value', 'From')),
      el('tbody', {}, ...rows),
    ),
    el(
      'button',
      { type: 'button', class: 'quiet', click: does.settings, 'aria-haspopup': 'dialog' },
      `Settings of ${projectName(session.project)}…`,
    ),
  );
}

/** @param {...string} names */
const headRow = (...names) => el('tr', {}, ...names.map((name) => el('th', { scope: 'col' }, name)));

/** @param {Details} session */
function facts(session) {
  const { counters, attempt } = session;
  /** @type {[string, string][]} */
  const rows = [
    ['Chat server', session.server],
    ['Watch', session.armed ? 'armed' : 'not armed'],
    ['Automatic nudges', session.automatic ? 'on for this chat' : 'off for this chat'],
    ['Tries since the last human message', `${counters.tries} of ${counters.maxRetries}`],
    ['Continued by hand', String(counters.manuals)],
    ['Turn', session.running ? 'running' : 'none is running'],
    ['Background tasks at the last turn’s end', String(session.backgroundTasks)],
    [
      'Last attempt',
      attempt === null
        ? 'none'
        : `${attempt.kind === 'auto' ? 'automatic' : 'by hand'}, ${attempt.outcome ?? attempt.phase}`,
    ],
    ['Last change', fullTime(session.updatedMs)],
    ['Transcript', session.path ?? 'not named yet'],
  ];
  return el('dl', { class: 'facts' }, ...rows.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
}
