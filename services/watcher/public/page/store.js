import { rankOf, stateOf } from './states.js';
import { projectName } from './words.js';

/** @typedef {import('../../page-types.ts').Session} Session */
/** @typedef {{ text: string, group: string, state: string, project: string | undefined, server: string }} Filter */

/** @type {Filter} an undefined project means all: the root workspace's is the empty text */
export const NO_FILTER = { text: '', group: '', state: '', project: undefined, server: '' };

/** Every known session, and which of them are shown in which order. Pure: knows no document and asks nobody. */
export class Store {
  /** @type {Map<string, Session>} */
  #sessions = new Map();
  filter = NO_FILTER;

  /** @param {string} id */
  get(id) {
    return this.#sessions.get(id);
  }

  get size() {
    return this.#sessions.size;
  }

  /**
   * Answers may overtake each other: an older state of a session never replaces a newer one.
   *
   * @param {readonly Session[]} sessions
   */
  put(sessions) {
    for (const session of sessions) {
      const known = this.#sessions.get(session.sessionId);
      if (known === undefined || known.updatedMs <= session.updatedMs) this.#sessions.set(session.sessionId, session);
    }
  }

  /** @param {Iterable<string>} ids */
  remove(ids) {
    for (const id of ids) this.#sessions.delete(id);
  }

  /**
   * Forgets what is not among these: after everything was read anew.
   *
   * @param {ReadonlySet<string>} ids
   */
  keepOnly(ids) {
    for (const id of this.#sessions.keys()) if (!ids.has(id)) this.#sessions.delete(id);
  }

  /** Those that pass the filter: what needs attention first, then the newest change. */
  shown() {
    const { filter } = this;
    const text = filter.text.trim().toLowerCase();
    const passing = [...this.#sessions.values()].filter((session) => passes(session, filter, text));
    return passing.toSorted(
      (a, b) => rankOf(a.state) - rankOf(b.state) || b.updatedMs - a.updatedMs || (a.sessionId < b.sessionId ? -1 : 1),
    );
  }

  /** How many there are of each group, whatever the filter says. */
  groupCounts() {
    /** @type {Record<string, number>} */
    const counts = {};
    for (const { state } of this.#sessions.values()) {
      const { group } = stateOf(state);
      counts[group] = (counts[group] ?? 0) + 1;
    }
    return counts;
  }

  /** Every project, by name, with the servers that have it. */
  projects() {
    /** @type {Map<string, { server: string, project: string }>} */
    const found = new Map();
    for (const { server, project } of this.#sessions.values()) found.set(`${server}\n${project}`, { server, project });
    return [...found.values()].toSorted((a, b) => projectName(a.project).localeCompare(projectName(b.project)));
  }
}

/**
 * @param {Session} session
 * @param {Filter} filter
 * @param {string} text lower case
 */
function passes(session, filter, text) {
  if (filter.group !== '' && stateOf(session.state).group !== filter.group) return false;
  if (filter.state !== '' && session.state !== filter.state) return false;
  if (filter.project !== undefined && session.project !== filter.project) return false;
  if (filter.server !== '' && session.server !== filter.server) return false;
  return text === '' || searched(session).includes(text);
}

/** @param {Session} session */
function searched({ project, sessionId, notice }) {
  const tasks = notice === null ? '' : notice.tasks.map(({ id, summary }) => `${id} ${summary}`).join(' ');
  return `${projectName(project)} ${sessionId} ${tasks}`.toLowerCase();
}
