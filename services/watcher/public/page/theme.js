/** Light, dark, or as the system has it. */
const ORDER = /** @type {const} */ (['system', 'light', 'dark']);
const KEY = 'chat-recovery-theme';

/** @param {HTMLButtonElement} button */
export function setUpTheme(button) {
  apply(button, remembered());
  button.addEventListener('click', () => {
    const next = ORDER[(ORDER.indexOf(remembered()) + 1) % ORDER.length] ?? 'system';
    remember(next);
    apply(button, next);
  });
}

/**
 * @param {HTMLButtonElement} button
 * @param {(typeof ORDER)[number]} theme
 */
function apply(button, theme) {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  button.textContent = `Theme: ${theme}`;
}

/** @returns {(typeof ORDER)[number]} */
function remembered() {
  try {
    return ORDER.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';
  } catch {
    return 'system'; // storage is switched off
  }
}

/** @param {string} theme */
function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    document.documentElement.dataset['themeLost'] = ''; // it holds until the page is loaded anew
  }
}
