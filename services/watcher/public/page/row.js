import { el, setText } from './dom.js';
import { stateOf } from './states.js';
import { age, fullTime, projectName, shortId } from './words.js';

/** @typedef {import('../../page-types.ts').Session} Session */

/** An empty row. What is clicked is told by `data-id` of the row and `data-does` of the button. */
export function makeRow() {
  return el(
    'tr',
    { role: 'row', class: 'row' },
    el('td', { role: 'cell', class: 'c-state' }, el('span', { class: 'badge' })),
    el(
      'td',
      { role: 'cell', class: 'c-chat' },
      el(
        'button',
        { type: 'button', class: 'open', 'data-does': 'open' },
        el('span', { class: 'name' }),
        ' ',
        el('code'),
      ),
    ),
    el('td', { role: 'cell', class: 'c-what' }),
    el('td', { role: 'cell', class: 'c-age num' }, el('time')),
    el(
      'td',
      { role: 'cell', class: 'c-do' },
      el('button', { type: 'button', class: 'continue', 'data-does': 'continue' }, 'Continue'),
    ),
  );
}

/**
 * @param {HTMLElement} row
 * @param {Session} session
 * @param {{ nowMs: number, chosen: boolean, outcome: { busy: boolean, text: string } | undefined, servers: boolean }} view
 */
export function fillRow(row, session, { nowMs, chosen, outcome, servers }) {
  const state = stateOf(session.state);
  const [badge, open, name, id, what, time, button] = partsOf(row);
  row.dataset['id'] = session.sessionId;
  row.dataset['tone'] = state.tone;
  row.classList.toggle('chosen', chosen);
  setText(badge, state.label);
  badge.dataset['tone'] = state.tone;
  setText(name, servers ? `${projectName(session.project)} · ${session.server}` : projectName(session.project));
  setText(id, shortId(session.sessionId));
  if (chosen) open.setAttribute('aria-current', 'true');
  else open.removeAttribute('aria-current');
  setText(what, outcome === undefined ? whatHappened(session) : outcome.text);
  what.title = what.textContent ?? '';
  const since = sinceMs(session);
  setText(time, age(nowMs - since));
  time.title = fullTime(since);
  // Where a nudge is on its way a click too many is one by mistake; the chat itself, opened, still offers it.
  const offered = session.actions.continue.allowed && state.group === 'attention';
  button.hidden = !offered && outcome?.busy !== true;
  button.disabled = outcome?.busy === true;
  button.setAttribute('aria-label', `Continue chat ${shortId(session.sessionId)} of ${projectName(session.project)}`);
}

/** @type {WeakMap<HTMLElement, ReturnType<typeof findParts>>} */
const known = new WeakMap();

/** @param {HTMLElement} row */
function partsOf(row) {
  const parts = known.get(row) ?? findParts(row);
  known.set(row, parts);
  return parts;
}

/**
 * @param {HTMLElement} row
 * @returns {[HTMLElement, HTMLElement, HTMLElement, HTMLElement, HTMLElement, HTMLElement, HTMLButtonElement]}
 */
function findParts(row) {
  const found = ['.badge', '.open', '.name', 'code', '.c-what', 'time', '.continue'].map((wanted) =>
    row.querySelector(wanted),
  );
  return /** @type {ReturnType<typeof findParts>} */ (found);
}

/**
 * From when the age counts: what needs somebody has lasted since it was first seen.
 *
 * @param {Session} session
 */
export function sinceMs({ state, notice, updatedMs }) {
  return notice !== null && stateOf(state).group === 'attention' ? notice.firstSeenMs : updatedMs;
}

/** @param {Session} session */
function whatHappened({ state, notice, reasonText }) {
  const [first, ...others] = notice?.tasks ?? [];
  if (first === undefined) return reasonText ?? stateOf(state).says;
  const summary = first.summary === '' ? `Task ${first.id} was ${first.status}` : first.summary;
  return others.length === 0 ? summary : `${summary} (and ${others.length} more)`;
}
