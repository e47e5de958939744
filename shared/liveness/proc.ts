import { readdir, readFile, readlink } from 'node:fs/promises';

/** One running process, as /proc shows it. */
export interface RunningProcess {
  pid: number;
  /** Its command line; a program that renames itself shows that name alone. */
  argv: string[];
  /** The name that the kernel keeps, cut to 15 characters. */
  comm: string;
}

/** Every process of this machine (of this container), or `undefined` where there is no /proc. */
export async function runningProcesses(): Promise<RunningProcess[] | undefined> {
  const pids = await list('/proc');
  if (pids === undefined) return undefined;
  const found = await Promise.all(pids.filter((name) => /^\d+$/.test(name)).map((name) => describe(Number(name))));
  return found.filter((one) => one !== undefined);
}

/** The folder that a process works in; `undefined` where it has ended or may not be asked. */
export const folderOf = (pid: number): Promise<string | undefined> => link(`/proc/${pid}/cwd`);

/** Whether a process has the file open for writing. One that only reads it (a `tail -f`, a watcher) is no writer. */
export async function isWriting(pid: number, path: string): Promise<boolean> {
  const numbers = (await list(`/proc/${pid}/fd`)) ?? [];
  for (const number of numbers) {
    if ((await link(`/proc/${pid}/fd/${number}`)) !== path) continue;
    const info = await text(`/proc/${pid}/fdinfo/${number}`);
    const flags = /^flags:\s*([0-7]+)$/m.exec(info ?? '')?.[1];
    // O_WRONLY is 1, O_RDWR is 2.
    if (flags !== undefined && (Number.parseInt(flags, 8) & 3) !== 0) return true;
  }
  return false;
}

async function describe(pid: number): Promise<RunningProcess | undefined> {
  const [line, comm] = await Promise.all([text(`/proc/${pid}/cmdline`), text(`/proc/${pid}/comm`)]);
  if (line === undefined || comm === undefined) return undefined;
  return { pid, comm: comm.trim(), argv: line.split('\0').filter((part) => part !== '') };
}

// A process may end at any moment, and others' may not be looked into: whatever the reason, nothing is known then.
const text = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);
const link = (path: string): Promise<string | undefined> => readlink(path).catch(() => undefined);
const list = (path: string): Promise<string[] | undefined> => readdir(path).catch(() => undefined);
