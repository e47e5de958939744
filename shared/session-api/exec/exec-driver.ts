import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { findHolder, type SessionFacts } from '#shared/liveness/holder.js';
import { sessionFolder } from '#shared/liveness/session-folder.js';
import type { SessionProcesses } from '#shared/liveness/session-processes.js';
import {
  SessionApiFailure,
  type NudgeMessage,
  type SessionDriver,
  type SessionPlace,
  type SessionStatus,
} from '../driver.ts';
import type { DriverLog } from '../log.ts';
import { busy, processAlive, refused, unclear, unknownOutcome } from '../refusals.ts';
import { within } from '../within.ts';
import { expand, oneLine, type Values } from './command.ts';
import { launch, type Launched } from './launch.ts';
import { findProgram } from './program.ts';
import { run, type Ran } from './run.ts';
import { lockHolder, lockSession, type SessionLock } from './session-lock.ts';
import { EXIT_STATES, readStatus } from './status.ts';
import { RunningTurns } from './turns.ts';

export interface ExecDriverOptions {
  /** The command that sends a nudge: arguments with placeholders, no shell. */
  send: readonly string[];
  /** The command that says what a session is doing. */
  status: readonly string[] | undefined;
  /**
   * `resume`: the command starts a process that takes the session up, so none may hold it; `live`: it types into the process
   * that holds it.
   */
  into: 'resume' | 'live';
  env: Record<string, string>;
  /** Deadline of a status command, and of a command that sends into a live process. */
  timeoutMs: number;
  /** A command that runs a turn is ended after this. */
  turnTimeoutMs: number;
  /** Locks and outputs; every worker of this machine uses the same folder. */
  folder: string;
  processes: SessionProcesses;
  log: DriverLog;
  /** A command that resumes counts as accepted once it has run so long. */
  startedAfterMs?: number;
}

/** A wrong id, a missing login or a bad option ends Claude Code well within this. */
const STARTED_AFTER_MS = 3_000;

/**
 * Reaches sessions by commands of their own machine (`claude -p --resume`, `tmux send-keys`, a script).
 *
 * Not idempotent: a command whose outcome is not known is never repeated.
 */
export function createExecDriver(options: ExecDriverOptions): SessionDriver {
  const driver = new ExecDriver(options);
  return {
    idempotent: false,
    canSend: true,
    state: (sessionId, signal, place) => driver.state(sessionId, signal, place),
    send: (message, signal) => driver.send(message, signal),
    probe: async () => void (await findProgram(options.send[0] ?? '', options.env['PATH'])),
    close: async () => driver.close(),
  };
}

class ExecDriver {
  readonly #options: ExecDriverOptions;
  readonly #turns: RunningTurns;

  constructor(options: ExecDriverOptions) {
    this.#options = options;
    this.#turns = new RunningTurns(options.log, options.turnTimeoutMs);
  }

  async state(sessionId: string, signal?: AbortSignal, place?: SessionPlace): Promise<SessionStatus | undefined> {
    const session = await factsOf(sessionId, place);
    const alive = await this.#aliveness(session);
    if (alive !== undefined) return { ...IDLE, state: 'running', busyCode: alive.code };
    const { status } = this.#options;
    if (status === undefined) return IDLE;
    const told = readStatus(await this.#run(this.#expanded(status, session, place), session, signal));
    if (told.kind === 'unclear') throw unclear(`the status command ${told.why}`);
    return told.kind === 'gone' ? undefined : told.status;
  }

  async send(message: NudgeMessage, signal?: AbortSignal): Promise<{ turnId: string | undefined }> {
    const { sessionId, place } = message;
    const session = await factsOf(sessionId, place);
    const args = this.#expanded(this.#options.send, session, place, message.text);
    const lock = await lockSession(this.#options.folder, sessionId);
    if ('heldBy' in lock) throw processAlive(`process ${lock.heldBy} works on the session`);
    let isHanded = false;
    try {
      if (this.#options.into === 'live') await this.#type(args, session, signal);
      else isHanded = await this.#resume(args, session, lock);
    } finally {
      if (!isHanded) await lock.release();
    }
    return { turnId: undefined };
  }

  close(): void {
    this.#turns.close();
  }

  /** Why nothing may be started for the session now. Asked of the machine each time: a process may come at any moment. */
  async #aliveness(session: SessionFacts, isOurs = false): Promise<SessionApiFailure | undefined> {
    if (this.#options.into === 'live') return undefined;
    const holder = isOurs ? undefined : await lockHolder(this.#options.folder, session.sessionId);
    if (holder !== undefined) return processAlive(`process ${holder} works on the session`);
    const holding = await findHolder(session, this.#options.processes);
    if (holding.held === 'unprovable') {
      throw refused('liveness_unprovable', 'this system does not show its processes, and no hook named the session’s');
    }
    if (!holding.held) return undefined;
    return processAlive(`process ${holding.by.pid} holds the session (${holding.by.how})`);
  }

  /** Into the process that holds the session: the command is short. */
  async #type(args: string[], session: SessionFacts, signal: AbortSignal | undefined): Promise<void> {
    const ran = await this.#run(args, session, signal);
    if (ran.kind === 'not-started') throw refused(ran.code, `the command could not be started: ${ran.message}`);
    if (ran.kind === 'killed') throw unknownOutcome(ran.why, `the command was cut off (${ran.why})`);
    if (ran.code !== 0) throw failureOfExit(ran);
  }

  /** `true`: the command runs the turn now, and the lock is its own. */
  async #resume(args: string[], session: SessionFacts, lock: SessionLock): Promise<boolean> {
    const alive = await this.#aliveness(session, true);
    if (alive !== undefined) throw alive;
    const before = await markOf(session.transcriptPath);
    const command = await this.#launch(args, session);
    await lock.handTo(command.pid);
    const end = await within(command.ended, this.#options.startedAfterMs ?? STARTED_AFTER_MS);
    if (end === undefined) {
      this.#turns.follow(session.sessionId, command, lock);
      return true;
    }
    command.letGo();
    if (end.code === 0) return false;
    const why = `the command ended at once with ${end.code ?? end.signal}: ${await command.output()}`;
    const code = `exit_${end.code ?? end.signal}`;
    // What has written nothing has told the session nothing.
    throw (await markOf(session.transcriptPath)) === before ? refused(code, why) : unknownOutcome(code, why);
  }

  async #launch(args: string[], session: SessionFacts): Promise<Launched> {
    await mkdir(this.#options.folder, { recursive: true });
    try {
      return await launch(args, {
        cwd: session.cwd,
        env: this.#options.env,
        outputPath: join(this.#options.folder, `${session.sessionId}.out`),
      });
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'spawn_failed';
      throw refused(code, `the command could not be started: ${String(error)}`);
    }
  }

  #run(args: string[], session: SessionFacts, signal: AbortSignal | undefined): Promise<Ran> {
    const { env, timeoutMs } = this.#options;
    return run(args, { cwd: session.cwd, env, timeoutMs, signal });
  }

  #expanded(command: readonly string[], session: SessionFacts, place?: SessionPlace, nudge?: string): string[] {
    const values: Values = {
      sessionId: session.sessionId,
      cwd: session.cwd,
      transcriptPath: session.transcriptPath,
      project: place?.project,
      nudge,
      nudgeLine: nudge === undefined ? undefined : oneLine(nudge),
    };
    const { args, missing } = expand(command, values);
    if (missing.length > 0) throw refused('placeholder_unknown', `nothing is known for {${missing.join('}, {')}}`);
    return args;
  }
}

const IDLE: SessionStatus = {
  state: 'idle',
  queuedFollowUp: false,
  project: undefined,
  transcriptPath: undefined,
};

/** A folder that is gone is none: the command would not start in it. */
async function factsOf(sessionId: string, place: SessionPlace | undefined): Promise<SessionFacts> {
  const transcriptPath = place?.transcriptPath;
  const cwd = transcriptPath === undefined ? undefined : await sessionFolder(transcriptPath);
  return { sessionId, transcriptPath, cwd: cwd !== undefined && (await isFolder(cwd)) ? cwd : undefined };
}

const isFolder = async (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/** A script that sends says by the same codes as a status command why it did not; any other end leaves the outcome open. */
function failureOfExit(ran: Extract<Ran, { kind: 'ended' }>): SessionApiFailure {
  const state = EXIT_STATES.get(ran.code);
  const why = `the command ended with ${ran.code}: ${ran.stderr.trim().slice(0, 200)}`;
  if (state === 'running') return busy('turn_running', why);
  if (state === 'waiting') return busy('waiting', why);
  if (state === 'closed' || state === 'gone') {
    return new SessionApiFailure({ class: 'gone', code: `exit_${ran.code}`, message: why, mayHaveArrived: false });
  }
  return unknownOutcome(`exit_${ran.code}`, why);
}

/** Size and time of a file, as text; the same where there is none. */
async function markOf(path: string | undefined): Promise<string> {
  if (path === undefined) return 'unknown path';
  return stat(path).then(
    ({ size, mtimeMs, ino }) => `${size} ${mtimeMs} ${ino}`,
    () => 'no file',
  );
}
