import { readFileSync } from 'node:fs';

/** `/proc/<pid>/stat` counts in hundredths of a second on every Linux that Node runs on. */
const MS_PER_TICK = 10;
const KB = 1_024;

/** CPU that a process has used so far, user and system, in milliseconds, to the nearest 10. Linux only. */
export function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the name in parentheses, which may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

/** Resident memory of a process in bytes. */
export function rssOf(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) * KB;
}

/** Begins to count; the answer gives the milliseconds of CPU since, for each name. */
export function cpuSince<K extends string>(pids: Record<K, readonly number[]>): () => Record<K | 'all', number> {
  const names = Object.keys(pids) as K[];
  const total = (name: K): number => pids[name].reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  const before = new Map(names.map((name) => [name, total(name)]));
  return () => {
    const used = Object.fromEntries(names.map((name) => [name, total(name) - (before.get(name) ?? 0)])) as Record<
      K,
      number
    >;
    const all = names.reduce((sum, name) => sum + used[name], 0);
    return { ...used, all };
  };
}
