/**
 * The one place where the page's requests get what lets them in. The browser itself shows what it was given at the door
 * (a cookie, or the token as the password of HTTP Basic), to this origin only.
 *
 * @returns {{ headers: Record<string, string>, credentials: RequestCredentials }}
 */
export function credentials() {
  return { headers: {}, credentials: 'same-origin' };
}
