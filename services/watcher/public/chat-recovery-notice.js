/**
 * <chat-recovery-notice session="…" src="…" token="…">: tells a chat's user that a background task was ended and that Claude is
 * idle, offers Continue, and says afterwards that recovery continued the chat. One file, no dependencies. See docs/notice.md.
 */

/** @typedef {import('../page-types.ts').Details} Session */
/** @typedef {{ kind: 'none' | 'killed' | 'working' | 'sent' | 'recovered', says?: TextName, offer: boolean }} Notice */

/** Every sentence; each can be replaced by an attribute: `text-title="…"`. `{label}` and `{reason}` are filled in. */
const TEXTS = {
  title: 'A background task was ended when the turn was over',
  idle: 'Claude is idle and will not go on by itself.',
  automatic: 'Claude is idle. {label} continues the chat in a moment.',
  again: 'The chat was continued before and stands still again.',
  unconfirmed: 'A message was sent, and nothing has followed yet.',
  stuck: 'Nothing has happened since then.',
  continue: 'Continue',
  working: 'Continuing…',
  sent: 'Continued. Claude is at work again.',
  recovered: '{label} continued this chat.',
  failed: 'Not continued: {reason}',
  away: 'The recovery service cannot be reached.',
};
/** @typedef {keyof typeof TEXTS} TextName */

/** @type {Record<string, TextName>} */
const SAYS = { exhausted: 'again', unconfirmed: 'unconfirmed', stuck: 'stuck' };

/**
 * What there is to tell of a session. Pure.
 *
 * @param {Session} session
 * @returns {Notice}
 */
export function noticeOf(session) {
  const { notice, state, trail } = session;
  const since = trail.findLastIndex(({ kind }) => kind === 'human-message');
  const nudged = trail.slice(since + 1).some(({ kind }) => kind === 'nudged');
  if (state === 'nudging') return { kind: 'working', offer: false };
  if (state === 'nudged' || (nudged && session.running)) return { kind: 'sent', offer: false };
  if (notice !== null && state !== 'closed') {
    return {
      kind: 'killed',
      says: SAYS[state] ?? (isAutomatic(session) ? 'automatic' : 'idle'),
      offer: session.actions.continue.allowed,
    };
  }
  return { kind: nudged && state !== 'closed' ? 'recovered' : 'none', offer: false };
}

/** @param {Session} session */
const isAutomatic = ({ state, automatic, settings, trail }) =>
  state === 'killed' && automatic && settings?.values.autoReDrive === true && trail.at(-1)?.kind !== 'shown-only';

const STYLE = `
:host { display: block; font: 14px/1.45 var(--chat-recovery-font, inherit) }
:host([theme=light]) { color-scheme: light }
:host([theme=dark]) { color-scheme: dark }
[hidden] { display: none !important }
.notice { --tone: var(--chat-recovery-ink, light-dark(#8a4a00, #f2bd62));
  display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; padding: 10px 14px;
  color: var(--chat-recovery-text, light-dark(#1c2023, #e8e6e1));
  background: var(--chat-recovery-bg, light-dark(#fcefd2, #32270f));
  border-left: 3px solid var(--tone); border-radius: var(--chat-recovery-radius, 6px) }
.notice[data-kind=recovered], .notice[data-kind=sent] { --tone: var(--chat-recovery-done, light-dark(#22663c, #8dd2a4));
  background: var(--chat-recovery-done-bg, light-dark(#e2f2e7, #162d1e)) }
[data-kind=none] { display: contents }
.words { flex: 1 1 16em; min-width: 0; overflow-wrap: anywhere }
.words p { margin: 0 }
.title { font-weight: 600 }
.task { opacity: .85 }
.outcome:empty { display: none }
.outcome { flex-basis: 100%; margin: 0; font-weight: 550; color: var(--chat-recovery-error, light-dark(#a1281d, #f29b90)) }
button { font: inherit; font-weight: 550; min-height: 32px; padding: 3px 14px; cursor: pointer; border-radius: var(--chat-recovery-radius, 6px);
  border: 1px solid var(--tone); color: light-dark(#fff, #201500); background: var(--tone) }
button:disabled { cursor: default; opacity: .7 }
button:focus-visible { outline: 2px solid currentcolor; outline-offset: 2px }`;

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
/** Without even a heartbeat (15 s) the connection is dead. */
const SILENT_MS = 40_000;

/** Where there is no document (a server that renders pages) the module can still be loaded. */
const Base = globalThis.HTMLElement ?? /** @type {typeof HTMLElement} */ (/** @type {unknown} */ (Object));

export class ChatRecoveryNotice extends Base {
  static observedAttributes = ['session', 'src', 'token', 'label', ...Object.keys(TEXTS).map((name) => `text-${name}`)];
  /** @type {AbortController | undefined} */
  #following;
  /** @type {Session | undefined} */
  #session;
  /** @type {ReturnType<typeof parts> | undefined} */
  #parts;
  #asked = 0;
  #clicked = false;
  #onVisibility = () => (document.hidden ? this.#stop() : this.#start());

  connectedCallback() {
    if (this.#parts === undefined) {
      this.#parts = parts(this.attachShadow({ mode: 'open' }));
      this.#parts.button.addEventListener('click', () => void this.#continue());
    }
    document.addEventListener('visibilitychange', this.#onVisibility);
    this.#start();
  }

  disconnectedCallback() {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    this.#stop();
  }

  /** @param {string} name @param {string | null} before @param {string | null} after */
  attributeChangedCallback(name, before, after) {
    if (before === after || !this.isConnected) return;
    if (name === 'session' || name === 'src' || name === 'token') {
      if (name !== 'token') this.#forget();
      this.#stop();
      this.#start();
    } else this.#draw();
  }

  get #id() {
    return this.getAttribute('session');
  }

  #forget() {
    this.#session = undefined;
    this.#draw();
  }

  #start() {
    if (this.#following !== undefined || !this.#id || document.hidden) return;
    this.#following = new AbortController();
    void this.#follow(this.#following.signal);
  }

  #stop() {
    this.#following?.abort();
    this.#following = undefined;
  }

  /** Follows the session's events until stopped; each, the first too, says that there is something to read. @param {AbortSignal} stopped */
  async #follow(stopped) {
    let waitMs = FIRST_WAIT_MS;
    while (!stopped.aborted) {
      try {
        await this.#readStream(stopped, () => {
          waitMs = FIRST_WAIT_MS;
          void this.#read();
        });
      } catch (error) {
        if (!stopped.aborted) this.#tell('error', { status: statusOf(error) });
      }
      await new Promise((resolve) => setTimeout(resolve, waitMs * (0.75 + Math.random() / 2)));
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
    }
  }

  /** @param {AbortSignal} stopped @param {() => void} news */
  async #readStream(stopped, news) {
    const silent = new AbortController();
    const signal = AbortSignal.any([stopped, silent.signal]);
    const response = await this.#fetch(`v1/events/stream?session=${this.#id}`, { signal });
    const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const timer = setTimeout(() => silent.abort(), SILENT_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      if (!value.startsWith(':')) news(); // a comment is but a heartbeat
    }
  }

  async #read() {
    const mine = (this.#asked += 1);
    try {
      const response = await this.#fetch(`v1/sessions/${this.#id}`, {});
      const session = await response.json();
      if (mine !== this.#asked) return;
      this.#session = session;
      this.#draw();
    } catch {
      return; // the stream's own failures are told, and it comes again
    }
  }

  async #continue() {
    this.#clicked = true;
    this.#say('');
    this.#draw();
    try {
      await this.#fetch(`v1/sessions/${this.#id}/continue`, { method: 'POST' });
    } catch (error) {
      this.#say(statusOf(error) === 0 ? this.#text('away') : this.#text('failed', Object(error).message));
    }
    this.#clicked = false;
    await this.#read();
    this.#draw();
  }

  #draw() {
    if (this.#parts === undefined) return;
    const { box, title, says, task, button } = this.#parts;
    const notice = this.#session === undefined ? undefined : noticeOf(this.#session);
    const kind = this.#clicked ? 'working' : (notice?.kind ?? 'none');
    const isKilled = kind === 'killed' || kind === 'working';
    const tasks = this.#session?.notice?.tasks ?? [];
    const changed = box.dataset['kind'] !== kind;
    box.dataset['kind'] = kind;
    put(title, isKilled ? this.#text('title') : kind === 'none' ? '' : this.#text(kind));
    put(says, kind === 'killed' ? this.#text(notice?.says ?? 'idle') : kind === 'working' ? this.#text('working') : '');
    put(task, isKilled ? tasks.map(({ summary }) => summary).join(' · ') : '');
    button.hidden = !(kind === 'killed' && notice?.offer === true) && kind !== 'working';
    button.disabled = kind === 'working';
    put(button, this.#text(kind === 'working' ? 'working' : 'continue'));
    if (kind !== 'killed') this.#say('');
    if (changed) this.#tell('change', { kind });
  }

  /** @param {TextName} name @param {string} [reason] */
  #text(name, reason = '') {
    const text = this.getAttribute(`text-${name}`) ?? TEXTS[name];
    return text.replace('{label}', this.getAttribute('label') ?? 'Paddock recovery').replace('{reason}', () => reason);
  }

  /** @param {string} sentence */
  #say(sentence) {
    if (this.#parts) put(this.#parts.outcome, sentence);
  }

  /** @param {string} name @param {object} detail */
  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(`chat-recovery-${name}`, { detail, bubbles: true, composed: true }));
  }

  /** @param {string} path @param {RequestInit} options */
  async #fetch(path, options) {
    const token = this.getAttribute('token');
    const base = new URL(`${(this.getAttribute('src') ?? '').replace(/\/$/, '')}/`, document.baseURI);
    const headers = new Headers(options.headers);
    if (token) headers.set('authorization', `Bearer ${token}`);
    const response = await fetch(new URL(path, base), { cache: 'no-store', ...options, headers });
    if (response.ok) return response;
    const { detail } = await response.json().catch(() => ({}));
    throw Object.assign(new Error(detail ?? `HTTP ${response.status}`), { status: response.status });
  }
}

/** @param {unknown} error 0: no answer at all */
const statusOf = (error) => Object(error).status ?? 0;

/**
 * Words live in a status region, failures in an alert; both stand before anything is in them, so that they are heard.
 *
 * @param {ShadowRoot} root
 */
function parts(root) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];
  const title = make('p', 'title');
  const says = make('p', 'says');
  const task = make('p', 'task');
  const words = make('div', 'words', title, says, task);
  words.setAttribute('role', 'status');
  const button = /** @type {HTMLButtonElement} */ (make('button', 'button'));
  button.type = 'button';
  const outcome = make('p', 'outcome');
  outcome.setAttribute('role', 'alert');
  const box = make('div', 'notice', words, button, outcome);
  box.dataset['kind'] = 'none';
  root.append(box);
  return { box, title, says, task, button, outcome };
}

/** @param {string} tag @param {string} name class and part @param {...(Node | string)} children */
function make(tag, name, ...children) {
  const made = document.createElement(tag);
  made.className = name;
  made.setAttribute('part', name);
  made.append(...children);
  return made;
}

/**
 * Text, never markup; and only where it differs, since a screen reader reads what is set.
 *
 * @param {HTMLElement} place
 * @param {string} text
 */
function put(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

if (globalThis.customElements?.get('chat-recovery-notice') === undefined) {
  globalThis.customElements?.define('chat-recovery-notice', ChatRecoveryNotice);
}
