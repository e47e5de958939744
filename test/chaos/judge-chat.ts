import type { Left, Recorded, Started } from './journal.ts';
import type { StoryEntry } from './transcript-story.ts';

/*
 * What "exactly once per cap" means, in plain words.
 *
 * A HANG begins when a killed notice stands at the chat's end with nothing standing before it, and is over when a reply
 * follows a prompt that came after the notice. Kills that join a standing one belong to the same hang. What is left
 * standing after such a reply is a hang of its own.
 *
 * A nudge is a call that STARTED A TURN. It belongs to the hang that stood when the call LEFT its worker: a wire that
 * froze on the way is not the sender's knowledge. The chat server's own order of events is the clock of all that follows.
 *
 * - TWICE: a hang to which a second nudge belongs. Always wrong, whatever the cap.
 * - MISSED: a hang that stands to the end without a nudge and without an excuse. There are four excuses: as many nudges as
 *   the cap allows since the person's last prompt; its user stopped its task, or had interrupted the turn before;
 *   the chat was closed by its user; the session API knew it no more.
 * - A hang that a person's prompt or a wake answered may have one nudge or none: whoever came first was right.
 * - WRONG: a nudge that left when it must not. No killed notice stood; or the newest notice was younger than the debounce;
 *   or the cap was used up; or a wake or a person's turn was under way; or its user had stopped the task and that had been
 *   answered 2xx; or the chat was closed.
 * - LOST: a webhook that was answered 2xx and not acted on: a turn's end whose hang was missed; a person's message after
 *   which a nudge for what it had answered still left, or the counter was not back at zero (the next hang was missed); a stop
 *   or a close after which a nudge left.
 *
 * The one race that is nobody's fault: between the last look of a worker and its call a person acts. The call is then
 * decided by `onlyIfIdle`: a turn that began is refused, a nudge that came before it was right. It counts as such a race, is
 * shown as `raced` and not called wrong, where the act came no more than LOOK_MS before the call left for what stands in the
 * transcript (a worker looks at the file once more right before it calls), and no more than TOLD_MS for what only a webhook
 * told (a permission of Redis counts for a second). A nudge that raced a person's turn belongs to the hang that this turn
 * answered, and comes before the person for the cap.
 */
export const LOOK_MS = 500;
export const TOLD_MS = 1_500;

export interface Hang {
  tasks: Set<string>;
  sinceMs: number;
  /** Its newest notice: the debounce counts from here. */
  newestMs: number;
  nudges: Nudge[];
  /** What answered it and when; `undefined`: it stands to the end. */
  answered: { by: 'human' | 'nudge' | 'wake'; atMs: number } | undefined;
  /** Its user interrupted the turn before the kill. */
  interrupted: boolean;
  /** As many nudges as the cap allows had been used when it was last looked at here. */
  capped: boolean;
}

export interface Nudge {
  started: Started;
  /** When and at what length of the transcript the call left its worker. */
  leftMs: number;
  leftBytes: number;
  wrong: string | undefined;
  raced: boolean;
}

export interface ChatCase {
  id: string;
  kind: string;
  cap: number;
  debounceMs: number;
  /** In the order of the journal, this chat's only. */
  events: Recorded[];
  story: StoryEntry[];
}

export interface ChatVerdict {
  hangs: Hang[];
  nudges: Nudge[];
  missed: Hang[];
  /** A webhook's id or type, and why it is lost. */
  lost: string[];
}

/** Goes through one chat's life in its order and judges each hang and each nudge. Pure. */
export function judgeChat(chat: ChatCase): ChatVerdict {
  const life = new Life(chat);
  const nudges = startedNudges(chat.events);
  let next = 0;
  for (const entry of chat.story) {
    for (let nudge = nudges[next]; nudge !== undefined && nudge.leftBytes < entry.end; nudge = nudges[next]) {
      life.nudge(nudge);
      next += 1;
    }
    life.entry(entry);
  }
  for (const nudge of nudges.slice(next)) life.nudge(nudge);
  return life.verdict(nudges);
}

/** Every call that started a turn, with the moment at which it left: the last one of that key before it. */
function startedNudges(events: readonly Recorded[]): Nudge[] {
  const nudges: Nudge[] = [];
  const left = new Map<string, Left>();
  for (const event of events) {
    if (event.t === 'left') left.set(`${event.worker} ${event.key}`, event);
    if (event.t !== 'post' || event.outcome !== 'started') continue;
    const from = left.get(`${event.worker} ${event.key}`) ?? event;
    nudges.push({ started: event, leftMs: from.atMs, leftBytes: from.bytes, wrong: undefined, raced: false });
  }
  return nudges.toSorted((a, b) => a.leftBytes - b.leftBytes || a.leftMs - b.leftMs);
}

/** What a call may have crossed on its way, and the hang that it was meant for where that is over. */
interface Crossed {
  sinceMs: number;
  withinMs: number;
  hang: Hang | undefined;
}
interface Fault {
  why: string;
  crossed: Crossed | undefined;
}
const told = (sinceMs: number): Crossed => ({ sinceMs, withinMs: TOLD_MS, hang: undefined });

/** The chat as it stands after each entry. */
class Life {
  readonly #chat: ChatCase;
  readonly #hangs: Hang[] = [];
  /** Tasks whose notice stands, and whether a prompt came after it. */
  readonly #standing = new Map<string, boolean>();
  #hang: Hang | undefined;
  #lastHang: Hang | undefined;
  #nudges = 0;
  #open: { by: 'human' | 'nudge' | 'wake'; atMs: number } | undefined;
  #interrupted = false;
  /** The hang that was answered last, and the prompt that did it. */
  #answered: { hang: Hang; promptMs: number } | undefined;
  #lost: string[] = [];

  constructor(chat: ChatCase) {
    this.#chat = chat;
  }

  entry(entry: StoryEntry): void {
    switch (entry.what) {
      case 'killed':
        return this.#killed(entry.taskId, entry.atMs);
      case 'ended':
        if (this.#hang !== undefined) this.#hang.newestMs = entry.atMs;
        return undefined;
      case 'human':
        this.#nudges = 0;
        this.#interrupted = false;
        return this.#prompt('human', entry.atMs);
      case 'nudge':
      case 'wake':
        return this.#prompt(entry.what, entry.atMs);
      case 'interrupted':
        this.#interrupted = true;
        this.#open = undefined;
        return undefined;
      case 'reply':
        return this.#reply(entry.atMs);
    }
  }

  #killed(taskId: string, atMs: number): void {
    this.#standing.set(taskId, false);
    this.#hang ??= this.#begin(atMs);
    this.#hang.tasks.add(taskId);
    this.#hang.newestMs = atMs;
  }

  #begin(atMs: number): Hang {
    const hang: Hang = {
      tasks: new Set(),
      sinceMs: atMs,
      newestMs: atMs,
      nudges: [],
      answered: undefined,
      interrupted: this.#interrupted,
      capped: false,
    };
    this.#hangs.push(hang);
    this.#lastHang = hang;
    return hang;
  }

  #prompt(by: 'human' | 'nudge' | 'wake', atMs: number): void {
    for (const task of this.#standing.keys()) this.#standing.set(task, true);
    this.#open = { by, atMs };
  }

  #reply(atMs: number): void {
    const open = this.#open;
    this.#open = undefined;
    this.#interrupted = false;
    for (const [task, isDelivered] of this.#standing) if (isDelivered) this.#standing.delete(task);
    const before = this.#hang;
    if (before === undefined || open === undefined) return;
    const isOver = [...before.tasks].some((task) => !this.#standing.has(task));
    if (!isOver) return;
    before.answered = { by: open.by, atMs };
    this.#answered = { hang: before, promptMs: open.atMs };
    this.#hang = undefined;
    if (this.#standing.size === 0) return;
    this.#hang = this.#begin(before.newestMs);
    for (const task of this.#standing.keys()) {
      before.tasks.delete(task);
      this.#hang.tasks.add(task);
    }
  }

  nudge(nudge: Nudge): void {
    const fault = this.#faultOf(nudge);
    const raced = fault?.crossed;
    const isRaced = raced !== undefined && nudge.leftMs - raced.sinceMs <= raced.withinMs;
    nudge.raced = isRaced;
    nudge.wrong = isRaced ? undefined : fault?.why;
    const hang = isRaced && raced.hang !== undefined ? raced.hang : (this.#hang ?? this.#lastHang);
    hang?.nudges.push(nudge);
    if (!isRaced || raced.hang === undefined) this.#nudges += 1;
  }

  /** Why it must not have left. */
  #faultOf(nudge: Nudge): Fault | undefined {
    const { cap, debounceMs } = this.#chat;
    const closed = this.#since(nudge, (event) => event.t === 'accepted' && event.type === 'session.closed');
    if (closed !== undefined) return { why: 'the chat was closed', crossed: told(closed) };
    const hang = this.#hang;
    if (hang === undefined) return { why: 'nothing hung', crossed: this.#crossedAnswer() };
    if (this.#open !== undefined && this.#open.by !== 'nudge') {
      const crossed = { sinceMs: this.#open.atMs, withinMs: LOOK_MS, hang };
      return { why: this.#open.by === 'human' ? 'a person’s turn ran' : 'a wake was under way', crossed };
    }
    if (nudge.leftMs < hang.newestMs + debounceMs) {
      return { why: 'before the debounce was over', crossed: this.#crossedAnswer() };
    }
    if (this.#nudges >= cap) return { why: 'over the cap', crossed: undefined };
    if (hang.interrupted) return { why: 'its user had interrupted the turn', crossed: undefined };
    const stopped = this.#stoppedSince(hang, nudge);
    return stopped === undefined ? undefined : { why: 'its user had stopped the task', crossed: told(stopped) };
  }

  #crossedAnswer(): Crossed | undefined {
    const answered = this.#answered;
    return answered && { sinceMs: answered.promptMs, withinMs: LOOK_MS, hang: answered.hang };
  }

  #stoppedSince(hang: Hang, nudge: Nudge): number | undefined {
    const moments = [...hang.tasks].map((task) =>
      this.#since(nudge, (event) => event.t === 'accepted' && event.type === 'task.stopped' && event.taskId === task),
    );
    return moments.includes(undefined) ? undefined : Math.max(...moments.map(Number));
  }

  /** When the first such event came that was before the call left. */
  #since(nudge: Nudge, isIt: (event: Recorded) => boolean): number | undefined {
    return this.#chat.events.find((event) => isIt(event) && event.atMs <= nudge.leftMs)?.atMs;
  }

  verdict(nudges: Nudge[]): ChatVerdict {
    const standing = this.#hang;
    const missed: Hang[] = [];
    if (standing !== undefined && standing.nudges.length === 0) {
      standing.capped = this.#nudges >= this.#chat.cap;
      if (!standing.capped && !this.#isExcused(standing)) missed.push(standing);
    }
    this.#findLost(missed, nudges);
    return { hangs: this.#hangs, nudges, missed, lost: this.#lost };
  }

  #isExcused(hang: Hang): boolean {
    const { events } = this.#chat;
    const isTaken = events.some((event) => event.t === 'closed' || event.t === 'gone');
    const stopped = new Set(events.flatMap((event) => (event.t === 'stopped' ? [event.taskId] : [])));
    return isTaken || hang.interrupted || [...hang.tasks].every((task) => stopped.has(task));
  }

  #findLost(missed: Hang[], nudges: Nudge[]): void {
    const accepted = this.#chat.events.filter((event) => event.t === 'accepted');
    if (missed.length > 0) {
      const human = accepted.findLast(({ type }) => type === 'message.human');
      const ended = accepted.findLast(({ type }) => type === 'turn.ended');
      if (ended !== undefined) this.#lost.push(`turn.ended ${ended.id}: its hang was never nudged`);
      if (human !== undefined && nudges.length > 0) this.#lost.push(`message.human ${human.id}: counter not at zero`);
    }
    for (const { wrong } of nudges) {
      if (wrong !== undefined && LOST_WITH.has(wrong)) this.#lost.push(`a nudge left although ${wrong}`);
    }
    for (const event of this.#chat.events) {
      if (event.t === 'refused')
        this.#lost.push(`${event.type} ${event.id} was refused: ${event.status} ${event.body}`);
    }
  }
}

/** Wrong because of something that a webhook had said and that was answered 2xx. */
const LOST_WITH = new Set(['the chat was closed', 'its user had stopped the task']);
