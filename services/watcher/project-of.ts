import { basename, dirname, resolve, sep } from 'node:path';

/**
 * The project's slug of a session that no chat server names: Claude Code tells its folder only. Pure.
 *
 * Below `projectsDir` it is the folder there, which may hold a `project.yaml`; anywhere else the last part of the folder's
 * path, with what a slug cannot hold replaced. Two folders of one name are one project then.
 */
export function projectOf(folder: string | undefined, projectsDir: string | undefined): string {
  if (folder === undefined) return '';
  const path = resolve(folder);
  if (projectsDir !== undefined && path.startsWith(`${projectsDir}${sep}`)) {
    return slugOf(path.slice(projectsDir.length + 1).split(sep)[0] ?? '');
  }
  return path === projectsDir ? '' : slugOf(basename(path));
}

/**
 * The folder that a session was started in. Its agent may have gone into another one since; the transcript's folder is still
 * named by the first (each character but letters and digits as `-`), so the parents of today's folder are held against that name.
 */
export function startFolder(cwd: string | undefined, transcriptPath: string | undefined): string | undefined {
  if (cwd === undefined || transcriptPath === undefined) return cwd;
  const name = basename(dirname(transcriptPath));
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (folder.replaceAll(/[^A-Za-z0-9]/g, '-') === name) return folder;
    if (folder === dirname(folder)) return cwd;
  }
}

function slugOf(name: string): string {
  return name
    .replaceAll(/[^\w.-]/g, '-')
    .replaceAll(/\.{2,}/g, '.')
    .replace(/^[.-]+/, '')
    .slice(0, 200);
}
