import { part } from './dom.js';

/** A screen reader that is told of fifty hangs one by one tells of none. */
const AT_MOST_EVERY_MS = 1_500;

/** @type {string[]} */
const waiting = [];
/** @type {ReturnType<typeof setTimeout> | undefined} */
let speaking;

/**
 * Says something to whoever cannot see it happen; bursts are summed up.
 *
 * @param {string} sentence
 */
export function announce(sentence) {
  waiting.push(sentence);
  speaking ??= setTimeout(speak, 50);
}

function speak() {
  const [first, ...others] = waiting.splice(0);
  const region = part('announcer', HTMLElement);
  region.textContent = others.length === 0 ? (first ?? '') : `${first} And ${others.length} more changes.`;
  speaking = setTimeout(() => {
    speaking = undefined;
    if (waiting.length > 0) speak();
  }, AT_MOST_EVERY_MS);
}
