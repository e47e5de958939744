import { existsSync } from 'node:fs';
import { watch, type FSWatcher } from 'chokidar';

/** Single files, watched through chokidar; missing ones too, as long as their folder exists. */
export interface FileWatch {
  /**
   * `listener` is called once the watch stands and after the file changed, appeared, was replaced or went. Adding the same
   * again changes nothing.
   */
  add(path: string, listener: () => void): void;
  remove(path: string, listener: () => void): void;
  close(): Promise<void>;
}

/** A save comes as several events (truncate, write, rename): act once, when it is over. */
const SETTLE_MS = 30;
/**
 * A second look, for what was swallowed while the first event was handled, and after the watch began: chokidar does not see
 * a missing file that appears between its own look at the file and its watch on the folder.
 */
const SECOND_LOOK_MS = 1_000;

interface Watched {
  path: string;
  watcher: FSWatcher;
  /** chokidar has said that it knows the file. */
  known: boolean;
  listeners: Set<() => void>;
  timers: NodeJS.Timeout[];
}

/**
 * One chokidar instance per file, opened anew after each change: one that lives on loses sight of a file that is replaced by
 * rename for the second time in a row (measured with chokidar 5.0.0 on Linux: every other replacement unseen).
 * `onError` hears of what the file system cannot watch (`ENOSPC`: no inotify watches left).
 */
export function createFileWatch(onError: (error: unknown) => void): FileWatch {
  const files = new Map<string, Watched>();
  const closing = new Set<Promise<void>>();
  let closed = false;

  const open = (path: string): FSWatcher => {
    // The first `add` says that the watch stands: what changed before is looked at then.
    const watcher = watch(path, { ignoreInitial: false });
    watcher.on('all', (event, at) => {
      const file = files.get(path);
      if (at === path && file?.watcher === watcher) onEvent(file, event);
    });
    watcher.on('error', onError);
    return watcher;
  };
  const shut = (watcher: FSWatcher): void => {
    const end = watcher.close().finally(() => closing.delete(end));
    closing.add(end);
  };
  const reopen = (file: Watched): void => {
    shut(file.watcher);
    file.known = false;
    file.watcher = open(file.path);
  };
  const lookAgainLater = (file: Watched): NodeJS.Timeout =>
    setTimeout(() => {
      if (!file.known && existsSync(file.path)) {
        reopen(file);
        file.timers = [lookAgainLater(file)];
      }
      tell(file);
    }, SECOND_LOOK_MS);
  const onEvent = (file: Watched, event: string): void => {
    file.known = true;
    file.timers.forEach(clearTimeout);
    const settled = setTimeout(() => {
      if (event !== 'add') reopen(file);
      tell(file);
    }, SETTLE_MS);
    file.timers = [settled, lookAgainLater(file)];
  };
  const forget = (file: Watched): void => {
    file.timers.forEach(clearTimeout);
    files.delete(file.path);
    shut(file.watcher);
  };

  return {
    add(path, listener) {
      if (closed) return;
      const known = files.get(path);
      if (known !== undefined) return void known.listeners.add(listener);
      const file: Watched = { path, watcher: open(path), known: false, listeners: new Set([listener]), timers: [] };
      file.timers.push(lookAgainLater(file));
      files.set(path, file);
    },
    remove(path, listener) {
      const file = files.get(path);
      file?.listeners.delete(listener);
      if (file?.listeners.size === 0) forget(file);
    },
    async close() {
      closed = true;
      for (const file of files.values()) forget(file);
      await Promise.all(closing);
    },
  };
}

function tell(file: Watched): void {
  for (const listener of file.listeners) listener();
}
