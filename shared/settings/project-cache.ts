import { isDeepStrictEqual } from 'node:util';
import type { ChatServer } from './chat-servers.ts';
import type { FileWatch } from './file-watch.ts';
import { projectPath } from './project-file.ts';
import { markText, readState, type ProjectState } from './project-state.ts';

/** The projects' own settings, read when first asked for and kept until their file changes. */
export interface ProjectCache {
  /** The project's state, at most `statEveryMs` old. Never throws. */
  get(server: ChatServer, slug: string): Promise<ProjectState>;
  /** The project's state as of now. */
  refresh(server: ChatServer, slug: string): Promise<ProjectState>;
  /** Looks (one `stat` each) at every project that was asked for and not looked at lately. */
  sweep(): Promise<void>;
  warnings(): string[];
}

interface Entry {
  server: ChatServer & { projectsDir: string };
  slug: string;
  /** As configured; links are followed when it is read. */
  path: string;
  state: ProjectState;
  /** False until the first read has ended. */
  read: boolean;
  mark: string | undefined;
  checkedAt: number;
  /** Tail of the reads of this entry: they run one after the other. */
  turn: Promise<void>;
  pending: number;
  onFile: () => void;
}

interface CacheDeps {
  watch: FileWatch;
  statEveryMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
  /** A project that was read before says something else now. */
  changed: (serverId: string, slug: string) => void;
  /** The warnings before and after a read. */
  warned: (before: readonly string[], after: readonly string[]) => void;
}

/** More projects than any host has; past it the one that was not asked for the longest is forgotten. */
const MAX_ENTRIES = 20_000;
const NOTHING: ProjectState = { exists: false, override: {}, warnings: [] };

export function createProjectCache(deps: CacheDeps): ProjectCache {
  const entries = new Map<string, Entry>();

  const find = (server: ChatServer, slug: string): Entry | undefined => {
    const { projectsDir } = server;
    if (projectsDir === undefined) return undefined;
    const key = `${server.id}\0${slug}`;
    const entry = entries.get(key) ?? newEntry({ ...server, projectsDir }, slug, (made) => void enqueue(deps, made));
    // Re-inserted, so that the map's order is the order of use.
    entries.delete(key);
    entries.set(key, entry);
    if (entries.size > MAX_ENTRIES) forgetOldest(entries, deps.watch);
    return entry;
  };
  const isStale = (entry: Entry): boolean => !entry.read || deps.now() - entry.checkedAt >= deps.statEveryMs;

  return {
    async get(server, slug) {
      const entry = find(server, slug);
      if (entry === undefined) return NOTHING;
      if (entry.pending > 0) await entry.turn;
      else if (isStale(entry)) await enqueue(deps, entry);
      return entry.state;
    },
    async refresh(server, slug) {
      const entry = find(server, slug);
      if (entry === undefined) return NOTHING;
      await enqueue(deps, entry);
      return entry.state;
    },
    async sweep() {
      // A copy: entries that are asked for meanwhile move to the end.
      for (const entry of Array.from(entries.values())) {
        if (entry.pending === 0 && isStale(entry)) await enqueue(deps, entry);
      }
    },
    warnings: () => [...entries.values()].flatMap((entry) => entry.state.warnings),
  };
}

function newEntry(server: Entry['server'], slug: string, onFile: (entry: Entry) => void): Entry {
  const entry: Entry = {
    server,
    slug,
    path: projectPath(server.projectsDir, slug),
    state: NOTHING,
    read: false,
    mark: undefined,
    checkedAt: 0,
    turn: Promise.resolve(),
    pending: 0,
    onFile: () => onFile(entry),
  };
  return entry;
}

function enqueue(deps: CacheDeps, entry: Entry): Promise<void> {
  entry.turn = lookAfter(entry.turn, deps, entry);
  return entry.turn;
}

async function lookAfter(previous: Promise<void>, deps: CacheDeps, entry: Entry): Promise<void> {
  entry.pending += 1;
  try {
    await previous;
    await look(deps, entry);
  } finally {
    entry.pending -= 1;
  }
}

async function look(deps: CacheDeps, entry: Entry): Promise<void> {
  entry.checkedAt = deps.now();
  // Taken before the read: a change during it makes the next one differ.
  const mark = await markText(entry.path);
  if (entry.mark === mark) return;
  const before = entry.state;
  const first = !entry.read;
  const { state, settled } = await readState(entry.server, entry.slug, before);
  Object.assign(entry, { state, mark: settled ? mark : undefined, read: true });
  // A file that is still missing is watched through its folder, which must be there.
  if (state.exists) deps.watch.add(entry.path, entry.onFile);
  else deps.watch.remove(entry.path, entry.onFile);
  deps.warned(before.warnings, state.warnings);
  if (!first && !isDeepStrictEqual(before.override, state.override)) deps.changed(entry.server.id, entry.slug);
}

function forgetOldest(entries: Map<string, Entry>, watch: FileWatch): void {
  const [oldest] = entries;
  if (oldest === undefined) return;
  entries.delete(oldest[0]);
  watch.remove(oldest[1].path, oldest[1].onFile);
}
