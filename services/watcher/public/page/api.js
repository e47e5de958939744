import { credentials } from './credentials.js';

/** An answer that is no success, in words that can be shown. */
export class ApiError extends Error {
  /**
   * @param {number} status 0: no answer at all
   * @param {{ code?: string, detail?: string, field?: string }} problem
   */
  constructor(status, problem) {
    super(problem.detail ?? `The watcher answered ${status}.`);
    this.name = 'ApiError';
    this.status = status;
    this.code = problem.code ?? '';
    this.field = problem.field ?? '';
  }
}

/**
 * A call of the watcher's API; the path is relative to the page, so that it works behind a path prefix too.
 *
 * @param {string} path
 * @param {{ method?: string, body?: unknown, headers?: Record<string, string>, signal?: AbortSignal }} [options]
 * @returns {Promise<Response>} a successful one; throws {@link ApiError} otherwise
 */
export async function request(path, { method = 'GET', body, headers = {}, signal } = {}) {
  const shown = credentials();
  const response = await fetch(new URL(path, document.baseURI), {
    method,
    credentials: shown.credentials,
    cache: 'no-store',
    headers: {
      ...shown.headers,
      ...headers,
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
    },
    ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((/** @type {unknown} */ error) => {
    throw signal?.aborted === true ? error : new ApiError(0, { detail: 'The watcher cannot be reached.' });
  });
  if (response.ok) return response;
  throw new ApiError(response.status, await problemOf(response));
}

/**
 * The answer's JSON; of a 204 there is none.
 *
 * @template T
 * @param {string} path
 * @param {Parameters<typeof request>[1]} [options]
 * @returns {Promise<T>}
 */
export async function call(path, options) {
  const response = await request(path, options);
  return JSON.parse((await response.text()) || 'null');
}

/**
 * @param {Response} response
 * @returns {Promise<{ code?: string, detail?: string, field?: string }>}
 */
async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return { detail: `The watcher answered ${response.status} ${response.statusText}.` };
  }
}
