import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parse } from 'yaml';
import { replaceFile } from '#shared/settings/atomic-file.js';
import { describe, expect, test } from '../../support/leaks.ts';
import { startProcess } from '../../support/processes.ts';
import { settingsBench, type SettingsBench } from '../../support/settings.ts';

const COMMENTED = `# who owns this: the payments team
name:    Payments   # as shown
recovery:
  # since the incident in May
  autoReDrive: true     # keep
  debounceMs: 5000
tasks: [ build,   test ]
`;

async function onBench(text: string | undefined, run: (bench: SettingsBench, file: string) => Promise<void>) {
  const bench = settingsBench(text === undefined ? {} : { projects: { a: text } });
  try {
    await run(bench, bench.projectFile('a'));
  } finally {
    await bench.close();
  }
}
const read = (file: string): string => readFileSync(file, 'utf8');
const code = (status: number, name: string, more: object = {}) => ({ fields: { status, code: name, ...more } });

describe('changing a project’s settings', () => {
  test('touches nothing else in the file, keeps its mode, and leaves no other file', async () => {
    await onBench(COMMENTED, async ({ service, server, changes }, file) => {
      chmodSync(file, 0o666); // More than the usual umask leaves to a new file.
      const effective = await service.patch(server, 'a', { autoReDrive: false, maxRetries: 3 });
      expect(effective.values).toMatchObject({ autoReDrive: false, maxRetries: 3, debounceMs: 5_000 });
      expect(effective.sources).toMatchObject({
        autoReDrive: 'project',
        maxRetries: 'project',
        limboTimeoutMs: 'default',
      });
      expect(read(file)).toBe(
        COMMENTED.replace('autoReDrive: true ', 'autoReDrive: false ').replace('5000\n', '5000\n  maxRetries: 3\n'),
      );
      expect(statSync(file).mode & 0o777).toBe(0o666);
      expect(readdirSync(join(file, '..'))).toEqual(['project.yaml']);
      expect(changes).toEqual([{ serverId: 'default', slug: 'a' }]);
    });
  });

  test('null gives a field back to the level below, clearing gives all back', async () => {
    await onBench(COMMENTED, async ({ service, server }, file) => {
      expect((await service.patch(server, 'a', { autoReDrive: null })).sources.autoReDrive).toBe('default');
      expect(await service.override(server, 'a')).toEqual({ exists: true, override: { debounceMs: 5_000 } });
      expect(new Set(Object.values((await service.clear(server, 'a')).sources))).toEqual(new Set(['default']));
      expect(read(file)).toBe(COMMENTED.replace(/recovery:[^]*5000\n/, ''));
      // Once more: nothing to clear is no fault.
      await service.clear(server, 'a');
    });
  });

  test('a project without a file gets one; the root workspace is a project too', async () => {
    await onBench(undefined, async ({ service, server, projectsDir, projectFile }) => {
      mkdirSync(join(projectsDir, 'bare'));
      await service.patch(server, 'bare', { surfaceKilledTask: false });
      await service.patch(server, '', { limboTimeoutMs: 60_000 });
      expect(read(projectFile('bare'))).toBe('recovery:\n  surfaceKilledTask: false\n');
      expect(read(projectFile(''))).toBe('recovery:\n  limboTimeoutMs: 60000\n');
      await service.clear(server, 'bare');
      expect(read(projectFile('bare'))).toBe('{}\n');
    });
  });

  test('fifty at once: none is lost', async () => {
    await onBench(COMMENTED, async ({ service, server }, file) => {
      const fields = ['maxRetries', 'limboTimeoutMs', 'debounceMs'];
      await Promise.all(
        Array.from({ length: 48 }, (_, index) => service.patch(server, 'a', { [fields[index % 3] ?? '']: index })),
      );
      await Promise.all([
        service.patch(server, 'a', { autoReDrive: null }),
        service.patch(server, 'a', { surfaceKilledTask: false }),
      ]);
      expect(parse(read(file))).toMatchObject({
        name: 'Payments',
        recovery: { maxRetries: 45, limboTimeoutMs: 46, debounceMs: 47, surfaceKilledTask: false },
        tasks: ['build', 'test'],
      });
      expect(read(file)).not.toContain('autoReDrive');
    });
  });

  test('a write by an editor in between is not overwritten', async () => {
    await onBench(COMMENTED, async ({ service, server }, file) => {
      await Promise.all([
        service.patch(server, 'a', { maxRetries: 3 }),
        (async () => {
          writeFileSync(`${file}.editor`, COMMENTED.replace('Payments', 'Refunds'));
          renameSync(`${file}.editor`, file);
        })(),
      ]);
      expect(parse(read(file))).toMatchObject({ name: 'Refunds', recovery: { maxRetries: 3, autoReDrive: true } });
    });
  });

  test('a file that is a link inside of the projects’ folder stays a link', async () => {
    await onBench(undefined, async ({ service, server, projectsDir, write, projectFile }) => {
      write(join(projectsDir, 'shared.yaml'), 'name: shared\n');
      mkdirSync(join(projectsDir, 'a'));
      symlinkSync('../shared.yaml', projectFile('a'));
      await service.patch(server, 'a', { maxRetries: 2 });
      expect(read(join(projectsDir, 'shared.yaml'))).toBe('name: shared\nrecovery:\n  maxRetries: 2\n');
      expect((await service.effective(server, 'a')).values.maxRetries).toBe(2);
    });
  });
});

describe('a change is refused', () => {
  test.for([
    [{ maxRetries: -1 }, 'maxRetries'],
    [{ maxRetries: '3' }, 'maxRetries'],
    [{ maxRetries: 1.5 }, 'maxRetries'],
    [{ debounceMs: '5s' }, 'debounceMs'],
    [{ debounceMs: 1e15 }, 'debounceMs'],
    [{ autoReDrive: 'yes' }, 'autoReDrive'],
    [{ autoReDrive: 1 }, 'autoReDrive'],
    [{ limboTimeoutMs: {} }, 'limboTimeoutMs'],
    [{ maxRetries: 1, autoRedrive: true }, 'autoRedrive'],
  ] as const)('%j: 422 that names the field, and nothing is written', async ([change, field]) => {
    await onBench(COMMENTED, async ({ service, server }, file) => {
      const refusal = service.patch(server, 'a', { ...change });
      await expect(refusal).rejects.toMatchObject(code(422, 'invalid_setting', { field }));
      expect(read(file)).toBe(COMMENTED);
    });
  });

  test('of a file that does not parse: 409 that names the line, and the file is left alone', async () => {
    const broken = 'name: x\nlist: [1,\nrecovery:\n  maxRetries: 1\n';
    await onBench(broken, async ({ service, server }, file) => {
      for (const act of [() => service.patch(server, 'a', { maxRetries: 2 }), () => service.clear(server, 'a')]) {
        const refusal = act();
        await expect(refusal).rejects.toMatchObject(code(409, 'project_file_invalid'));
        await expect(refusal).rejects.toThrow(/line \d+/);
      }
      expect(read(file)).toBe(broken);
    });
  });

  test('of a file that is no text: 409', async () => {
    await onBench(undefined, async ({ service, server, projectFile }) => {
      mkdirSync(projectFile('dir'), { recursive: true });
      await expect(service.patch(server, 'dir', { maxRetries: 2 })).rejects.toMatchObject(
        code(409, 'project_file_invalid'),
      );
      mkdirSync(join(projectFile('bytes'), '..'));
      writeFileSync(projectFile('bytes'), Buffer.from([0x61, 0x3a, 0x20, 0xff, 0xfe]));
      await expect(service.patch(server, 'bytes', { maxRetries: 2 })).rejects.toThrow(/not UTF-8/);
    });
  });

  test('for a project that is not there, or leaves the projects’ folder by a link: 404', async () => {
    await onBench(undefined, async ({ service, server, folder, projectsDir, write }) => {
      write(join(folder, 'outside', 'project.yaml'), 'name: o\n');
      symlinkSync(join(folder, 'outside'), join(projectsDir, 'out'));
      for (const slug of ['nowhere', 'out', '../outside', 'a/../..']) {
        await expect(service.patch(server, slug, { maxRetries: 2 })).rejects.toMatchObject(
          code(404, 'project_unknown'),
        );
        await expect(service.clear(server, slug)).rejects.toMatchObject(code(404, 'project_unknown'));
      }
      expect(read(join(folder, 'outside', 'project.yaml'))).toBe('name: o\n');
      const without = { ...server, projectsDir: undefined };
      await expect(service.patch(without, 'a', {})).rejects.toMatchObject(code(404, 'project_unknown'));
    });
  });
});

describe('a write that does not come to its end', () => {
  test('leaves the old file and nothing beside it', async () => {
    await onBench(COMMENTED, async (_bench, file) => {
      const folder = join(file, '..', 'full');
      mkdirSync(join(folder, 'target', 'in-the-way'), { recursive: true });
      // The rename cannot succeed: a folder that is not empty stands in its place.
      await expect(replaceFile(join(folder, 'target'), 'new', undefined, async () => true)).rejects.toThrow(
        /EISDIR|ENOTEMPTY/,
      );
      expect(readdirSync(folder)).toEqual(['target']);
      const asked = replaceFile(file, 'new', undefined, () => Promise.reject(new Error('asked and failed')));
      await expect(asked).rejects.toThrow('asked and failed');
      expect(await replaceFile(file, 'new', undefined, async () => false)).toBe(false);
      expect(read(file)).toBe(COMMENTED);
      expect(readdirSync(join(file, '..')).toSorted()).toEqual(['full', 'project.yaml']);
    });
  });

  test('by kill -9: the file is whole each time, the old one or the new one', async () => {
    await onBench(COMMENTED, async ({ folder, projectsDir }, file) => {
      for (const waitMs of [1, 17, 40, 75]) {
        const env = { HOME: folder, PROJECTS_DIR: projectsDir };
        const writer = await startProcess({ file: 'test/support/patch-forever.ts', env });
        await pause(waitMs); // The moment of the kill is the point; nothing is waited for.
        await writer.stop('SIGKILL');
        const { recovery, ...others } = parse(read(file)) as { recovery: Record<string, unknown> };
        expect(others).toEqual({ name: 'Payments', tasks: ['build', 'test'] });
        expect(recovery['maxRetries'] ?? recovery['debounceMs']).toBe(recovery['debounceMs']);
        expect(read(file).startsWith(COMMENTED.slice(0, 60))).toBe(true);
      }
      expect(read(file)).toContain('maxRetries');
    });
  });
});
