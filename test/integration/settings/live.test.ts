import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSettings } from '#shared/settings/environment.js';
import type { EffectiveSettings } from '#shared/settings/recovery.js';
import { describe, expect, test } from '../../support/leaks.ts';
import { settingsBench, type BenchOptions, type SettingsBench } from '../../support/settings.ts';

/** Runs a test on a bench of its own and closes it whatever happens. */
async function onBench(options: BenchOptions, run: (bench: SettingsBench) => Promise<void>): Promise<void> {
  const bench = settingsBench(options);
  try {
    await run(bench);
  } finally {
    await bench.close();
  }
}
const retries = ({ values, sources }: EffectiveSettings): string => `${values.maxRetries} by ${sources.maxRetries}`;
const block = (maxRetries: number): string => `name: x\nrecovery:\n  maxRetries: ${maxRetries}\n`;

describe('settings of a project', () => {
  test('come from all four levels, field by field', async () => {
    const options = {
      instance: 'recovery:\n  debounceMs: 1s\n  maxRetries: 2\n  limboTimeoutMs: 5m\n',
      env: { PADDOCK_RECOVERY_MAX_RETRIES: '3', PADDOCK_RECOVERY_LIMBO_MS: '7' },
      projects: { a: 'recovery:\n  limboTimeoutMs: 9\n', '': 'recovery:\n  autoReDrive: true\n' },
    };
    await onBench(options, async ({ service, server }) => {
      expect(await service.effective(server, 'a')).toEqual({
        values: { surfaceKilledTask: true, autoReDrive: false, debounceMs: 1_000, maxRetries: 3, limboTimeoutMs: 9 },
        sources: {
          surfaceKilledTask: 'default',
          autoReDrive: 'default',
          debounceMs: 'file',
          maxRetries: 'environment',
          limboTimeoutMs: 'project',
        },
      });
      expect((await service.effective(server, '')).values).toMatchObject({ autoReDrive: true, limboTimeoutMs: 7 });
      expect(await service.override(server, 'a')).toEqual({ exists: true, override: { limboTimeoutMs: 9 } });
      expect(await service.override(server, 'b')).toEqual({ exists: false, override: {} });
      expect(retries(await service.effective(server, 'b'))).toBe('3 by environment');
    });
  });

  test('an edit takes effect, and is told once, with its project', async () => {
    await onBench(
      { projects: { a: block(1), b: block(1) } },
      async ({ service, server, write, projectFile, ...bench }) => {
        await Promise.all([service.effective(server, 'a'), service.effective(server, 'b')]);
        const change = await bench.changeAfter(() => write(projectFile('a'), block(4)));
        expect(change).toEqual({ serverId: 'default', slug: 'a' });
        expect(retries(await service.effective(server, 'a'))).toBe('4 by project');
        expect(retries(await service.effective(server, 'b'))).toBe('1 by project');
        // Another edit of the same values and a change of b: only b is told.
        await bench.changeAfter(() => {
          write(projectFile('a'), `# a comment\n${block(4)}`);
          write(projectFile('b'), block(5));
        });
        expect(bench.changes).toEqual([change, { serverId: 'default', slug: 'b' }]);
      },
    );
  });

  test('a file that is replaced by rename is seen, again and again', async () => {
    await onBench({ projects: { a: block(1), b: block(1) } }, async ({ service, server, projectFile, ...bench }) => {
      await Promise.all([service.effective(server, 'a'), service.effective(server, 'b')]);
      for (const next of [2, 3, 4, 5]) {
        await bench.changeAfter(() => {
          writeFileSync(`${projectFile('a')}.new`, block(next));
          renameSync(`${projectFile('a')}.new`, projectFile('a'));
        });
        expect(retries(await service.effective(server, 'a'))).toBe(`${next} by project`);
      }
    });
  });

  test('a file that appears later is seen, and one that goes and comes back', async () => {
    await onBench(
      { projects: { b: block(1) } },
      async ({ service, server, write, projectFile, projectsDir, ...bench }) => {
        mkdirSync(join(projectsDir, 'a'));
        await Promise.all([service.effective(server, 'a'), service.effective(server, 'b')]);
        await bench.changeAfter(() => write(projectFile('a'), block(2)));
        expect(retries(await service.effective(server, 'a'))).toBe('2 by project');
        await bench.changeAfter(() => rmSync(projectFile('a')));
        expect(retries(await service.effective(server, 'a'))).toBe('1 by default');
        await bench.changeAfter(() => write(projectFile('a'), block(3)));
        expect(retries(await service.effective(server, 'a'))).toBe('3 by project');
        expect(bench.changes).toHaveLength(3);
      },
    );
  });

  test('an edit right after the first question is not lost', async () => {
    await onBench({ projects: { a: block(1) } }, async ({ service, server, write, projectFile, ...bench }) => {
      const first = await service.effective(server, 'a');
      await bench.changeAfter(() => write(projectFile('a'), block(2)));
      expect(retries(first)).toBe('1 by project');
      expect(retries(await service.effective(server, 'a'))).toBe('2 by project');
    });
  });

  test('an edit that breaks the file keeps the last good values, with a warning that names the line', async () => {
    await onBench({ projects: { a: block(3) } }, async ({ service, server, write, projectFile, ...bench }) => {
      await service.effective(server, 'a');
      const broken = 'name: x\nrecovery: {\n';
      const warning = await bench.warningAfter(() => write(projectFile('a'), broken), /last good/);
      expect(warning).toMatch(/projects\/a\/project\.yaml, line \d+: /);
      expect(service.warnings()).toEqual([warning]);
      expect(retries(await service.effective(server, 'a'))).toBe('3 by project');
      await bench.changeAfter(() => write(projectFile('a'), block(4)));
      expect(service.warnings()).toEqual([]);
      expect(retries(await service.effective(server, 'a'))).toBe('4 by project');
      expect(bench.logged).toEqual([warning]);
    });
  });

  test('a bad value falls a level lower and is named once, however often it is asked for', async () => {
    const projects = { a: 'recovery:\n  maxRetries: many\n  autoReDrive: true\n  retries: 3\n' };
    await onBench({ projects, statEveryMs: 0, env: { PADDOCK_RECOVERY_MAX_RETRIES: '2' } }, async (bench) => {
      const { service, server, projectFile } = bench;
      for (let times = 0; times < 5; times += 1) {
        expect(retries(await service.effective(server, 'a'))).toBe('2 by environment');
      }
      expect((await service.effective(server, 'a')).values.autoReDrive).toBe(true);
      expect(bench.logged).toEqual([
        `${projectFile('a')}: recovery.maxRetries must be a non-negative integer, not "many"; it is ignored`,
        `${projectFile('a')}: recovery.retries is no recovery setting; it is ignored`,
      ]);
    });
  });
});

describe('the instance file', () => {
  test('is read from its path at start; one that does not parse stops it and names file and line', async () => {
    await onBench({ instance: 'port: 1\nrecovery:\n  maxRetries: 2\n' }, async ({ folder, write, service, server }) => {
      const path = join(folder, 'instance.yaml');
      const env = { HOME: folder };
      expect(loadSettings(env, path)).toMatchObject({
        settings: { port: 1, configFile: path },
        sources: { port: 'file', configFile: 'default' },
      });
      expect(loadSettings({ ...env, CHAT_RECOVERY_CONFIG: path }).settings).toMatchObject({
        port: 1,
        configFile: path,
      });
      expect(retries(await service.effective(server, 'a'))).toBe('2 by file');

      const broken = join(folder, 'broken.yaml');
      write(broken, 'port: 1\nrecovery:\n  maxRetries: [\n');
      expect(() => loadSettings(env, broken)).toThrow(/CHAT_RECOVERY_CONFIG .*broken\.yaml, line \d+: /);
      write(broken, '- a\n');
      expect(() => loadSettings(env, broken)).toThrow(/broken\.yaml, line 1: the file must be a map/);
      expect(() => loadSettings(env, folder)).toThrow(/is not a file/);
      write(broken, 'recovery: { maxRetries: -1 }\nport: none\n');
      expect(() => loadSettings(env, broken)).toThrow(/broken\.yaml: port must be/);
      write(broken, 'recovery: { maxRetries: -1 }\nhots: x\n');
      expect(loadSettings(env, broken).warnings).toEqual([
        `${broken} has unknown keys that are ignored: hots`,
        `${broken}: recovery.maxRetries must be a non-negative integer, not -1; it is ignored`,
      ]);
    });
  });

  test('warnings that were logged at start are not logged again, but stay in force', async () => {
    await onBench(
      { instance: 'hots: x\n', env: { PADDOCK_RECOVERY_DEBOUNCE_MS: 'x' } },
      async ({ service, logged }) => {
        expect(service.warnings()).toHaveLength(2);
        expect(logged).toEqual([]);
      },
    );
  });

  test('is live: an edit of its block is told for everybody', async () => {
    await onBench({ instance: 'recovery:\n  maxRetries: 2\n', projects: { a: 'name: a\n' } }, async (bench) => {
      const { service, server, folder, write } = bench;
      await service.effective(server, 'a');
      const change = await bench.changeAfter(() =>
        write(join(folder, 'instance.yaml'), 'recovery:\n  maxRetries: 5\n'),
      );
      expect(change).toEqual({ serverId: undefined, slug: undefined });
      expect(retries(await service.effective(server, 'a'))).toBe('5 by file');
    });
  });

  test('replaced by rename, broken, and mended', async () => {
    await onBench({ instance: 'recovery:\n  maxRetries: 2\n' }, async ({ service, server, folder, ...bench }) => {
      const replace = (text: string): void => {
        writeFileSync(join(folder, 'instance.new'), text);
        renameSync(join(folder, 'instance.new'), join(folder, 'instance.yaml'));
      };
      const warning = await bench.warningAfter(() => replace('a: 1\nrecovery: [\n'), /last good/);
      expect(warning).toMatch(/instance\.yaml, line \d+: /);
      expect(retries(await service.effective(server, 'a'))).toBe('2 by file');
      await bench.changeAfter(() => replace('recovery:\n  maxRetries: 3\n'));
      expect(retries(await service.effective(server, 'a'))).toBe('3 by file');
      expect(service.warnings()).toEqual([]);
    });
  });

  test('names an edit that only the next start will see, or that would stop it', async () => {
    await onBench({ instance: 'port: 1\n' }, async ({ folder, write, warningAfter }) => {
      const file = join(folder, 'instance.yaml');
      await warningAfter(() => write(file, 'port: 2\nlogLevel: warn\n'), /another value for port, logLevel/);
      await warningAfter(() => write(file, 'port: x\n'), /port must be .*the next start would fail/);
    });
  });
});

describe('where no file events arrive', () => {
  test('a project is looked at again when it is asked for', async () => {
    await onBench({ projects: { a: block(1) }, statEveryMs: 0 }, async ({ service, server, projectFile, write }) => {
      expect(retries(await service.effective(server, 'a'))).toBe('1 by project');
      write(projectFile('a'), block(2));
      // Asked before any event could have been handled.
      expect(retries(await service.effective(server, 'a'))).toBe('2 by project');
      // The same length, and the times put back: the file's change time tells.
      const anHourAgo = new Date(Date.now() - 3_600_000);
      utimesSync(projectFile('a'), anHourAgo, anHourAgo);
      await service.effective(server, 'a');
      write(projectFile('a'), block(3));
      utimesSync(projectFile('a'), anHourAgo, anHourAgo);
      expect(retries(await service.effective(server, 'a'))).toBe('3 by project');
    });
  });

  test('the sweep sees a project whose whole folder came later', async () => {
    await onBench({ statEveryMs: 0, sweepEveryMs: 20 }, async ({ service, server, projectFile, write, ...bench }) => {
      expect((await service.override(server, 'late')).exists).toBe(false);
      await bench.changeAfter(() => write(projectFile('late'), block(8)));
      expect(retries(await service.effective(server, 'late'))).toBe('8 by project');
    });
  });
});

describe('confinement', () => {
  test('a folder that is a link out of the projects’ folder is refused, one that stays inside is not', async () => {
    await onBench({ projects: { real: block(7) } }, async ({ service, server, folder, projectsDir, write, logged }) => {
      write(join(folder, 'outside', 'project.yaml'), block(9));
      symlinkSync(join(folder, 'outside'), join(projectsDir, 'out'));
      symlinkSync(join(projectsDir, 'real'), join(projectsDir, 'alias'));
      mkdirSync(join(projectsDir, 'file-out'));
      symlinkSync(join(folder, 'outside', 'project.yaml'), join(projectsDir, 'file-out', 'project.yaml'));
      expect(retries(await service.effective(server, 'out'))).toBe('1 by default');
      expect(retries(await service.effective(server, 'file-out'))).toBe('1 by default');
      expect(retries(await service.effective(server, 'alias'))).toBe('7 by project');
      expect(await service.override(server, 'out')).toEqual({ exists: false, override: {} });
      expect(logged).toHaveLength(2);
      expect(logged.every((text) => /link .*projects’ folder/.test(text))).toBe(true);
    });
  });

  test.for(['../a', 'a/b', '..', '.', '/etc', 'a\0b', '-x'])('the slug %j is none', async (slug) => {
    await onBench({ projects: { a: block(7) } }, async ({ service, server }) => {
      expect(retries(await service.effective(server, slug))).toBe('1 by default');
      await expect(service.patch(server, slug, { maxRetries: 1 })).rejects.toMatchObject({
        fields: { status: 404, code: 'project_unknown' },
      });
    });
  });
});
