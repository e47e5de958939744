/**
 * Makes an element. Children that are text become text, never markup: whatever a transcript holds stays words.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | boolean | EventListener | undefined>} [attributes] `true` sets an empty attribute, `false`
 *   and `undefined` none; a function listens to the event of that name
 * @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name, value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/**
 * The element of the page with that id, of the wanted class.
 *
 * @template {Element} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export function part(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new TypeError(`The page has no ${type.name} called ${id}.`);
  return found;
}

/**
 * Changes a text only where it differs: an unchanged node costs no layout.
 *
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
