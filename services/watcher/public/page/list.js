/** Rows beyond the visible ones, so that a quick scroll finds them there. */
const OVERSCAN = 8;
const ORDER_AFTER_MS = 120;

/** @param {Element} row */
const indexOf = (row) => Number(row.getAttribute('aria-rowindex'));

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
  const rows = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let ordering;
  let drawing = false;

  /** First and last row that must be there. */
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
    const wanted = items.slice(first, last + 1).map((item, at) => ({ item, at: first + at, key: keyOf(item) }));
    const free = released(new Set(wanted.map(({ key }) => key)));
    for (const { item, at, key } of wanted) {
      const row = rows.get(key) ?? free.pop() ?? body.appendChild(makeRow());
      rows.set(key, row);
      place(row, item, at, height);
    }
    for (const row of free) row.remove();
    clearTimeout(ordering);
    ordering = setTimeout(order, ORDER_AFTER_MS);
  }

  /**
   * Takes the rows that are not wanted any more out of use. The one with the focus stays, wherever it is: removing it would throw
   * a keyboard user out of the list.
   *
   * @param {ReadonlySet<string>} wanted
   */
  function released(wanted) {
    const free = [];
    for (const [key, row] of rows) {
      if (wanted.has(key) || (row.contains(document.activeElement) && keepFocused(key, row))) continue;
      rows.delete(key);
      free.push(row);
    }
    return free;
  }

  /**
   * @param {string} key
   * @param {HTMLElement} row
   */
  function keepFocused(key, row) {
    const at = items.findIndex((item) => keyOf(item) === key);
    const item = items[at];
    if (item !== undefined) place(row, item, at, rowHeight());
    return item !== undefined;
  }

  /**
   * @param {HTMLElement} row
   * @param {T} item
   * @param {number} at
   * @param {number} height
   */
  function place(row, item, at, height) {
    const index = String(at + 2);
    if (row.getAttribute('aria-rowindex') !== index || row.dataset['height'] !== String(height)) {
      row.setAttribute('aria-rowindex', index);
      row.dataset['height'] = String(height);
      row.style.transform = `translateY(${at * height}px)`;
    }
    fillRow(row, item);
  }

  /**
   * Brings the rows into the list's order, so that Tab and screen readers go by it; not while one scrolls, since it costs layout.
   * The row with the focus is not moved but moved around: it would lose the focus.
   */
  function order() {
    const sorted = [...body.children].toSorted((a, b) => indexOf(a) - indexOf(b));
    if (sorted.every((row, at) => row === body.children[at])) return;
    const held = sorted.findIndex((row) => row.contains(document.activeElement));
    for (const row of sorted.slice(0, Math.max(held, 0))) sorted[held]?.before(row);
    body.append(...sorted.slice(held + 1));
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
