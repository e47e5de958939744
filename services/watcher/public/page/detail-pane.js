import { ApiError, call } from './api.js';
import { detail, stateAge } from './detail.js';
import { el, part, setText } from './dom.js';
import { why } from './why.js';

/** @typedef {import('../../page-types.ts').Details} Details */

/**
 * The pane of the chosen chat: read when it is chosen, and again whenever something happens to it.
 *
 * @param {object} parts
 * @param {() => number} parts.now
 * @param {() => import('../../page-types.ts').Words | undefined} parts.words
 * @param {() => import('../../page-types.ts').Pause} parts.pause
 * @param {(id: string) => import('./actions.js').Outcome | undefined} parts.outcome
 * @param {(session: Details) => void} parts.continueChat
 * @param {(place: { server: string, project: string }) => void} parts.openSettings
 * @param {() => void} parts.chosenChanged
 * @param {(id: string) => void} parts.returnFocus
 * @param {(sentence: string) => void} parts.failed
 */
export function createDetailPane(parts) {
  const pane = part('detail', HTMLElement);
  let chosen = new URLSearchParams(location.hash.slice(1)).get('chat') ?? '';
  /** @type {Details | undefined} */
  let session;
  let drawn = '';
  let asked = 0;
  if (chosen !== '') void open(chosen);

  /** @param {string} id */
  async function open(id) {
    chosen = id;
    session = undefined;
    drawn = '';
    history.replaceState(null, '', `#chat=${id}`);
    pane.hidden = false;
    document.body.classList.add('with-detail');
    pane.replaceChildren(el('p', { class: 'd-hint' }, 'Reading…'));
    parts.chosenChanged();
    await read();
    pane.focus();
  }

  function close() {
    if (chosen === '') return;
    const was = chosen;
    chosen = '';
    session = undefined;
    history.replaceState(null, '', location.pathname + location.search);
    pane.hidden = true;
    document.body.classList.remove('with-detail');
    parts.chosenChanged();
    parts.returnFocus(was);
  }

  /** Only the newest question's answer is shown. */
  async function read() {
    const id = chosen;
    asked += 1;
    const mine = asked;
    try {
      const answer = await call(`v1/sessions/${id}`);
      if (mine !== asked || id !== chosen) return;
      session = answer;
      draw();
    } catch (error) {
      if (mine !== asked || !(error instanceof ApiError)) return;
      if (session === undefined)
        pane.replaceChildren(
          el('p', { class: 'd-hint' }, error.message),
          el('button', { type: 'button', class: 'quiet', click: close }, 'Close'),
        );
    }
  }

  async function endWatch() {
    try {
      await call(`v1/sessions/${chosen}/watch`, { method: 'DELETE' });
      await read();
    } catch (error) {
      parts.failed(`The watch was not ended: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Replaces what is shown where it is another, and gives focus and scroll position back to where they were. */
  function draw() {
    if (session === undefined) return;
    const shown = session;
    const key = JSON.stringify([shown, parts.outcome(shown.sessionId), parts.pause().paused]);
    if (key === drawn) return;
    drawn = key;
    const focused = focusPath();
    const { scrollTop } = pane;
    pane.setAttribute('aria-label', `Chat ${shown.sessionId}`);
    pane.replaceChildren(
      ...detail({
        session: shown,
        nowMs: parts.now(),
        why: why(shown, parts.pause(), parts.words()),
        words: parts.words(),
        outcome: parts.outcome(shown.sessionId),
        does: {
          close,
          continueChat: () => parts.continueChat(shown),
          endWatch: () => void endWatch(),
          settings: () => parts.openSettings({ server: shown.server, project: shown.project }),
        },
      }),
    );
    pane.scrollTop = scrollTop;
    restoreFocus(focused);
  }

  /** Which of the pane's buttons has the focus, or -1. */
  function focusPath() {
    return [...pane.querySelectorAll('button')].findIndex((button) => button === document.activeElement);
  }

  /** @param {number} at */
  function restoreFocus(at) {
    if (at < 0) return;
    const button = pane.querySelectorAll('button')[at];
    if (button !== undefined && !button.disabled) button.focus({ preventScroll: true });
    else pane.focus({ preventScroll: true });
  }

  return {
    open,
    close,
    chosen: () => chosen,
    /**
     * Something happened to this chat.
     *
     * @param {string} id
     */
    touch(id) {
      if (id === chosen && id !== '') void read();
    },
    /** Time has gone on. */
    tick() {
      const time = pane.querySelector('.d-state time');
      if (session !== undefined && time !== null) setText(time, stateAge(session, parts.now()));
    },
  };
}
