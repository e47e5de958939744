import { watch as chokidarWatch, type FSWatcher } from 'chokidar';
import type { Counter, Log } from './ports.ts';

/**
 * File events of single transcripts: an accelerator, never a condition (network mounts send none, inotify runs out).
 *
 * One watcher per file, never a directory: with directories given, cost per append grows with the directory (5.0 ms against
 * 0.49 ms measured). One per file also because a shared one keeps every path that was ever unwatched in a list that it
 * searches on each call, and starts to watch the whole directory once its only file is removed.
 */
export interface FileWatch {
  /**
   * Begins to watch a file. `onStanding` is called once the watch stands: what is in the file by then is to be looked at;
   * `onChange` after each change, its removal and replacement too; `onFailed` when it cannot be watched here, the watch then
   * being over. `false`: full or failing, no watch.
   *
   * A file that was removed or replaced is to be unwatched and watched anew by the caller: chokidar does so by itself, but
   * not where it happens within 5 ms of another change, and is silent from then on.
   */
  watch(path: string, on: FileEvents): boolean;
  unwatch(path: string): void;
  watching(path: string): boolean;
  size(): number;
  close(): Promise<void>;
}

export interface FileEvents {
  onStanding(): void;
  onChange(): void;
  onFailed(): void;
}

export interface FileWatchOptions {
  log: Log;
  count: Counter;
  /** More files than this are left to the backstop. */
  maxFiles: number;
  /** Makes the watcher of one file; a test puts a failing one here. */
  open?: (path: string) => FSWatcher;
}

/** After an error like ENOSPC no new watch is tried for so long: each try would fail the same way. */
const FAILURE_PAUSE_MS = 30_000;

export function createFileWatch({ log, count, maxFiles, open = openWatcher }: FileWatchOptions): FileWatch {
  const watchers = new Map<string, FSWatcher>();
  const reported = new Set<string>();
  const closings = new Set<Promise<void>>();
  let pausedUntilMs = 0;

  function failed(path: string, error: unknown): void {
    const code = errorCode(error);
    count('file_watch_errors_total', { code });
    if (!reported.has(code)) {
      reported.add(code);
      log.warn({ code, path, watched: watchers.size }, 'File events are not available here: the sweep looks instead.');
    }
    if (code === 'ENOSPC' || code === 'EMFILE') pausedUntilMs = performance.now() + FAILURE_PAUSE_MS;
    unwatch(path);
  }

  function unwatch(path: string): void {
    const watcher = watchers.get(path);
    if (watcher === undefined) return;
    watchers.delete(path);
    const closing = watcher.close().finally(() => closings.delete(closing));
    closings.add(closing);
  }

  function watch(path: string, on: FileEvents): boolean {
    if (watchers.has(path)) return true;
    if (watchers.size >= maxFiles || performance.now() < pausedUntilMs) return false;
    const watcher = open(path);
    watchers.set(path, watcher);
    const current = (act: () => void): void => {
      if (watchers.get(path) === watcher) act();
    };
    watcher.on('add', () => current(() => on.onStanding()));
    // The system's own events: of the `change` that chokidar makes of them it drops each that follows another within 50 ms, and
    // a kill often follows another entry within milliseconds.
    watcher.on('raw', () => current(() => on.onChange()));
    watcher.on('error', (error) =>
      current(() => {
        failed(path, error);
        on.onFailed();
      }),
    );
    return true;
  }

  return {
    watch,
    unwatch,
    watching: (path) => watchers.has(path),
    size: () => watchers.size,
    async close() {
      for (const path of watchers.keys()) unwatch(path);
      await Promise.all(closings);
    },
  };
}

function openWatcher(path: string): FSWatcher {
  return chokidarWatch(path, {
    // `add` is wanted: it says that the watch stands.
    ignoreInitial: false,
    // The transcript is only ever appended to or replaced: waiting for writes to settle would never end.
    awaitWriteFinish: false,
    // A replacement by rename is told by its inode; holding `unlink` back would only make it late.
    atomic: false,
    // Without this chokidar watches the whole directory once the file is removed.
    ignored: (_path, stats) => stats?.isDirectory() === true,
  });
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}
