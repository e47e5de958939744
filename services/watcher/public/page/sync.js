import { call } from './api.js';

/** Events come in bursts; what they name is asked for together. */
const GATHER_MS = 120;
/** As many as one call takes. */
const BATCH = 100;
/** From so many changed chats on, it is cheaper to read everything. */
const RELOAD_FROM = 500;
const PAGE = 500;
const AGAIN_MS = 2_000;

/**
 * Keeps the store like Redis: reads everything once, then what events name.
 *
 * @param {{ store: import('./store.js').Store, changed: () => void, loading: (busy: boolean) => void }} parts
 */
export function createSync({ store, changed, loading }) {
  /** @type {Set<string>} */
  const dirty = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let gathering;
  /** @type {Promise<void> | undefined} */
  let reloading;
  let reloadAgain = false;

  async function readAll() {
    const seen = new Set();
    /** @type {string | null} */
    let next = null;
    do {
      const cursor = next === null ? '' : `&cursor=${next}`;
      /** @type {import('../../page-types.ts').SessionPage} */
      const page = await call(`v1/sessions?limit=${PAGE}${cursor}`);
      for (const { sessionId } of page.sessions) seen.add(sessionId);
      store.put(page.sessions);
      changed();
      next = page.next;
    } while (next !== null);
    store.keepOnly(seen);
    changed();
  }

  /** Reads everything anew; a call during one makes another follow it. */
  function reload() {
    if (reloading !== undefined) {
      reloadAgain = true;
      return reloading;
    }
    loading(true);
    reloading = readAll()
      .catch(() => {
        setTimeout(() => void reload(), AGAIN_MS);
      })
      .finally(() => {
        reloading = undefined;
        loading(false);
        if (!reloadAgain) return;
        reloadAgain = false;
        void reload();
      });
    return reloading;
  }

  /** @param {string} id */
  function touch(id) {
    if (id === '') return;
    dirty.add(id);
    gathering ??= setTimeout(() => void fetchDirty(), GATHER_MS);
  }

  async function fetchDirty() {
    gathering = undefined;
    const ids = [...dirty];
    dirty.clear();
    if (ids.length >= RELOAD_FROM) return reload();
    for (let from = 0; from < ids.length; from += BATCH) await fetchBatch(ids.slice(from, from + BATCH));
  }

  /** @param {readonly string[]} ids */
  async function fetchBatch(ids) {
    try {
      /** @type {import('../../page-types.ts').SessionPage} */
      const { sessions } = await call(`v1/sessions?ids=${ids.join(',')}`);
      const found = new Set(sessions.map(({ sessionId }) => sessionId));
      store.put(sessions);
      store.remove(ids.filter((id) => !found.has(id)));
      changed();
    } catch {
      for (const id of ids) dirty.add(id);
      gathering ??= setTimeout(() => void fetchDirty(), AGAIN_MS);
    }
  }

  return { reload, touch };
}
