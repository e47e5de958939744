import { el, setText } from './dom.js';
import { stateOf } from './states.js';
import { age, projectName, shortId } from './words.js';

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
 * @typedef {object} RowView
 * @property {number} nowMs
 * @property {boolean} chosen
 * @property {{ busy: boolean, text: string } | undefined} outcome
 * @property {boolean} servers name the chat server too
 */

/** What each row shows now: a row that is to show the same costs nothing. */
/** @type {WeakMap<HTMLElement, { session: Session, age: string, chosen: boolean, outcome: RowView['outcome'], servers: boolean }>} */
const shown = new WeakMap();

/**
 * @param {HTMLElement} row
 * @param {Session} session
 * @param {RowView} view
 */
export function fillRow(row, session, { nowMs, chosen, outcome, servers }) {
  const next = { session, age: age(nowMs - sinceMs(session)), chosen, outcome, servers };
  const before = shown.get(row);
  const same = before?.session === session && before.age === next.age && before.chosen === chosen;
  if (same && before.outcome === outcome && before.servers === servers) return;
  shown.set(row, next);
  draw(row, next);
}

/**
 * @param {HTMLElement} row
 * @param {NonNullable<ReturnType<typeof shown.get>>} view
 */
function draw(row, { session, age: lasted, chosen, outcome, servers }) {
  const state = stateOf(session.state);
  const project = projectName(session.project);
  const id = shortId(session.sessionId);
  const [badge, open, name, code, what, time, button] = partsOf(row);
  row.dataset['id'] = session.sessionId;
  // Not a tone on the row: a custom property there would be inherited by all of it, for each row that scrolls in.
  row.classList.toggle('urgent', state.group === 'attention');
  row.classList.toggle('chosen', chosen);
  setText(badge, state.label);
  if (badge.dataset['tone'] !== state.tone) badge.dataset['tone'] = state.tone;
  setText(name, servers ? `${project} · ${session.server}` : project);
  setText(code, id);
  if (chosen) open.setAttribute('aria-current', 'true');
  else open.removeAttribute('aria-current');
  setText(what, outcome === undefined ? whatHappened(session) : outcome.text);
  setText(time, lasted);
  // Where a nudge is on its way a click too many is one by mistake; the chat itself, opened, still offers it.
  const offered = session.actions.continue.allowed && state.group === 'attention';
  button.hidden = !offered && outcome?.busy !== true;
  button.disabled = outcome?.busy === true;
  if (!button.hidden) button.setAttribute('aria-label', `Continue chat ${id} of ${project}`);
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
