import type { ServerFrame } from './frames.ts';

/** What one session is doing, as the frames so far tell. */
export interface PaddockSession {
  project: string;
  sessionId: string;
  /** A model turn runs. */
  running: boolean;
  jobId: string | undefined;
  /** A message waits in the chat's one slot. */
  queued: boolean;
  tasks: { id: string; type?: string; description?: string }[];
}

/** What a frame changed. */
export interface PaddockChange {
  kind: 'started' | 'ended' | 'killed';
  session: PaddockSession;
  /** `ended`: Paddock said that the turn failed. */
  failed?: boolean;
}

interface Entry extends PaddockSession {
  /** Seen on this connection: what the snapshot leaves out has ended meanwhile. */
  confirmed: boolean;
  /** The job whose turn is over: on older servers it may still be called running for the work that it left behind. */
  endedJob: string | undefined;
}

/** More sessions than this, and those at rest are forgotten. */
const MANY = 5_000;

/** Every session that Paddock tells of, from its frames alone. Pure: no socket, no clock. */
export class PaddockBoard {
  readonly #sessions = new Map<string, Entry>();

  get(sessionId: string): PaddockSession | undefined {
    return this.#sessions.get(sessionId.toLowerCase());
  }

  /** A new connection: its snapshot follows. */
  begin(): void {
    for (const entry of this.#sessions.values()) {
      entry.confirmed = false;
      entry.queued = false;
    }
  }

  /** The snapshot is complete: turns that ran before and are not in it have ended. Sessions at rest are forgotten. */
  synced(): PaddockChange[] {
    const changes: PaddockChange[] = [];
    for (const [id, entry] of this.#sessions) {
      if (entry.confirmed) continue;
      if (entry.running) changes.push(this.#end(entry, false));
      this.#sessions.delete(id);
    }
    return changes;
  }

  apply(frame: ServerFrame): PaddockChange[] {
    switch (frame.type) {
      case 'chat:active':
        return this.#active(frame.payload);
      case 'chat:complete': {
        const entry = this.#entry(frame.payload);
        const { jobId, success } = frame.payload;
        const isKnown = jobId !== null && jobId !== undefined && jobId === entry.endedJob;
        if (isKnown) return [];
        entry.jobId = jobId ?? entry.jobId;
        return [this.#end(entry, !success)];
      }
      case 'chat:background':
        this.#entry(frame.payload).tasks = frame.payload.tasks.map(({ id, type, description }) => ({
          id,
          ...(typeof type === 'string' ? { type } : {}),
          ...(typeof description === 'string' ? { description } : {}),
        }));
        return [];
      case 'chat:queued_state':
        this.#entry(frame.payload).queued = typeof frame.payload.text === 'string';
        return [];
      case 'chat:killed_task':
        return [{ kind: 'killed', session: { ...this.#entry(frame.payload) } }];
      case 'chat:error':
      case 'pong':
        return [];
    }
  }

  #active(payload: Extract<ServerFrame, { type: 'chat:active' }>['payload']): PaddockChange[] {
    const entry = this.#entry(payload);
    const jobId = payload.jobId ?? undefined;
    const leftBehind =
      (payload.turnRunning ?? undefined) === undefined && jobId !== undefined && jobId === entry.endedJob;
    const running = (payload.turnRunning ?? payload.running) && !leftBehind;
    if (!running) return entry.running ? [this.#end(entry, false)] : [];
    if (entry.running && (jobId === undefined || entry.jobId === jobId)) return [];
    const before = entry.running ? [this.#end(entry, false)] : [];
    entry.running = true;
    entry.jobId = jobId;
    return [...before, { kind: 'started', session: { ...entry } }];
  }

  #end(entry: Entry, failed: boolean): PaddockChange {
    entry.running = false;
    entry.endedJob = entry.jobId;
    return { kind: 'ended', session: { ...entry }, failed };
  }

  #entry({ projectSlug, sessionId }: { projectSlug: string; sessionId: string }): Entry {
    const id = sessionId.toLowerCase();
    const known = this.#sessions.get(id);
    if (known !== undefined) {
      known.confirmed = true;
      known.project = projectSlug;
      return known;
    }
    const fresh: Entry = {
      project: projectSlug,
      sessionId: id,
      running: false,
      jobId: undefined,
      queued: false,
      tasks: [],
      confirmed: true,
      endedJob: undefined,
    };
    this.#sessions.set(id, fresh);
    if (this.#sessions.size > MANY) this.#forgetRested(fresh);
    return fresh;
  }

  /** A long connection sees ever more chats; one at rest is as good as one that was never seen. */
  #forgetRested(but: Entry): void {
    for (const [id, entry] of this.#sessions) {
      const rests = !entry.running && !entry.queued && entry.tasks.length === 0;
      if (rests && entry !== but) this.#sessions.delete(id);
    }
  }
}
