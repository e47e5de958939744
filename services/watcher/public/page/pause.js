import { announce } from './announce.js';
import { ApiError, call } from './api.js';
import { el, part } from './dom.js';
import { age, clockTime } from './words.js';

/** @typedef {import('../../page-types.ts').Pause} Pause */

/**
 * Pause and resume of everything: the button, and the banner that nobody can overlook.
 *
 * @param {{ now: () => number, changed: (pause: Pause) => void, failed: (sentence: string) => void }} parts
 */
export function createPause({ now, changed, failed }) {
  /** @type {Pause} */
  let state = { paused: false, by: null, sinceMs: null };
  const button = part('pause', HTMLButtonElement);
  const banner = part('paused', HTMLElement);
  button.addEventListener('click', () => void set(!state.paused));

  async function read() {
    state = await call('v1/pause');
    draw();
    changed(state);
  }

  /** @param {boolean} paused */
  async function set(paused) {
    button.disabled = true;
    try {
      await call(paused ? 'v1/pause' : 'v1/resume', { method: 'POST', body: { by: 'operator' } });
      await read();
      announce(paused ? 'Recovery is paused.' : 'Recovery goes on.');
      button.focus();
    } catch (error) {
      failed(
        `Recovery was not ${paused ? 'paused' : 'resumed'}: ${error instanceof ApiError ? error.message : String(error)}`,
      );
    } finally {
      button.disabled = false;
    }
  }

  function draw() {
    button.hidden = false;
    button.textContent = state.paused ? 'Resume recovery' : 'Pause recovery';
    banner.hidden = !state.paused;
    if (state.paused)
      banner.replaceChildren(
        ...bannerWords(state, now()),
        resumeButton(() => void set(false)),
      );
  }

  return { read, redraw: draw };
}

/** @param {() => void} resume */
const resumeButton = (resume) => el('button', { type: 'button', class: 'primary', click: resume }, 'Resume');

/**
 * @param {Pause} pause
 * @param {number} nowMs
 */
function bannerWords({ by, sinceMs }, nowMs) {
  const since = sinceMs === null ? '' : ` since ${clockTime(sinceMs)} (${age(nowMs - sinceMs)})`;
  const title =
    by === 'itself'
      ? `Recovery paused itself${since}.`
      : `Recovery is paused${by === null ? '' : ` by ${by}`}${since}.`;
  const text =
    by === 'itself'
      ? 'Five nudges in a row had no effect. Find out why before you resume; until then no chat is nudged by itself.'
      : 'No chat is nudged by itself. Hangs are still found and shown, and Continue still works.';
  return [el('p', {}, el('strong', {}, title), ' ', text)];
}
