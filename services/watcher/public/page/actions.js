import { announce } from './announce.js';
import { ApiError, call } from './api.js';
import { projectName, shortId } from './words.js';

/** How long an outcome stands in a row before the state speaks for itself again. */
const SHOWN_MS = 15_000;

/** @typedef {{ busy: boolean, ok: boolean, text: string }} Outcome */

/**
 * Continue by hand, and what became of it, in words.
 *
 * @param {{ changed: (id: string) => void }} parts
 */
export function createActions({ changed }) {
  /** @type {Map<string, Outcome>} */
  const outcomes = new Map();

  /**
   * @param {string} id
   * @param {Outcome} outcome
   */
  function set(id, outcome) {
    outcomes.set(id, outcome);
    changed(id);
    if (outcome.busy) return;
    setTimeout(() => {
      if (outcomes.get(id) !== outcome) return;
      outcomes.delete(id);
      changed(id);
    }, SHOWN_MS);
  }

  return {
    /** @param {string} id */
    outcome: (id) => outcomes.get(id),
    /** @param {import('../../page-types.ts').Session | import('../../page-types.ts').Details} session */
    async continueChat({ sessionId, project }) {
      if (outcomes.get(sessionId)?.busy === true) return;
      set(sessionId, { busy: true, ok: true, text: 'Continuing: a worker looks at the chat…' });
      const outcome = await continued(sessionId);
      set(sessionId, outcome);
      announce(`Chat ${shortId(sessionId)} of ${projectName(project)}: ${outcome.text}`);
    },
  };
}

/**
 * @param {string} id
 * @returns {Promise<Outcome>}
 */
async function continued(id) {
  try {
    /** @type {import('../../page-types.ts').Continued} */
    const { outcome } = await call(`v1/sessions/${id}/continue`, { method: 'POST' });
    if (outcome === 'nudged')
      return { busy: false, ok: true, text: 'Continued: the chat took the message and starts a turn.' };
    const text = 'Sent, but not confirmed: it may have arrived. Look at the chat before you try again.';
    return { busy: false, ok: false, text };
  } catch (error) {
    const why = error instanceof ApiError ? error.message : String(error);
    return { busy: false, ok: false, text: `Not continued: ${why}` };
  }
}
