import { ApiError, call, request } from './api.js';
import { el, part } from './dom.js';

/** Log out, where somebody has logged in; nobody has where the watcher asks for nothing. */
export async function offerLogOut() {
  const button = part('log-out', HTMLButtonElement);
  if (button.hidden) button.addEventListener('click', logOut, { once: true });
  /** @type {{ loginExpiresMs: number | null }} */
  const { loginExpiresMs } = await call('v1/access');
  button.hidden = loginExpiresMs === null;
}

/** Whatever comes of it: the login page says how it stands. */
function logOut() {
  void request('logout', { method: 'POST' }).finally(() => location.assign(new URL('login', document.baseURI)));
}

/**
 * Whether a failure means that the login has run out.
 *
 * @param {unknown} error
 */
export const isLoggedOut = (error) => error instanceof ApiError && error.status === 401;

/** Leads back to the login, and from there to the chat that is open. */
export const logInLink = () => el('a', { href: new URL('login', document.baseURI).pathname }, 'Log in again');
