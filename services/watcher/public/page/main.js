import { createActions } from './actions.js';
import { announce } from './announce.js';
import { ApiError, call } from './api.js';
import { createChart } from './chart.js';
import { createDetailPane } from './detail-pane.js';
import { el, part } from './dom.js';
import { createFilters } from './filters.js';
import { createList } from './list.js';
import { follow } from './live.js';
import { logInLink, offerLogOut } from './login.js';
import { createPause } from './pause.js';
import { fillRow, makeRow } from './row.js';
import { createSettings } from './settings.js';
import { Store } from './store.js';
import { createSync } from './sync.js';
import { setUpTheme } from './theme.js';
import { counted, projectName } from './words.js';

/** @typedef {import('../../page-types.ts').Session} Session */

/** Ages go on by themselves. */
const TICK_MS = 5_000;
/** However fast changes come, the list is sorted and drawn no more often. */
const REFRESH_MS = 100;

const store = new Store();
/** The watcher's clock minus ours. */
let clockAheadMs = 0;
const now = () => Date.now() + clockAheadMs;
/** @type {import('../../page-types.ts').Words | undefined} */
let words;
/** @type {readonly Session[]} */
let shown = [];
/** @type {import('../../page-types.ts').Pause} */
let pauseState = { paused: false, by: null, sinceMs: null };
/** @type {ReturnType<typeof setTimeout> | undefined} */
let refreshing;
let busy = true;

const phone = matchMedia('(width < 48rem)');
const rows = part('rows', HTMLElement);
const list = createList({
  scroller: part('scroller', HTMLElement),
  body: rows,
  rowHeight: () => (phone.matches ? 68 : 40),
  makeRow,
  keyOf: (/** @type {Session} */ session) => session.sessionId,
  fillRow: (row, session) =>
    fillRow(row, session, {
      nowMs: now(),
      chosen: pane.chosen() === session.sessionId,
      outcome: actions.outcome(session.sessionId),
      servers: store.filter.server === '' && !part('server-filter', HTMLElement).hidden,
    }),
});
const actions = createActions({
  changed: (id) => {
    list.redraw();
    pane.touch(id);
    sync.touch(id);
  },
});
const settings = createSettings({
  places: () => store.projects(),
  words: () => words,
  changed: () => {
    void sync.reload();
    pane.touch(pane.chosen());
  },
});
const pane = createDetailPane({
  now,
  words: () => words,
  pause: () => pauseState,
  outcome: (id) => actions.outcome(id),
  continueChat: (session) => void actions.continueChat(session),
  openSettings: (place) => void settings.show(place),
  chosenChanged: () => list.redraw(),
  returnFocus: (id) => focusRow(shown.findIndex(({ sessionId }) => sessionId === id)),
  failed: problem,
});
const pause = createPause({
  now,
  failed: problem,
  changed: (state) => {
    pauseState = state;
    pane.touch(pane.chosen());
  },
});
const chart = createChart();
const filters = createFilters({ store, changed: refresh });
const sync = createSync({
  store,
  changed: refreshSoon,
  loading: (on) => {
    busy = on;
    refreshSoon();
  },
});

function refreshSoon() {
  refreshing ??= setTimeout(refresh, REFRESH_MS);
}

function refresh() {
  clearTimeout(refreshing);
  refreshing = undefined;
  shown = store.shown();
  list.show(shown);
  filters.redraw();
  part('table', HTMLElement).setAttribute('aria-rowcount', String(shown.length + 1));
  const empty = part('empty', HTMLElement);
  empty.hidden = shown.length > 0;
  if (!empty.hidden) empty.replaceChildren(...emptyWords());
  const some = shown.length === store.size ? '' : `${shown.length.toLocaleString()} of `;
  part('foot', HTMLElement).textContent = `${some}${counted(store.size, 'chat')}${busy ? ', reading…' : ''}`;
}

function emptyWords() {
  if (busy) return ['Reading the chats…'];
  if (!filters.isClear()) {
    return [
      'No chat fits these filters. ',
      el('button', { type: 'button', class: 'quiet', click: () => filters.clear() }, 'Show all'),
    ];
  }
  return ['No chat has been heard of yet. They appear here with the first webhook of a chat server.'];
}

/** @param {string} sentence */
function problem(sentence) {
  const place = part('problem', HTMLElement);
  const dismiss = () => {
    place.hidden = true;
  };
  place.replaceChildren(
    el('p', {}, sentence),
    el('button', { type: 'button', class: 'quiet', click: dismiss }, 'Dismiss'),
  );
  place.hidden = false;
}

rows.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target : null;
  const id = target?.closest('tr')?.dataset['id'] ?? '';
  const session = store.get(id);
  if (session === undefined) return;
  const does = target?.closest('button')?.dataset['does'];
  if (does === 'continue') void actions.continueChat(session);
  else if (does === 'open') void pane.open(id);
});

/** @param {number} at */
function focusRow(at) {
  const open = list.reveal(at)?.querySelector('.open');
  if (open instanceof HTMLElement) open.focus({ preventScroll: true });
}

/** Arrow keys go from chat to chat. */
/** @type {Record<string, (at: number) => number>} */
const STEPS = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  PageDown: (at) => at + 10,
  PageUp: (at) => at - 10,
  Home: () => 0,
  End: () => shown.length - 1,
};
rows.addEventListener('keydown', (event) => {
  const step = STEPS[event.key];
  const id = event.target instanceof Element ? event.target.closest('tr')?.dataset['id'] : undefined;
  if (step === undefined || id === undefined) return;
  event.preventDefault();
  const at = step(shown.findIndex(({ sessionId }) => sessionId === id));
  focusRow(Math.max(0, Math.min(shown.length - 1, at)));
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && document.querySelector('dialog[open]') === null) pane.close();
});

part('open-settings', HTMLButtonElement).addEventListener('click', () => {
  const chosen = store.get(pane.chosen()) ?? store.projects()[0];
  if (chosen === undefined) problem('There is no project yet: settings are shown for projects that have chats.');
  else void settings.show({ server: chosen.server, project: chosen.project });
});

/** Words of the state of the connection. */
const LINK = { connecting: 'Reconnecting…', live: 'Live', away: 'Not live', out: 'Logged out.' };

/**
 * @param {keyof typeof LINK} state
 * @param {string} why
 */
function link(state, why) {
  const place = part('link', HTMLElement);
  if (place.dataset['state'] === state && place.title === why) return;
  place.dataset['state'] = state;
  place.title = why;
  const said = el('span', { class: 'link-words' }, state === 'away' ? `${LINK.away}: ${why}` : LINK[state]);
  place.replaceChildren(said, ...(state === 'out' ? [logInLink()] : []));
}

const COUNTED = new Set(['chat.killed_task', 'chat.nudged', 'chat.recovered']);
let first = true;

/**
 * @param {import('../../page-types.ts').LiveEvent} event
 * @param {string} name
 */
function onEvent(event, name) {
  if (event.nowMs !== undefined) clockAheadMs = event.nowMs - Date.now();
  if (name === 'reset' || (name === 'open' && first)) {
    first = false;
    void readEverything();
  }
  if (name === 'open') void pause.read().catch(() => undefined);
  if (name.startsWith('recovery.') || event.reason === 'paused-itself') void pause.read().catch(() => undefined);
  if (event.sessionId === undefined) return;
  sync.touch(event.sessionId);
  pane.touch(event.sessionId);
  if (COUNTED.has(name)) chart.touch();
  if (name === 'chat.killed_task') announce(`A background task was ended in ${projectName(event.project ?? '')}.`);
}

async function readEverything() {
  void chart.read();
  offerLogOut().catch(() => undefined);
  try {
    words ??= await call('v1/reasons');
  } catch (error) {
    if (error instanceof ApiError) link('away', error.message);
  }
  await sync.reload();
  pane.touch(pane.chosen());
}

setUpTheme(part('theme', HTMLButtonElement));
setInterval(() => {
  list.redraw();
  pane.tick();
  pause.redraw();
}, TICK_MS);
refresh();
void follow({ event: onEvent, link });
