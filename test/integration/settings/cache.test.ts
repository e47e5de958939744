import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings } from '#shared/settings/environment.js';
import { createProjectCache } from '#shared/settings/project-cache.js';
import { readState, type ProjectState } from '#shared/settings/project-state.js';
import { expect, test } from '../../support/leaks.ts';

const STAT_EVERY_MS = 5_000;

test('a thousand projects are read once; asked again they cost no file access, until their time is up', async () => {
  const projectsDir = mkdtempSync(join(tmpdir(), 'settings-'));
  const slugs = Array.from({ length: 1_000 }, (_, index) => `p${index}`);
  for (const [index, slug] of slugs.entries()) {
    mkdirSync(join(projectsDir, slug));
    writeFileSync(join(projectsDir, slug, 'project.yaml'), `recovery:\n  maxRetries: ${index}\n`);
  }
  const [server] = loadSettings({ HOME: projectsDir, PROJECTS_DIR: projectsDir }).settings.chatServers;
  if (server === undefined) throw new Error('no chat server');
  const clock = { ms: 0 };
  const told: string[] = [];
  const cache = createProjectCache({
    watch: { add: () => undefined, remove: () => undefined, close: async () => undefined },
    statEveryMs: STAT_EVERY_MS,
    now: () => clock.ms,
    changed: (_server, slug) => told.push(slug),
    warned: () => undefined,
  });
  const askAll = async () =>
    (await Promise.all(slugs.map((slug) => cache.get(server, slug)))).map(({ override }) => override.maxRetries);

  expect(await askAll()).toEqual(slugs.map((_, index) => index));
  rmSync(projectsDir, { recursive: true });
  clock.ms += STAT_EVERY_MS - 1;
  expect(await askAll()).toEqual(slugs.map((_, index) => index));
  expect(told).toEqual([]);
  clock.ms += 1;
  expect(await askAll()).toEqual(slugs.map(() => undefined));
  // Project 0 says 0, which is not nothing: it is told like the others.
  expect(told.toSorted()).toEqual(slugs.toSorted());
});

test('a file that is empty for a moment, because it is being written, takes nothing out of force', async () => {
  const projectsDir = mkdtempSync(join(tmpdir(), 'settings-'));
  const file = join(projectsDir, 'project.yaml');
  const [server] = loadSettings({ HOME: projectsDir }).settings.chatServers;
  if (server === undefined) throw new Error('no chat server');
  const read = async (last: ProjectState) => readState({ ...server, projectsDir }, '', last);
  writeFileSync(file, 'recovery:\n  autoReDrive: false\n');
  const full = await read({ exists: true, override: {}, warnings: [] });
  expect(full.state.override).toEqual({ autoReDrive: false });

  writeFileSync(file, '');
  expect(await read(full.state)).toEqual({ state: full.state, settled: false });
  const aSecondAgo = new Date(Date.now() - 1_000);
  utimesSync(file, aSecondAgo, aSecondAgo);
  expect((await read(full.state)).state.override).toEqual({});
  rmSync(projectsDir, { recursive: true });
});
