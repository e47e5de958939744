import { announce } from './announce.js';
import { ApiError, call } from './api.js';
import { el, part } from './dom.js';
import { KEYS, SETTINGS, SOURCES, valueWords } from './settings-table.js';
import { projectName, projectPath } from './words.js';

/** @typedef {import('../../page-types.ts').ProjectSettings} ProjectSettings */
/** @typedef {{ server: string, project: string }} Place */
/** @typedef {import('./settings-table.js').Key} Key */

/**
 * Settings of one project: what is in force, where each value comes from, and the project's own values to change or clear.
 *
 * @param {{ places: () => Place[], words: () => import('../../page-types.ts').Words | undefined, changed: (place: Place) => void }} parts
 */
export function createSettings({ places, words, changed }) {
  const dialog = part('settings', HTMLDialogElement);
  /** @type {Place} */
  let place = { server: '', project: '' };

  const path = () => `v1/projects/${projectPath(place.project)}/recovery?server=${encodeURIComponent(place.server)}`;

  /** @param {Place} chosen */
  async function show(chosen) {
    place = chosen;
    if (!dialog.open) dialog.showModal();
    await run('Reading…', async () => draw(await call(path()), ''));
  }

  /**
   * @param {string} doing
   * @param {() => Promise<void>} work
   */
  async function run(doing, work) {
    const status = dialog.querySelector('.s-status');
    if (status !== null) status.textContent = doing;
    try {
      await work();
    } catch (error) {
      tell(error);
    }
  }

  /** @param {unknown} error */
  function tell(error) {
    const sentence = error instanceof ApiError ? error.message : String(error);
    const at = error instanceof ApiError ? error.field.split('.').at(-1) : '';
    if (dialog.querySelector('.s-status') === null)
      dialog.replaceChildren(heading(), chooser(), statusLine(''), buttons(false));
    const status = dialog.querySelector('.s-status');
    if (status !== null) {
      status.textContent = sentence;
      status.setAttribute('data-ok', 'false');
    }
    const input = dialog.querySelector(`[name="${CSS.escape(at ?? '')}"]`);
    if (input instanceof HTMLElement) {
      input.setAttribute('aria-invalid', 'true');
      input.focus();
    }
  }

  /** @param {HTMLFormElement} form */
  async function save(form) {
    const change = changeOf(new FormData(form));
    await run('Saving…', async () => {
      draw(
        await call(path(), { method: 'PATCH', body: change }),
        'Saved. It is in force now, for chats that are watched already too.',
      );
      changed(place);
    });
  }

  async function clear() {
    await run('Clearing…', async () => {
      draw(await call(path(), { method: 'DELETE' }), 'Cleared: every value is the instance’s again.');
      changed(place);
    });
  }

  function chooser() {
    const all = places();
    const several = new Set(all.map(({ server }) => server)).size > 1;
    const options = all.map(({ server, project }, at) =>
      el(
        'option',
        { value: String(at), selected: server === place.server && project === place.project },
        several ? `${projectName(project)} · ${server}` : projectName(project),
      ),
    );
    const pick = (/** @type {Event} */ event) => {
      const chosen = all[Number(/** @type {HTMLSelectElement} */ (event.target).value)];
      if (chosen !== undefined) void show(chosen);
    };
    return el('label', { class: 's-project' }, 'Project ', el('select', { change: pick, name: 'place' }, ...options));
  }

  /**
   * @param {ProjectSettings} settings
   * @param {string} said
   */
  function draw(settings, said) {
    const form = el(
      'form',
      {
        class: 's-form',
        method: 'dialog',
        novalidate: true,
        submit: (event) => {
          event.preventDefault();
          void save(/** @type {HTMLFormElement} */ (event.target));
        },
      },
      ...KEYS.map((key) => fieldRow(key, settings, words()?.settings[key] ?? '')),
      settings.exists
        ? null
        : el('p', { class: 's-hint' }, 'This project has no folder here, so it cannot have values of its own.'),
      statusLine(said),
      buttons(settings.exists, Object.keys(settings.override).length > 0),
    );
    dialog.replaceChildren(heading(), chooser(), form);
    if (said !== '') announce(said);
  }

  /**
   * @param {boolean} editable
   * @param {boolean} [clearable]
   */
  function buttons(editable, clearable = false) {
    return el(
      'div',
      { class: 's-buttons' },
      el(
        'button',
        { type: 'button', class: 'quiet', disabled: !clearable, click: () => void clear() },
        'Clear the project’s values',
      ),
      el('span', { class: 'grow' }),
      el('button', { type: 'button', class: 'quiet', click: () => dialog.close() }, 'Close'),
      editable ? el('button', { type: 'submit', class: 'primary' }, 'Save') : null,
    );
  }

  return { show };
}

const heading = () => el('h2', { id: 'settings-title' }, 'Recovery settings');

/** @param {string} said */
const statusLine = (said) =>
  el('p', { class: 's-status', role: 'status', 'data-ok': said === '' ? undefined : 'true' }, said);

/**
 * @param {Key} key
 * @param {ProjectSettings} settings
 * @param {string} doc
 */
function fieldRow(key, { override, effective, exists }, doc) {
  const own = override[key];
  const id = `setting-${String(key)}`;
  const source = effective.sources[key];
  const inForce = valueWords(key, effective.values[key]);
  const given = { id, name: key, 'aria-describedby': `${id}-doc`, disabled: !exists };
  return el(
    'div',
    { class: 's-row' },
    el('label', { for: id }, SETTINGS[key].label),
    SETTINGS[key].kind === 'switch' ? switchField(given, own) : numberField(given, own, key),
    el('span', { class: 'source', 'data-source': source }, `${inForce}, ${SOURCES[source] ?? source}`),
    el('p', { class: 's-doc', id: `${id}-doc` }, SETTINGS[key].kind === 'time' ? `${doc} In milliseconds.` : doc),
  );
}

/**
 * @param {Record<string, string | boolean>} given
 * @param {boolean | number | undefined} own
 */
function switchField(given, own) {
  const chosen = own === undefined ? '' : String(own);
  const options = [
    ['', 'Inherited'],
    ['true', 'On'],
    ['false', 'Off'],
  ];
  return el(
    'select',
    given,
    ...options.map(([value = '', words = '']) => el('option', { value, selected: value === chosen }, words)),
  );
}

/**
 * @param {Record<string, string | boolean>} given
 * @param {boolean | number | undefined} own
 * @param {Key} key
 */
function numberField(given, own, key) {
  const value = own === undefined ? '' : String(own);
  const wide = SETTINGS[key].kind === 'time';
  return el('input', {
    ...given,
    type: 'text',
    inputmode: 'numeric',
    size: wide ? '10' : '4',
    value,
    placeholder: 'Inherited',
    autocomplete: 'off',
  });
}

/**
 * The whole form as a change: an empty field takes the project's value away. What is no number goes as it is, for the watcher to
 * refuse by name.
 *
 * @param {FormData} form
 */
function changeOf(form) {
  return Object.fromEntries(
    KEYS.map((key) => {
      const given = form.get(key);
      const text = typeof given === 'string' ? given.trim() : '';
      if (text === '') return [key, null];
      if (text === 'true' || text === 'false') return [key, text === 'true'];
      return [key, /^\d+$/.test(text) ? Number(text) : text];
    }),
  );
}
