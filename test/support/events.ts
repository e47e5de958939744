import { once, type EventEmitter } from 'node:events';

const POLL_EVERY_MS = 10;

export interface EventuallyOptions {
  /** How long the condition may take; 5 s. */
  timeoutMs?: number;
  /** What is waited for, in the error's words. */
  what?: string;
}

/**
 * Waits until `check` returns something truthy, and returns it. A check that throws (an `expect` too) has not held yet;
 * its last error is what the deadline reports.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { timeoutMs = 5_000, what = 'the condition' }: EventuallyOptions = {},
): Promise<NonNullable<Awaited<T>>> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  do {
    try {
      const value = await check();
      if (value) return value;
      last = undefined;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS));
  } while (performance.now() < deadline);
  const why = last instanceof Error ? `: ${last.message}` : '';
  throw new Error(`Waited ${timeoutMs} ms for ${what}${why}`, { cause: last });
}

/** For an `expect` chain: waits until it stops throwing. */
export async function eventuallyPasses(
  assertion: () => void | Promise<void>,
  options: EventuallyOptions = {},
): Promise<void> {
  await eventually(async () => {
    await assertion();
    return true;
  }, options);
}

/** The next `name` event's arguments, within `timeoutMs`. Start it before what causes the event. */
export async function nextEvent(emitter: EventEmitter, name: string, timeoutMs = 5_000): Promise<unknown[]> {
  try {
    return await once(emitter, name, { signal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') {
      throw new Error(`Waited ${timeoutMs} ms for the event "${name}"`, { cause: error });
    }
    throw error;
  }
}

export interface Latch<T> {
  /** Settles with the value that `open` was given. */
  readonly opened: Promise<T>;
  readonly isOpen: boolean;
  /** Lets everybody through; later calls change nothing. */
  open(value: T): void;
}

/** A gate that a test opens once: holds a fake at the point where the race is to be. */
export function latch<T = void>(): Latch<T> {
  const gate: { release?: (value: T) => void; open: boolean } = { open: false };
  const opened = new Promise<T>((resolve) => {
    gate.release = resolve;
  });
  return {
    opened,
    get isOpen() {
      return gate.open;
    },
    open(value) {
      gate.open = true;
      gate.release?.(value);
    },
  };
}
