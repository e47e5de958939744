import { setTimeout as sleep } from 'node:timers/promises';
import { appendTurn, chatter, killTask, reply, type BenchChat } from '../kit/chats.ts';
import type { Deliverer } from '../kit/deliver.ts';
import { delivery } from '../kit/deliveries.ts';
import type { Site } from '../kit/site.ts';
import type { PlannedChat, PlannedTurn } from './day-plan.ts';

/** One kill, and the nudges that it brought. */
interface Kill {
  killedMs: number;
  nudgedMs: number[];
}

/** One nudge: when it came, and how long after kill and debounce. */
export interface Nudged {
  atMs: number;
  overshootMs: number;
}

const LABEL = '[Paddock recovery] Please go on.';
const NUDGED_REPLY_MS = 300;
/** Far more than a nudge takes on a machine that is at its limit. */
const MISSED_AFTER_MS = 60_000;

/** Lives the chats of a day as a chat server and Claude Code would, and keeps account of kills and nudges. */
export class DayChats {
  turnEnds = 0;
  appends = 0;
  readonly kills: Kill[] = [];
  readonly nudged: Nudged[] = [];
  /** Nudges of chats in which nothing was killed, or not yet. */
  stray = 0;
  readonly #site: Site;
  readonly #deliverer: Deliverer;
  readonly #debounceMs: number;
  readonly #lastKill = new Map<string, Kill>();
  readonly #waiting = new Map<string, () => void>();
  #ids = 0;

  constructor(site: Site, deliverer: Deliverer, debounceMs: number) {
    this.#site = site;
    this.#deliverer = deliverer;
    this.#debounceMs = debounceMs;
    site.api.onTurn = ({ sessionId, atMs }) => this.#onNudge(sessionId, atMs);
  }

  get missed(): number {
    return this.kills.filter(({ nudgedMs }) => nudgedMs.length === 0).length;
  }

  get twice(): number {
    return this.kills.filter(({ nudgedMs }) => nudgedMs.length > 1).length;
  }

  /** The chat's whole life, from its first message on. */
  async live({ turns, closes }: PlannedChat): Promise<void> {
    const [chat] = this.#site.makeChats(1, 0);
    if (chat === undefined) throw new Error('There is no chat.');
    for (const [n, turn] of turns.entries()) {
      if (n > 0) await sleep(turn.pauseMs);
      await this.#turn(chat, n + 1, turn);
      if (turn.killedAfterMs !== undefined) await this.#killed(chat, n + 1, turn.killedAfterMs);
    }
    if (!closes) return;
    await this.#deliver(delivery(chat, 'session.closed', { reason: 'ended' }, this.#id(chat)));
    this.#site.api.sessions.delete(chat.sessionId);
  }

  async #turn(chat: BenchChat, number: number, { lengthMs }: PlannedTurn): Promise<void> {
    await this.#deliver(delivery(chat, 'message.human', {}, this.#id(chat)));
    await this.#begin(chat, 'human');
    if (number > 1) appendTurn(chat, number);
    await sleep(lengthMs / 2);
    chatter(chat);
    await sleep(lengthMs / 2);
    this.appends += 2;
    await this.#end(chat, 'human', number);
  }

  /** The chat's task is killed; a nudge brings a turn of its own. */
  async #killed(chat: BenchChat, number: number, afterMs: number): Promise<void> {
    await sleep(afterMs);
    const kill: Kill = { killedMs: Date.now(), nudgedMs: [] };
    this.kills.push(kill);
    this.#lastKill.set(chat.sessionId, kill);
    const nudge = this.#nextNudge(chat.sessionId);
    killTask(chat, number);
    this.appends += 1;
    if (!(await nudge)) return;
    await this.#begin(chat, 'recovery');
    await sleep(NUDGED_REPLY_MS);
    reply(chat, LABEL);
    this.appends += 1;
    await this.#end(chat, 'recovery', number);
  }

  /** `false`: none came. */
  #nextNudge(sessionId: string): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (came: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(sessionId);
        resolve(came);
      };
      const timer = setTimeout(() => settle(false), MISSED_AFTER_MS);
      this.#waiting.set(sessionId, () => settle(true));
    });
  }

  #onNudge(sessionId: string, atMs: number): void {
    const kill = this.#lastKill.get(sessionId);
    if (kill === undefined) this.stray += 1;
    else {
      kill.nudgedMs.push(atMs);
      this.nudged.push({ atMs, overshootMs: atMs - kill.killedMs - this.#debounceMs });
    }
    this.#waiting.get(sessionId)?.();
  }

  async #begin(chat: BenchChat, cause: 'human' | 'recovery'): Promise<void> {
    this.#setState(chat, 'running');
    await this.#deliver(delivery(chat, 'turn.started', { cause }, this.#id(chat)));
  }

  async #end(chat: BenchChat, cause: 'human' | 'recovery', number: number): Promise<void> {
    this.#setState(chat, 'idle');
    const turnId = `${cause}-${number}`;
    const fields = { driveMode: 'session', outcome: 'completed', cause, turnId } as const;
    await this.#deliver(delivery(chat, 'turn.ended', fields, this.#id(chat)));
    this.turnEnds += 1;
  }

  #setState({ sessionId }: BenchChat, state: 'running' | 'idle'): void {
    const session = this.#site.api.sessions.get(sessionId);
    if (session !== undefined) session.state = state;
  }

  #deliver(request: Buffer): Promise<void> {
    return this.#deliverer.deliver(request);
  }

  #id({ sessionId }: BenchChat): { id: string } {
    this.#ids += 1;
    return { id: `${sessionId}-${this.#ids}` };
  }
}
