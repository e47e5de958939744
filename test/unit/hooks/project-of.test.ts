import { describe, expect, it } from 'vitest';
import { projectSlugSchema } from '#shared/session/events.js';
import { projectOf, startFolder } from '../../../services/watcher/project-of.ts';

describe('the project of a folder', () => {
  it.each([
    ['/home/me/my-app', undefined, 'my-app'],
    ['/home/me/my app (2)', undefined, 'my-app--2-'],
    ['/home/me/.dotfiles', undefined, 'dotfiles'],
    ['/home/me/a..b', undefined, 'a.b'],
    ['/', undefined, ''],
    [undefined, undefined, ''],
    ['/projects/shop/backend', '/projects', 'shop'],
    ['/projects', '/projects', ''],
    ['/projects-old/shop', '/projects', 'shop'],
  ])('%s below %s is %j', (folder, projectsDir, slug) => {
    expect(projectOf(folder, projectsDir)).toBe(slug);
    expect(projectSlugSchema.safeParse(slug).success).toBe(true);
  });
});

describe('the folder that a session was started in', () => {
  const transcript = '/home/me/.claude/projects/-home-me-my-app/x.jsonl';
  it.each([
    ['/home/me/my-app', '/home/me/my-app'],
    ['/home/me/my-app/packages/a', '/home/me/my-app'],
    ['/elsewhere', '/elsewhere'],
  ])('of one that is in %s now is %s', (cwd, folder) => expect(startFolder(cwd, transcript)).toBe(folder));
});
