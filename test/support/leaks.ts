import { createHook } from 'node:async_hooks';
import { Socket } from 'node:net';
import { test as base } from 'vitest';
import { redisClientNames } from './client-names.ts';

export { afterAll, afterEach, beforeAll, beforeEach, describe, expect, vi } from 'vitest';

/** What a test may leave for a moment: a socket's last packet, a process's exit. */
const SETTLE_WITHIN_MS = 2_000;
const LOOK_EVERY_MS = 10;

/** What keeps a process alive or goes on working after the test, and how it is called in the failure. */
const KINDS: Record<string, string> = {
  Timeout: 'timer',
  TCPWRAP: 'connection',
  TCPSERVERWRAP: 'server',
  PROCESSWRAP: 'child process',
  FSEVENTWRAP: 'file watcher',
  STATWATCHER: 'file watcher',
};
/** Frames that say nothing about who made a thing. */
const NOT_THE_MAKER = /node:|<anonymous>|support\/leaks\.ts/;
const THE_TEST_RUNNER = /node_modules\/(@vitest|vitest|tinypool)\//;

interface Made {
  kind: string;
  resource: object;
  /** Where it was made. */
  stack: string[];
}

export interface LeakWatch {
  /** Waits for what is about to end, then throws one sentence that names each thing that was left and its maker. */
  assertNothingLeft(withinMs?: number): Promise<void>;
  stop(): void;
}

/**
 * Watches everything that this process makes from now on: timers, connections, servers, file watchers, child processes.
 * What does not hold the process (unreferenced) and what the test runner makes is nobody's leak.
 */
export function watchForLeaks(): LeakWatch {
  const made = new Map<number, Made>();
  let waiting = false;
  const hook = createHook({
    init(id, type, _trigger, resource) {
      const kind = KINDS[type];
      if (kind !== undefined && !waiting) made.set(id, { kind, resource, stack: callers() });
    },
    destroy(id) {
      made.delete(id);
    },
  }).enable();
  const left = (): Made[] => [...made.values()].filter(holdsProcess).filter(notTheRunners);

  return {
    async assertNothingLeft(withinMs = SETTLE_WITHIN_MS) {
      const deadline = performance.now() + withinMs;
      while (left().length > 0 && performance.now() < deadline) {
        waiting = true; // our own timer
        const pause = new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
        waiting = false;
        await pause;
      }
      const leaks = left();
      if (leaks.length === 0) return;
      const names = await redisClientNames(leaks.map(({ resource }) => localPort(resource)));
      throw new Error(`The test left behind: ${[...leaks.map(describe), ...names].join('; ')}. Close it in the test.`);
    },
    stop: () => void hook.disable(),
  };
}

/** A test that fails where it leaves a connection, timer, server, file watcher or child process behind. */
export const test = base.extend<{ leaks: LeakWatch }>({
  leaks: [
    async ({ task: _task }, use) => {
      const watch = watchForLeaks();
      try {
        await use(watch);
        await watch.assertNothingLeft();
      } finally {
        watch.stop();
      }
    },
    { auto: true },
  ],
});

function callers(): string[] {
  const holder: { stack?: string } = {};
  const usual = Error.stackTraceLimit;
  Error.stackTraceLimit = 25;
  Error.captureStackTrace(holder, callers);
  Error.stackTraceLimit = usual;
  return (holder.stack ?? '').split('\n').slice(1);
}

function notTheRunners({ stack }: Made): boolean {
  const maker = stack.find((frame) => !NOT_THE_MAKER.test(frame));
  return maker === undefined || !THE_TEST_RUNNER.test(maker);
}

function holdsProcess({ resource }: Made): boolean {
  return 'hasRef' in resource && typeof resource.hasRef === 'function' && resource.hasRef() === true;
}

function describe({ kind, resource, stack }: Made): string {
  const maker = stack.find((frame) => !NOT_THE_MAKER.test(frame))?.trim() ?? 'at an unknown place';
  const detail = 'pid' in resource ? ` ${String(resource.pid)}` : '';
  return `${kind}${detail} made ${maker}`;
}

/** Port on this side, of the handle behind a connection. */
function localPort(resource: object): number | undefined {
  const owner = Object.getOwnPropertySymbols(resource)
    .map((symbol): unknown => Reflect.get(resource, symbol))
    .find((value) => value instanceof Socket);
  return owner?.localPort;
}
