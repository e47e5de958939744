/** Rows beyond the visible ones, so that a quick scroll finds them there. */
const OVERSCAN = 8;

/**
 * A list of any length of which only the visible rows are in the document.
 *
 * @template T
 * @typedef {object} ListParts
 * @property {HTMLElement} scroller
 * @property {HTMLElement} body holds the rows
 * @property {() => number} rowHeight in pixels; may change with the width of the window
 * @property {() => HTMLElement} makeRow
 * @property {(row: HTMLElement, item: T) => void} fillRow
 * @property {(item: T) => string} keyOf
 */

/**
 * @template T
 * @param {ListParts<T>} parts
 */
export function createList({ scroller, body, rowHeight, makeRow, fillRow, keyOf }) {
  /** @type {readonly T[]} */
  let items = [];
  /** @type {Map<string, HTMLElement>} */
  let rows = new Map();
  /** @type {HTMLElement[]} rows that are out of use, to be filled again */
  const spare = [];
  let drawing = false;

  /** First and last row that must be there, and the one that holds the focus, wherever it has been scrolled to. */
  function wantedRange() {
    const height = rowHeight();
    const top = scroller.scrollTop - body.offsetTop;
    const first = Math.max(0, Math.floor(top / height) - OVERSCAN);
    const last = Math.min(items.length - 1, Math.ceil((top + scroller.clientHeight) / height) + OVERSCAN);
    return { height, first, last };
  }

  function draw() {
    drawing = false;
    const { height, first, last } = wantedRange();
    body.style.height = `${items.length * height}px`;
    /** @type {Map<string, HTMLElement>} */
    const next = new Map();
    /** @type {[HTMLElement, T, number][]} */
    const visible = [];
    for (let at = first; at <= last; at += 1) {
      const item = items[at];
      if (item === undefined) continue;
      const key = keyOf(item);
      const row = rows.get(key) ?? spare.pop() ?? makeRow();
      next.set(key, row);
      visible.push([row, item, at]);
    }
    for (const [key, row] of rows) {
      if (next.get(key) === row) continue;
      if (row.contains(document.activeElement) && keepFocused(key, row, next)) continue;
      row.remove();
      spare.push(row);
    }
    place(visible, height);
    rows = next;
  }

  /**
   * Removing the row that has the focus would throw a keyboard user out of the list.
   *
   * @param {string} key
   * @param {HTMLElement} row
   * @param {Map<string, HTMLElement>} next
   */
  function keepFocused(key, row, next) {
    const at = items.findIndex((item) => keyOf(item) === key);
    const item = items[at];
    if (item === undefined) return false;
    next.set(key, row);
    place([[row, item, at]], rowHeight());
    return true;
  }

  /**
   * In the order of the list, so that Tab and screen readers go by it too.
   *
   * @param {readonly [HTMLElement, T, number][]} visible
   * @param {number} height
   */
  function place(visible, height) {
    /** @type {Element | null} */
    let before = null;
    for (const [row, item, at] of visible.toReversed()) {
      const top = `translateY(${at * height}px)`;
      if (row.style.transform !== top) row.style.transform = top;
      row.setAttribute('aria-rowindex', String(at + 2));
      fillRow(row, item);
      if (row.parentNode !== body || (before !== null && row.nextElementSibling !== before))
        body.insertBefore(row, before);
      before = row;
    }
  }

  function redraw() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(draw);
  }

  scroller.addEventListener('scroll', redraw, { passive: true });
  new ResizeObserver(redraw).observe(scroller);

  return {
    /** @param {readonly T[]} shown */
    show(shown) {
      items = shown;
      redraw();
    },
    redraw,
    /**
     * Scrolls so that the item can be seen, and gives its row once it is drawn.
     *
     * @param {number} at
     */
    reveal(at) {
      const height = rowHeight();
      const top = at * height + body.offsetTop;
      if (top - body.offsetTop < scroller.scrollTop) scroller.scrollTop = top - body.offsetTop;
      else if (top + height > scroller.scrollTop + scroller.clientHeight)
        scroller.scrollTop = top + height - scroller.clientHeight;
      draw();
      const item = items[at];
      return item === undefined ? undefined : rows.get(keyOf(item));
    },
  };
}
