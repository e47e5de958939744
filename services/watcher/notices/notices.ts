import { backoffMs } from '#shared/session-api/backoff.js';
import { isAfter } from '#shared/trail/stream-id.js';
import type { TrailStream } from '#shared/trail/trail-stream.js';
import type { Counter, Log } from '../ports.ts';
import { isRedisAway } from '../redis-away.ts';
import type { Condition } from './conditions.ts';
import type { DueNotice, Outbox } from './outbox.ts';
import { postNotice, type Receiver } from './post.ts';
import { noticeOfLine } from './types.ts';

export interface NoticeParts {
  outbox: Outbox;
  stream: TrailStream;
  /** `undefined`: nobody is told; conditions are looked at all the same, for their gauges. */
  receiver: Receiver | undefined;
  conditions: () => Promise<Condition[]>;
  count: Counter;
  log: Log;
  tuning?: NoticeTuning | undefined;
}

export interface NoticeTuning {
  /** How often the trail and the outbox are looked at; 1 s. */
  everyMs?: number;
  /** How often conditions are looked at, and when first; 30 s. */
  conditionsEveryMs?: number;
  backoff?: Parameters<typeof backoffMs>[3];
}

export interface Notices {
  stop(): Promise<void>;
}

const EVERY_MS = 1_000;
const CONDITIONS_EVERY_MS = 30_000;
const PIECE = 500;
const AT_ONCE = 10;
/** Longer than a try may take. */
const LEASE_MS = 30_000;
/** A receiver that is away for longer than this has missed what was for it. */
const GIVE_UP_AFTER_MS = 86_400_000;
const BACKOFF = { baseMs: 5_000, capMs: 600_000, floorMs: 2_500 };

/**
 * Tells the outside what happens: made from the trail, kept in Redis, sent by whichever watcher comes first, tried again until
 * the receiver takes it. It shares nothing with recovery but the trail that recovery writes, and never holds it up.
 */
export function startNotices(parts: NoticeParts): Notices {
  const { tuning = {}, receiver } = parts;
  const stopping = new AbortController();
  const conditionsEveryMs = tuning.conditionsEveryMs ?? CONDITIONS_EVERY_MS;
  let lookedMs = performance.now();
  let round: Promise<void> | undefined;

  async function oneRound(): Promise<void> {
    if (performance.now() - lookedMs >= conditionsEveryMs) {
      lookedMs = performance.now();
      await attempt(parts, 'conditions', () => lookAtConditions(parts));
    }
    if (receiver === undefined) return;
    await attempt(parts, 'trail', () => collect(parts, stopping.signal));
    await attempt(parts, 'outbox', () => deliver(parts, receiver, stopping.signal));
  }

  const timer = setInterval(() => {
    round ??= oneRound().finally(() => {
      round = undefined;
    });
  }, tuning.everyMs ?? EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await round;
    },
  };
}

async function attempt({ log, count }: NoticeParts, part: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (err) {
    count('background_failures_total', { part: `notices-${part}` });
    if (isRedisAway(err)) log.debug({ part, err }, 'Redis is away: notices wait.');
    else log.warn({ part, err }, 'A part of the outgoing notices failed; tried again.');
  }
}

async function lookAtConditions({ conditions, outbox, receiver, count }: NoticeParts): Promise<void> {
  for (const { episode, bad } of await conditions()) {
    if (receiver === undefined) continue;
    if (bad === undefined) await outbox.forget(episode);
    else counted(count, await outbox.put([bad]));
  }
}

/** From where some watcher of this deployment stopped last: a restart of all of them misses nothing that is still in the trail. */
async function collect({ outbox, stream, count }: NoticeParts, stopped: AbortSignal): Promise<void> {
  const { last } = await stream.extent();
  let from = await outbox.cursor();
  // Without a cursor it is a first start: what happened before is history. After the end: Redis lost its trail.
  if (from === undefined) return outbox.begin(last);
  if (isAfter(from, last)) return void (await outbox.put([], { from, to: last }));
  while (isAfter(last, from) && !stopped.aborted) {
    const lines = await stream.after(from, PIECE);
    const to = lines.at(-1)?.id;
    if (to === undefined) return;
    const found = lines.flatMap(({ id, entry }) => (entry === undefined ? [] : (noticeOfLine(entry, id) ?? [])));
    const answer = await outbox.put(found, { from, to });
    counted(count, answer);
    if (!answer.taken) return;
    from = to;
  }
}

function counted(count: Counter, answer: Awaited<ReturnType<Outbox['put']>>): void {
  if (!answer.taken) return;
  for (const outcome of ['digested', 'dropped'] as const) {
    for (let n = 0; n < answer[outcome]; n += 1) count('outgoing_notices_total', { outcome });
  }
}

async function deliver(parts: NoticeParts, receiver: Receiver, stopped: AbortSignal): Promise<void> {
  const due = await parts.outbox.take(AT_ONCE, LEASE_MS);
  await Promise.all(due.map((item) => send(parts, receiver, item, stopped)));
}

async function send(parts: NoticeParts, receiver: Receiver, item: DueNotice, stopped: AbortSignal): Promise<void> {
  const { outbox, count, log, tuning } = parts;
  const posted = await postNotice(receiver, item, stopped);
  const { id, type, tries } = item;
  if (posted.kind === 'again') {
    count('outgoing_notices_total', { outcome: 'failed' });
    if (item.ageMs < GIVE_UP_AFTER_MS) {
      const waitMs = backoffMs(tries, Math.random(), undefined, tuning?.backoff ?? BACKOFF);
      log.warn({ notice: id, type, tries, why: posted.code, waitMs }, 'A notice was not taken; tried again.');
      await outbox.again(id, waitMs);
      return;
    }
    log.error({ notice: id, type, tries, why: posted.code }, 'A notice was not taken for a day: given up.');
  }
  if (posted.kind === 'gone') log.error({ notice: id, type }, 'The receiver of notices says that it is gone (410).');
  count('outgoing_notices_total', { outcome: posted.kind === 'taken' ? 'sent' : 'given-up' });
  await outbox.done(id);
}
