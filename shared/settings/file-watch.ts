import { watch } from 'chokidar';

/** Single files, watched by one chokidar instance; missing ones too, as long as their folder exists. */
export interface FileWatch {
  /**
   * `listener` is called after the file changed, appeared, was replaced or went. Adding the same again is free, and needed
   * after the file went: then it watches for its return, if the folder is still there.
   */
  add(path: string, listener: () => void): void;
  remove(path: string, listener: () => void): void;
  close(): Promise<void>;
}

/** A save comes as several events (truncate, write, rename): act once, when it is over. */
const SETTLE_MS = 30;
/** A second look: between a replacement by rename and the watch on the new file an event can be lost. */
const SECOND_LOOK_MS = 1_000;

/** `onError` hears of what the file system cannot watch (`ENOSPC`: no inotify watches left). */
export function createFileWatch(onError: (error: unknown) => void): FileWatch {
  const listeners = new Map<string, Set<() => void>>();
  const timers = new Map<string, NodeJS.Timeout[]>();
  /** Paths that chokidar knows of. It forgets a removed file when it watches others too. */
  const watched = new Set<string>();
  let closed = false;
  const watcher = watch([], { ignoreInitial: true });

  const stopTimers = (path: string): void => {
    for (const timer of timers.get(path) ?? []) clearTimeout(timer);
    timers.delete(path);
  };
  const tell = (path: string): void => {
    for (const listener of listeners.get(path) ?? []) listener();
  };
  const onEvent = (event: string, path: string): void => {
    if (!listeners.has(path)) return;
    stopTimers(path);
    if (event === 'unlink') watched.delete(path);
    timers.set(path, [setTimeout(tell, SETTLE_MS, path), setTimeout(tell, SECOND_LOOK_MS, path)]);
  };
  watcher.on('all', onEvent);
  watcher.on('error', onError);

  return {
    add(path, listener) {
      // chokidar would open itself again.
      if (closed) return;
      listeners.set(path, (listeners.get(path) ?? new Set()).add(listener));
      if (!watched.has(path)) watcher.add(path);
      watched.add(path);
    },
    remove(path, listener) {
      const known = listeners.get(path);
      known?.delete(listener);
      if (known === undefined || known.size > 0) return;
      listeners.delete(path);
      watched.delete(path);
      stopTimers(path);
      watcher.unwatch(path);
    },
    async close() {
      closed = true;
      listeners.clear();
      for (const path of timers.keys()) stopTimers(path);
      await watcher.close();
    },
  };
}
