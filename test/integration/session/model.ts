/**
 * The life of one watch as the behaviour document tells it, in plain words and plain data: no Redis, no Lua, no leases in
 * milliseconds. The model-based test drives the store and this side by side.
 */
export interface ModelNotice {
  id: string;
  task: string;
}
export interface ModelAttempt {
  noticeId: string;
  kind: 'auto' | 'manual';
  try: number;
  generation: number;
  phase: 'claimed' | 'sending' | 'settled';
  outcome: string | undefined;
  owner: string | undefined;
  /** Somebody may still be at work on it. */
  leased: boolean;
  unknownBefore: boolean;
  /** Refusals counted when it was claimed: part of its key. */
  refusals: number;
}

export class Model {
  generation = 0;
  armed = false;
  closed = false;
  userStopped = false;
  stoppedTasks = new Set<string>();
  notice: ModelNotice | undefined;
  attempt: ModelAttempt | undefined;
  /** An earlier nudge may have started a turn: one without a name proves nothing any more. */
  nudgedBefore = false;
  /** `undefined`: the record began without history. */
  tries: number | undefined;
  refusals = 0;
  manuals = 0;
  paused = false;
  streak = 0;
  exists = false;
  maxRetries = 1;
  /** Every call that was allowed to leave, by key: what a chat server would see. */
  readonly calls = new Map<string, number>();
  /** Keys whose turn started, since the last human message: never more than the cap. */
  autoTurns = 0;

  /** Event time is the test's affair: every event here is newer than the last. */
  turnEnded(outcome: 'completed' | 'interrupted', cause: string): void {
    this.#event(cause);
    this.closed = false;
    if (outcome === 'interrupted') this.userStopped = true;
    this.armed = true;
  }
  turnStarted(cause: string): void {
    this.#event(cause);
  }
  human(): void {
    this.#event('human');
    this.tries = 0;
    this.refusals = 0;
    this.userStopped = false;
    this.notice = undefined;
    this.autoTurns = 0;
  }
  close(): void {
    this.#event('close');
    this.armed = false;
    this.closed = true;
    this.notice = undefined;
  }
  endWatch(): void {
    if (!this.exists) return;
    this.generation += 1;
    this.armed = false;
    this.notice = undefined;
    if (this.attempt?.phase === 'claimed') this.#giveBack('void');
  }
  taskStopped(task: string): void {
    this.exists = true;
    this.stoppedTasks.add(task);
  }

  #event(cause: string): void {
    this.exists = true;
    this.generation += 1;
    const { attempt } = this;
    if (attempt === undefined || attempt.phase === 'settled') return;
    if (attempt.phase === 'claimed') this.#giveBack('void');
    else if (cause === 'recovery' && !this.nudgedBefore) this.#settled('accepted');
  }

  noticed(notice: ModelNotice): boolean {
    if (!this.exists || !this.armed) return false;
    this.notice = notice;
    return true;
  }

  cleared(replied: boolean, nudgeSeen: boolean): void {
    if (!this.exists || this.closed) return;
    const { attempt, notice } = this;
    const open = attempt?.phase === 'sending' || attempt?.outcome === 'unknown';
    const arrived = attempt?.outcome === 'accepted' || (nudgeSeen && open);
    if (replied && arrived && attempt?.noticeId === notice?.id) {
      this.#settled('accepted');
      this.streak = 0;
    } else if (notice !== undefined && attempt?.phase === 'claimed') this.#giveBack('void');
    this.notice = undefined;
  }

  /** @returns the try's number, or the reason that held it. */
  claim(kind: 'auto' | 'manual', noticeId: string, generation: number, owner: string): number | string {
    if (!this.exists) return 'session-unknown';
    if (this.closed) return 'session-closed';
    if (generation !== this.generation || this.notice?.id !== noticeId) return 'superseded';
    if (kind === 'auto') {
      if (this.userStopped || this.stoppedTasks.has(this.notice.task)) return 'user-stop';
      if (this.paused) return 'paused';
    }
    const resumed = this.#goOnWith(kind, noticeId, owner);
    if (resumed !== undefined) return resumed;
    const { attempt } = this;
    const same = attempt?.noticeId === noticeId && (attempt.outcome === 'accepted' || attempt.outcome === 'unknown');
    if (same && kind === 'auto') return 'already-nudged';
    const tries = this.tries ?? 0;
    if (kind === 'auto' && tries >= this.maxRetries) return 'cap-reached';
    if (attempt?.outcome === 'accepted' || attempt?.outcome === 'unknown') this.nudgedBefore = true;
    const number = kind === 'auto' ? tries + 1 : this.manuals + 1;
    this.attempt = {
      noticeId,
      kind,
      try: number,
      generation,
      phase: 'claimed',
      outcome: undefined,
      owner,
      leased: true,
      unknownBefore: false,
      refusals: kind === 'auto' ? this.refusals : 0,
    };
    if (kind === 'auto') this.tries = tries + 1;
    else this.manuals += 1;
    return number;
  }

  /** An unsettled attempt is gone on with, waited for, given back, or written off. */
  #goOnWith(kind: 'auto' | 'manual', noticeId: string, owner: string): number | string | undefined {
    const { attempt } = this;
    if (attempt === undefined || attempt.phase === 'settled') return undefined;
    if (attempt.leased && attempt.owner !== owner) return 'attempt-under-way';
    const stale = attempt.generation !== this.generation;
    if (attempt.phase === 'claimed' && (stale || attempt.noticeId !== noticeId || attempt.kind !== kind)) {
      this.#giveBack('void');
      return undefined;
    }
    if (stale && attempt.noticeId !== noticeId) {
      this.#settled('unknown');
      return undefined;
    }
    if (stale && attempt.kind === 'auto') this.tries = Math.max(this.tries ?? 0, 1);
    attempt.generation = this.generation;
    attempt.owner = owner;
    attempt.leased = true;
    return attempt.try;
  }

  /** @returns true where the call may leave. */
  sending(owner: string): boolean {
    const { attempt } = this;
    if (attempt === undefined || attempt.phase === 'settled' || attempt.owner !== owner) return false;
    const auto = attempt.kind === 'auto';
    const stopped = this.userStopped || (this.notice !== undefined && this.stoppedTasks.has(this.notice.task));
    const held =
      this.closed ||
      attempt.generation !== this.generation ||
      (auto && (this.paused || stopped || this.notice === undefined));
    if (held) {
      if (attempt.phase === 'claimed') this.#giveBack('void');
      else this.#release();
      return false;
    }
    attempt.phase = 'sending';
    attempt.leased = true;
    const key = this.key();
    this.calls.set(key, (this.calls.get(key) ?? 0) + 1);
    return true;
  }

  /** What the idempotency key stands for. */
  key(): string {
    const { attempt } = this;
    return JSON.stringify([attempt?.noticeId, attempt?.kind, attempt?.try, attempt?.refusals]);
  }

  release(owner: string, unknown: boolean): void {
    const { attempt } = this;
    if (attempt === undefined || attempt.phase === 'settled' || attempt.owner !== owner) return;
    this.#release();
    attempt.unknownBefore ||= unknown;
  }

  settle(outcome: 'accepted' | 'refused' | 'unknown' | 'failed'): boolean {
    const { attempt } = this;
    if (attempt === undefined) return false;
    if (attempt.phase === 'settled') {
      if (attempt.outcome !== 'unknown' || outcome !== 'accepted') return false;
      attempt.outcome = 'accepted';
      return true;
    }
    if (outcome === 'accepted') this.#settled('accepted');
    else if (outcome === 'unknown') {
      this.#settled('unknown');
      this.#failure();
    } else {
      this.refusals += 1;
      if (attempt.unknownBefore) this.#settled(outcome);
      else this.#giveBack(outcome);
      if (outcome === 'failed') this.#failure();
    }
    return true;
  }

  resume(): void {
    this.paused = false;
    this.streak = 0;
  }

  /** The lease of whoever holds the attempt runs out. */
  expireLease(): void {
    if (this.attempt !== undefined) this.attempt.leased = false;
  }

  #failure(): void {
    this.streak += 1;
    if (this.streak >= 5) this.paused = true;
  }
  #release(): void {
    if (this.attempt === undefined) return;
    this.attempt.leased = false;
    this.attempt.owner = undefined;
  }
  #settled(outcome: string): void {
    if (this.attempt === undefined) return;
    this.attempt.phase = 'settled';
    this.attempt.outcome = outcome;
    this.#release();
  }
  #giveBack(outcome: string): void {
    if (this.attempt?.kind === 'auto') this.tries = Math.max(0, (this.tries ?? 0) - 1);
    this.#settled(outcome);
  }
}
