import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { test as base } from 'vitest';
import { createClientNames } from './client-names.ts';

/** What a test may leave for a moment: a socket's last packet, a process's exit. */
const SETTLE_WITHIN_MS = 2_000;
const LOOK_EVERY_MS = 10;
/** Handles that keep a process alive and that nobody else in a test process makes. */
const COUNTED = ['Timeout', 'Immediate', 'TCPServerWrap', 'FSEventWrap', 'StatWatcher'] as const;

export interface LeakWatch {
  /** Waits for what is about to end, then throws a sentence for each thing that was left. */
  assertNothingLeft(): Promise<void>;
  stop(): void;
}

/**
 * Watches this process from now on: connections opened, child processes started, and the count of timers, servers and
 * file watchers. What was there before is not looked at.
 */
export function watchForLeaks(): LeakWatch {
  const sockets = new Set<Socket>();
  const children = new Set<ChildProcess>();
  const before = countHandles();
  const onSocket = (message: unknown): void => {
    if (isRecord(message) && message['socket'] instanceof Socket) sockets.add(message['socket']);
  };
  const onChild = (message: unknown): void => {
    if (isRecord(message) && isChild(message['process'])) children.add(message['process']);
  };
  subscribe('net.client.socket', onSocket);
  subscribe('child_process', onChild);

  const left = (): string[] => [
    ...[...children].filter(alive).map((child) => `child process ${child.pid} (${child.spawnargs.join(' ')})`),
    ...[...sockets].filter((socket) => open(socket)).map(describeSocket),
    ...grown(before, countHandles()),
  ];
  return {
    async assertNothingLeft() {
      const deadline = performance.now() + SETTLE_WITHIN_MS;
      while (left().length > 0 && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
      const names = await createClientNames([...sockets].filter((socket) => open(socket)));
      const leaks = left();
      // So that the next test of the file starts clean.
      for (const child of children) if (alive(child)) child.kill('SIGKILL');
      if (leaks.length > 0) {
        throw new Error(`The test left behind: ${[...leaks, ...names].join('; ')}. Close it in the test.`);
      }
    },
    stop() {
      unsubscribe('net.client.socket', onSocket);
      unsubscribe('child_process', onChild);
    },
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isChild(value: unknown): value is ChildProcess {
  return isRecord(value) && 'spawnargs' in value && 'exitCode' in value;
}

function alive(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/** A kept-alive connection that no longer holds the process (unreferenced) is nobody's leak. */
function open(socket: Socket): boolean {
  return !socket.destroyed && !socket.connecting && socket.remotePort !== undefined && holdsProcess(socket);
}

function holdsProcess(socket: Socket): boolean {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (!isRecord(handle) || typeof handle['hasRef'] !== 'function') return false;
  return handle['hasRef']() === true;
}

function describeSocket(socket: Socket): string {
  return `connection from port ${socket.localPort} to port ${socket.remotePort}`;
}

function countHandles(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

function grown(before: Map<string, number>, now: Map<string, number>): string[] {
  return COUNTED.map((kind) => ({ kind, more: (now.get(kind) ?? 0) - (before.get(kind) ?? 0) }))
    .filter(({ more }) => more > 0)
    .map(({ kind, more }) => `${more} × ${kind}`);
}
