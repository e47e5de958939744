import { el, part } from './dom.js';
import { GROUPS, STATES } from './states.js';
import { NO_FILTER } from './store.js';
import { projectName } from './words.js';

/** @typedef {import('./store.js').Store} Store */

/** Stands for all; a project may have the empty name. */
const ALL = '*';

/**
 * The groups with their counts, and the filters: text, state, project, server.
 *
 * @param {{ store: Store, changed: () => void }} parts
 */
export function createFilters({ store, changed }) {
  const form = part('filters', HTMLFormElement);
  const groups = part('groups', HTMLElement);
  const text = field(form, 'text', HTMLInputElement);
  const state = field(form, 'state', HTMLSelectElement);
  const project = field(form, 'project', HTMLSelectElement);
  const server = field(form, 'server', HTMLSelectElement);
  let group = '';
  let offered = '';

  fill(state, [
    [ALL, 'Any state'],
    ...Object.entries(STATES).map(([key, { label }]) => /** @type {[string, string]} */ ([key, label])),
  ]);
  const buttons = new Map(
    [['', 'All chats'], ...Object.entries(GROUPS)].map(([key, label]) => [key, groupButton(key ?? '', label ?? '')]),
  );
  groups.append(...buttons.values());

  /**
   * @param {string} key
   * @param {string} label
   */
  function groupButton(key, label) {
    const pick = () => {
      group = key === group ? '' : key;
      take();
    };
    return el(
      'button',
      { type: 'button', class: 'group', 'data-group': key, 'aria-pressed': String(key === group), click: pick },
      el('span', { class: 'count' }, '0'),
      ' ',
      label,
    );
  }

  function take() {
    store.filter = {
      text: text.value,
      group,
      state: state.value === ALL ? '' : state.value,
      project: project.value === ALL ? undefined : project.value.slice(1),
      server: server.value === ALL ? '' : server.value,
    };
    for (const [key, button] of buttons) button.setAttribute('aria-pressed', String(key === group));
    changed();
  }

  form.addEventListener('input', take);
  form.addEventListener('submit', (event) => event.preventDefault());
  document.addEventListener('keydown', (event) => {
    const typing =
      event.target instanceof HTMLElement && event.target.closest('input, select, textarea, dialog') !== null;
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    text.focus();
  });

  /** Projects and servers come with their chats. */
  function offer() {
    const projects = store.projects();
    const key = JSON.stringify(projects);
    if (key === offered) return;
    offered = key;
    const slugs = [...new Set(projects.map((each) => each.project))];
    const servers = [...new Set(projects.map((each) => each.server))].toSorted((a, b) => a.localeCompare(b));
    fill(project, [
      [ALL, 'Any project'],
      ...slugs.map((slug) => /** @type {[string, string]} */ ([`=${slug}`, projectName(slug)])),
    ]);
    fill(server, [[ALL, 'Any chat server'], ...servers.map((id) => /** @type {[string, string]} */ ([id, id]))]);
    part('server-filter', HTMLElement).hidden = servers.length < 2;
  }

  return {
    redraw() {
      offer();
      const counts = store.groupCounts();
      for (const [key, button] of buttons) {
        const count = key === undefined || key === '' ? store.size : (counts[key] ?? 0);
        button.classList.toggle('none', count === 0);
        const shown = button.querySelector('.count');
        if (shown !== null) shown.textContent = count.toLocaleString();
      }
    },
    clear() {
      form.reset();
      group = '';
      take();
    },
    isClear: () => JSON.stringify(store.filter) === JSON.stringify(NO_FILTER),
  };
}

/**
 * @template {Element} T
 * @param {HTMLFormElement} form
 * @param {string} name
 * @param {new () => T} type
 * @returns {T}
 */
function field(form, name, type) {
  const found = form.elements.namedItem(name);
  if (!(found instanceof type)) throw new TypeError(`The form has no field ${name}.`);
  return found;
}

/**
 * Keeps what is chosen, where it is still there.
 *
 * @param {HTMLSelectElement} select
 * @param {readonly [string, string][]} options
 */
function fill(select, options) {
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, label]) => el('option', { value }, label)));
  if (options.some(([value]) => value === chosen)) select.value = chosen;
}
