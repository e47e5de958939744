import { ApiError, request } from './api.js';
import { isLoggedOut } from './login.js';
import { eventParser } from './sse.js';

/** The watcher sends a heartbeat every 15 s; after so long without a byte the connection is dead. */
const SILENT_MS = 40_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;
/** A browser gives one origin six connections: a tab that nobody looks at gives its own back. */
const HIDDEN_MS = 60_000;

/**
 * @typedef {object} Follower
 * @property {(event: import('../../page-types.ts').LiveEvent, name: string) => void} event also `open` and `reset`; must not wait
 * @property {(state: 'connecting' | 'live' | 'away' | 'out', why: string) => void} link `out`: the login has run out
 */

/**
 * Follows the event stream for ever: reconnects with the last id, to whichever watcher answers.
 *
 * @param {Follower} follower
 */
export async function follow(follower) {
  let lastId = '';
  let waitMs = FIRST_WAIT_MS;
  for (;;) {
    await untilVisible();
    try {
      await readStream(lastId, (id, name, data) => {
        waitMs = FIRST_WAIT_MS;
        if (id !== '') lastId = id;
        if (name === 'open') follower.link('live', '');
        follower.event(data, name);
      });
      follower.link('connecting', '');
    } catch (error) {
      const answered = error instanceof ApiError && error.status > 0;
      follower.link(isLoggedOut(error) ? 'out' : answered ? 'away' : 'connecting', answered ? error.message : '');
    }
    await sleep(waitMs * (0.75 + Math.random() / 2));
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
}

/**
 * Reads one connection until it ends.
 *
 * @param {string} lastId
 * @param {(id: string, name: string, data: import('../../page-types.ts').LiveEvent) => void} tell
 */
async function readStream(lastId, tell) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const onHidden = whenHiddenFor(HIDDEN_MS, () => stopping.abort());
  let silent = setTimeout(() => stopping.abort(), SILENT_MS);
  try {
    const headers = { accept: 'text/event-stream', ...(lastId === '' ? {} : { 'last-event-id': lastId }) };
    const { body } = await request('v1/events/stream', { headers, signal });
    const parse = eventParser();
    const reader = (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      clearTimeout(silent);
      silent = setTimeout(() => stopping.abort(), SILENT_MS);
      for (const { id, event, data } of parse(read.value)) tell(id, event, JSON.parse(data));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearTimeout(silent);
    onHidden();
    stopping.abort();
  }
}

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function untilVisible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(undefined), { once: true });
  });
}

/**
 * @param {number} ms
 * @param {() => void} then
 * @returns {() => void} its remover
 */
function whenHiddenFor(ms, then) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const onChange = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(then, ms);
  };
  document.addEventListener('visibilitychange', onChange);
  onChange();
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onChange);
  };
}
