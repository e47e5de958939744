/** A queue that is read as an async iterable and does not end before it is closed: what keeps a session alive. */
export class Channel<T> implements AsyncIterable<T> {
  readonly #values: T[] = [];
  #wake: (() => void) | undefined;
  #closed = false;

  push(value: T): void {
    this.#values.push(value);
    this.#wake?.();
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      for (let value = this.#values.shift(); value !== undefined; value = this.#values.shift()) yield value;
      if (this.#closed) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
