import { constants, watch } from 'node:fs';
import { access, mkdtemp, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChatServer } from '#shared/settings/environment.js';
import { note, ok, reasonOf, wrong, type Finding } from './finding.ts';

/** File systems whose changes by other machines bring no event (statfs(2), `f_type`). */
const REMOTE_TYPES: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x65735546, 'FUSE'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
]);

/** Folders are only looked at; nothing is ever written below a root. */
export async function checkFolders(server: ChatServer): Promise<Finding[]> {
  const roots = await Promise.all(server.transcriptRoots.map(({ ours }) => checkRoot(server.id, ours)));
  if (server.projectsDir === undefined) return roots;
  const trouble = await troubleOf(server.projectsDir);
  if (trouble === undefined) return roots;
  return [
    ...roots,
    wrong(
      `projects of ${server.id}`,
      `${server.projectsDir}: ${trouble}.`,
      'Correct PROJECTS_DIR, or make it readable.',
    ),
  ];
}

async function checkRoot(id: string, folder: string): Promise<Finding> {
  const part = `transcripts of ${id}`;
  const trouble = await troubleOf(folder);
  if (trouble !== undefined) {
    return wrong(
      part,
      `${folder}: ${trouble}.`,
      'Correct TRANSCRIPT_ROOTS (theirs=ours where it is mounted elsewhere), or let this user read it.',
    );
  }
  const remote = REMOTE_TYPES.get((await statfs(folder)).type >>> 0);
  if (remote === undefined) return ok(part, `${folder} is there and readable.`);
  return note(
    part,
    `${folder} is on ${remote}: changes by other machines bring no file events.`,
    'Nothing is missed: the backstop looks after 30 s, 2 min, 10 min and so on. Run the watcher where the chats are for quicker looks.',
  );
}

async function troubleOf(folder: string): Promise<string | undefined> {
  try {
    if (!(await stat(folder)).isDirectory()) return 'it is no folder';
    await access(folder, constants.R_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return 'it does not exist';
    return code === 'EACCES' ? 'this user may not read it' : reasonOf(error);
  }
}

const EVENT_WITHIN_MS = 2_000;
const TODO = 'Raise fs.inotify.max_user_watches and fs.inotify.max_user_instances (sysctl).';

/** Whether this machine tells of file changes at all, tried in a temporary folder. */
export async function checkFileEvents(): Promise<Finding> {
  const folder = await mkdtemp(join(tmpdir(), 'chat-recovery-doctor-'));
  const file = join(folder, 'probe');
  try {
    await writeFile(file, '');
    const came = await eventOf(file, () => writeFile(file, 'changed\n'));
    if (came) return ok('file events', 'They arrive.');
    return wrong('file events', `None arrived within ${EVENT_WITHIN_MS} ms.`, TODO);
  } catch (error) {
    return wrong('file events', `Watching a file failed: ${reasonOf(error)}.`, TODO);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function eventOf(file: string, change: () => Promise<void>): Promise<boolean> {
  const stop = new AbortController();
  const watcher = watch(file, { signal: stop.signal });
  try {
    const came = new Promise<boolean>((resolve, reject) => {
      const timer = setTimeout(() => resolve(false), EVENT_WITHIN_MS);
      stop.signal.addEventListener('abort', () => clearTimeout(timer));
      watcher.once('change', () => resolve(true));
      watcher.once('error', reject);
    });
    await change();
    return await came;
  } finally {
    stop.abort();
  }
}
