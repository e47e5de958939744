import { EventEmitter } from 'node:events';
import { appendFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLogger } from '#shared/platform/logger.js';
import { createFileWatch, type SystemWatcher } from '../../../services/watcher/file-watch.ts';
import type { Counter, Log } from '../../../services/watcher/ports.ts';
import { eventuallyPasses } from '../../support/events.ts';
import { describe, expect, test, vi } from './harness.ts';

const listeners = () => ({
  onChange: vi.fn<() => void>(),
  onFailed: vi.fn<() => void>(),
});
const create = (options: Partial<Parameters<typeof createFileWatch>[0]> = {}) =>
  createFileWatch({ log: silentLogger(), count: () => undefined, maxFiles: 10, ...options });

describe('createFileWatch', () => {
  test('tells of each change, of the replacement and of the removal', async ({ folders: { root: folder } }) => {
    const files = create();
    const path = join(folder, 'a.jsonl');
    await writeFile(path, '1\n');
    await writeFile(join(folder, 'b'), '2\n');
    const on = listeners();
    expect(files.watch(path, on)).toBe(true);

    await appendFile(path, '2\n');
    await eventuallyPasses(() => expect(on.onChange).toHaveBeenCalled());

    on.onChange.mockClear();
    await rename(join(folder, 'b'), path);
    await eventuallyPasses(() => expect(on.onChange).toHaveBeenCalled());

    files.unwatch(path);
    files.watch(path, on);
    on.onChange.mockClear();
    await rm(path);
    await eventuallyPasses(() => expect(on.onChange).toHaveBeenCalled());
    files.close();
  });

  test('a file that is not there is not watched, and nothing is said of it', async ({ folders: { root: folder } }) => {
    const count = vi.fn<Counter>();
    const files = create({ count });
    expect(files.watch(join(folder, 'none.jsonl'), listeners())).toBe(false);
    expect(files.watching(join(folder, 'none.jsonl'))).toBe(false);
    expect(count).not.toHaveBeenCalled();
    files.close();
  });

  test('R47: never watches a directory, also after its only watched file is gone', async ({
    folders: { root: folder },
  }) => {
    const files = create();
    const path = join(folder, 'only.jsonl');
    await writeFile(path, '1\n');
    const on = listeners();
    files.watch(path, on);
    await rm(path);
    await eventuallyPasses(() => expect(on.onChange).toHaveBeenCalled());
    await writeFile(join(folder, 'other.jsonl'), '1\n');
    const other = listeners();
    files.watch(join(folder, 'other.jsonl'), other);
    const changeOther = async () => {
      other.onChange.mockClear();
      await appendFile(join(folder, 'other.jsonl'), '2\n');
      await eventuallyPasses(() => expect(other.onChange).toHaveBeenCalled());
    };
    // Events come in order: after this no more of the removal are under way.
    await changeOther();
    on.onChange.mockClear();
    await changeOther();
    await changeOther();
    expect(on.onChange).not.toHaveBeenCalled();
    files.close();
  });

  test('takes no more files than it may', async ({ folders: { root: folder } }) => {
    const files = create({ maxFiles: 1 });
    for (const name of ['a', 'b']) await writeFile(join(folder, name), '');
    expect(files.watch(join(folder, 'a'), listeners())).toBe(true);
    expect(files.watch(join(folder, 'b'), listeners())).toBe(false);
    files.unwatch(join(folder, 'a'));
    expect(files.watch(join(folder, 'b'), listeners())).toBe(true);
    files.close();
  });

  test.for([
    ['ENOSPC', false],
    ['EMFILE', false],
    ['EACCES', true],
  ] as const)('after %s further watches are tried: %s; warned of once, counted each time', async ([code, tried]) => {
    const warn = vi.fn<Log['warn']>();
    const count = vi.fn<Counter>();
    const broken: EventEmitter[] = [];
    const open = () => {
      const watcher = Object.assign(new EventEmitter(), { close: () => undefined });
      broken.push(watcher);
      return watcher;
    };
    const files = create({ log: Object.assign(silentLogger(), { warn }), count, open });
    const on = listeners();
    files.watch('/a', on);
    files.watch('/b', listeners());
    for (const watcher of broken) watcher.emit('error', Object.assign(new Error('no'), { code }));

    expect(on.onFailed).toHaveBeenCalledOnce();
    expect(files.size()).toBe(0);
    expect(files.watch('/c', listeners())).toBe(tried);
    expect(warn).toHaveBeenCalledOnce();
    expect(count.mock.calls).toEqual([
      ['file_watch_errors_total', { code }],
      ['file_watch_errors_total', { code }],
    ]);
    files.close();
  });

  test('a system that refuses at once is the same as one that refuses later', () => {
    const count = vi.fn<Counter>();
    const open = (): SystemWatcher => {
      throw Object.assign(new Error('no'), { code: 'ENOSPC' });
    };
    const files = create({ count, open });
    const on = listeners();
    expect(files.watch('/a', on)).toBe(false);
    expect(files.watch('/b', on)).toBe(false);
    expect(count.mock.calls).toEqual([['file_watch_errors_total', { code: 'ENOSPC' }]]);
    expect(on.onFailed).not.toHaveBeenCalled();
    files.close();
  });
});
