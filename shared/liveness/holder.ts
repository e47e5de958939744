import { realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { isAlive } from './process-id.ts';
import { folderOf, isWriting, runningProcesses, type RunningProcess } from './proc.ts';
import type { SessionProcesses } from './session-processes.ts';

/** A process that drives a session, or may. */
export interface Holder {
  pid: number;
  /**
   * `recorded`: a hook named it; `command-line`: it was started for this session; `writing`: it has the transcript open;
   * `same-folder`: a Claude Code in the session's folder whose session nobody knows.
   */
  how: 'recorded' | 'command-line' | 'writing' | 'same-folder';
}

export interface SessionFacts {
  sessionId: string;
  transcriptPath: string | undefined;
  /** The folder that the session runs in. */
  cwd: string | undefined;
}

/** `unprovable`: this system does not show its processes, and nothing was recorded. */
export type Holding = { held: true; by: Holder } | { held: false } | { held: 'unprovable' };

/**
 * Whether any process on this machine drives the session.
 *
 * Claude Code lets a second process resume a session that the first still holds, records the first one's running tasks as
 * stopped although they run, and both append to one file. So every sign counts, and a doubt counts as held.
 */
export async function findHolder(session: SessionFacts, recorded: SessionProcesses): Promise<Holding> {
  const known = await recorded.of(session.sessionId);
  if (known !== undefined && isAlive(known)) return held(known.pid, 'recorded');
  const processes = await runningProcesses();
  if (processes === undefined) return known === undefined ? { held: 'unprovable' } : { held: false };

  const others = processes.filter(({ pid }) => pid !== process.pid);
  const named = others.find(({ argv }) => namesSession(argv, session.sessionId));
  if (named !== undefined) return held(named.pid, 'command-line');
  const writer = await findWriter(others, session.transcriptPath);
  if (writer !== undefined) return held(writer.pid, 'writing');
  const neighbour = await findNeighbour(others, session, await recorded.all());
  return neighbour === undefined ? { held: false } : held(neighbour.pid, 'same-folder');
}

const held = (pid: number, how: Holder['how']): Holding => ({ held: true, by: { pid, how } });

const SESSION_FLAGS = ['--resume', '-r', '--session-id'];

/** The options with which Claude Code takes up or begins a certain session. */
function sessionNamed(argv: readonly string[]): string | undefined {
  for (const [index, argument] of argv.entries()) {
    const [flag = '', value = argv[index + 1]] = argument.split(/=(.*)/s, 2);
    if (SESSION_FLAGS.includes(flag) && value !== undefined) return value.toLowerCase();
  }
  return undefined;
}

const namesSession = (argv: readonly string[], sessionId: string): boolean =>
  sessionNamed(argv) === sessionId.toLowerCase();

async function findWriter(
  processes: readonly RunningProcess[],
  transcriptPath: string | undefined,
): Promise<RunningProcess | undefined> {
  if (transcriptPath === undefined) return undefined;
  const path = await realpath(transcriptPath).catch(() => transcriptPath);
  const writing = await Promise.all(processes.map(({ pid }) => isWriting(pid, path)));
  return processes.find((_, index) => writing[index]);
}

/** A Claude Code in the same folder that is known to drive another session is none. */
async function findNeighbour(
  processes: readonly RunningProcess[],
  { sessionId, cwd }: SessionFacts,
  sessions: ReadonlyMap<number, string>,
): Promise<RunningProcess | undefined> {
  if (cwd === undefined) return undefined;
  const folder = await realpath(cwd).catch(() => cwd);
  for (const candidate of processes.filter(isClaudeCode)) {
    const drives = sessionNamed(candidate.argv) ?? sessions.get(candidate.pid);
    if (drives !== undefined && drives !== sessionId.toLowerCase()) continue;
    if ((await folderOf(candidate.pid)) === folder) return candidate;
  }
  return undefined;
}

/** The native program and the one that runs on Node; both may have renamed themselves to `claude`. */
function isClaudeCode({ argv, comm }: RunningProcess): boolean {
  // The program itself, or the script that an interpreter runs.
  const started = argv.slice(0, 2);
  const names = [comm, ...started.map((part) => basename(part))];
  return (
    names.some((name) => PROGRAMS.has(name)) || started.some((part) => part.includes('/@anthropic-ai/claude-code/'))
  );
}

/** npm's package has it as `claude.exe` on every system. */
const PROGRAMS: ReadonlySet<string> = new Set(['claude', 'claude.exe']);
