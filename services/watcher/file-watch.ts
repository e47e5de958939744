import { watch as watchFile } from 'node:fs';
import type { Counter, Log } from './ports.ts';

/**
 * File events of single transcripts: an accelerator, never a condition (network mounts send none, inotify runs out).
 *
 * One system watch for each file, never a directory, whose every file would be heard of. The system's own events are
 * used as they come, without chokidar: nothing of what that adds was used (of its `change` it drops each that follows another
 * within 50 ms, and a kill often follows another entry within milliseconds), and it cost most of what an append costs here.
 */
export interface FileWatch {
  /**
   * Watches a file that exists. What is in it when this returns is to be looked at by the caller; every change after that calls
   * `onChange`, its removal and replacement too. `false`: no watch (no such file, full, or the system has no more).
   *
   * The watch is the file's, not the path's: with a removal it is over (`watching` is false when `onChange` is called), and what
   * replaced the file while somebody held it open is to be watched anew.
   */
  watch(path: string, on: FileEvents): boolean;
  unwatch(path: string): void;
  watching(path: string): boolean;
  size(): number;
  close(): void;
}

export interface FileEvents {
  onChange(): void;
  /** The system ended the watch with an error. */
  onFailed(): void;
}

/** What is used of the system's watcher of one file. */
export interface SystemWatcher {
  on(event: 'error', listener: (error: Error) => void): unknown;
  close(): void;
}

export interface FileWatchOptions {
  log: Log;
  count: Counter;
  /** More files than this are left to the backstop. */
  maxFiles: number;
  /** Makes the watcher of one file, or throws; a test puts another one here. */
  open?: (path: string, onEvent: (event: string) => void) => SystemWatcher;
}

/** After an error like ENOSPC no new watch is tried for so long: each try would fail the same way. */
const FAILURE_PAUSE_MS = 30_000;
/** Codes that say nothing about file events: the file is just not there. */
const NO_FILE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR']);

export function createFileWatch({ log, count, maxFiles, open = watchFile }: FileWatchOptions): FileWatch {
  const watchers = new Map<string, SystemWatcher>();
  const reported = new Set<string>();
  let pausedUntilMs = 0;

  function failed(path: string, error: unknown): void {
    const code = errorCode(error);
    if (NO_FILE.has(code)) return;
    count('file_watch_errors_total', { code });
    if (!reported.has(code)) {
      reported.add(code);
      log.warn({ code, path, watched: watchers.size }, 'File events are not available here: the sweep looks instead.');
    }
    if (code === 'ENOSPC' || code === 'EMFILE') pausedUntilMs = performance.now() + FAILURE_PAUSE_MS;
  }

  function unwatch(path: string): void {
    const watcher = watchers.get(path);
    watchers.delete(path);
    watcher?.close();
  }

  function begin(path: string, on: FileEvents): SystemWatcher {
    const watcher = open(path, (event) => {
      if (watchers.get(path) !== watcher) return;
      // The file was moved or removed, and the watch went with it: another may be at its path by now.
      if (event === 'rename') unwatch(path);
      on.onChange();
    });
    watcher.on('error', (error) => {
      if (watchers.get(path) !== watcher) return;
      failed(path, error);
      unwatch(path);
      on.onFailed();
    });
    return watcher;
  }

  return {
    watch(path, on) {
      if (watchers.has(path)) return true;
      if (watchers.size >= maxFiles || performance.now() < pausedUntilMs) return false;
      try {
        watchers.set(path, begin(path, on));
        return true;
      } catch (error) {
        failed(path, error);
        return false;
      }
    },
    unwatch,
    watching: (path) => watchers.has(path),
    size: () => watchers.size,
    close() {
      for (const path of watchers.keys()) unwatch(path);
    },
  };
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}
