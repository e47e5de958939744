import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, type Bench, type BenchContext, type BenchRow } from '../kit/bench.ts';
import { kill, makeChats, type BenchChat } from '../kit/chats.ts';
import { cpuSince } from '../kit/cpu.ts';
import { turnEnd } from '../kit/deliveries.ts';
import { Site } from '../kit/site.ts';
import { startStandIn } from '../kit/stand-in.ts';
import { quantile, spreadOf } from '../kit/statistics.ts';

/**
 * Bars 2 and 4: many turn ends over 10 s, a tenth of them killed after 2 s. CPU against polling, over the same time; and
 * how long after its debounce each killed chat was nudged.
 *
 * Both sides have lived through a thousand turn ends before: what is compared is what watching costs for days, not what Node
 * spends once on compiling a program that has just started.
 */

const SPREAD_MS = 10_000;
const DEBOUNCE_MS = 5_000;
const KILLED_AFTER_MS = 2_000;
const KILLED_EACH = 10;
const REPEAT_AFTER_MS = 500;
/** Turn ends that warm both sides up, so much apart, and when the last of them has been polled for the last time. */
const WARM_UP = { chats: 1_000, apartMs: 2, doneMs: DEBOUNCE_MS + 13_000 };
/** As long as polling goes on after the last turn's end, and a bit. */
const WINDOW_MS = SPREAD_MS + DEBOUNCE_MS + 12_000 + 1_000;
/** CPU of one poll of the engine that polling stands for; the stand-in counts only while it is within a quarter of it. */
const POLL_US = { least: 80 * 0.75, most: 90 * 1.25 };

interface Outcome {
  cpuMs: number;
  parts: Record<string, number>;
  /** Milliseconds after the debounce, one for each nudge. */
  overshootMs: number[];
  missed: number;
  twice: number;
  /** Deliveries that were answered 503 and sent again. */
  repeated?: number;
}

type Polled = Outcome & { pollUs: number };

export const turnEnds: Bench = {
  name: 'turn-ends',
  about: 'CPU and overshoot of many turn ends, against polling',
  async run(context) {
    const ours: Outcome[] = [];
    const theirs: Polled[] = [];
    for (let round = 0; round < context.scale.rounds; round += 1) {
      ours.push(await playOurs(context));
      theirs.push(await playPolling(context));
      const [mine, other] = [ours.at(-1), theirs.at(-1)];
      context.say(
        `turn-ends ${round + 1}: ${mine?.cpuMs} ms ${JSON.stringify(mine?.parts)} against ${other?.cpuMs} ms`,
      );
    }
    return { rows: rowsOf(context, ours, theirs), detail: { ours: ours.map(brief), polling: theirs.map(brief) } };
  },
};

const brief = ({ overshootMs, ...rest }: Outcome) => ({
  ...rest,
  overshootMs: {
    least: Math.min(...overshootMs),
    median: quantile(overshootMs, 0.5),
    p99: quantile(overshootMs, 0.99),
  },
});

function rowsOf({ scale }: BenchContext, ours: Outcome[], theirs: Polled[]): BenchRow[] {
  const each = (q: number) => spreadOf(ours.map(({ overshootMs }) => quantile(overshootMs, q)));
  const least = spreadOf(ours.map(({ overshootMs }) => Math.min(...overshootMs)));
  const notOnce = ours.reduce((sum, { missed, twice }) => sum + missed + twice, 0);
  const odd = theirs.find(({ pollUs }) => pollUs < POLL_US.least || pollUs > POLL_US.most);
  const what = `${scale.chats} turn ends in 10 s, a tenth killed`;
  return [
    atMost(0.7, {
      bar: 2,
      what: `${what}: CPU of watcher, worker, Redis`,
      against: '× polling each 750 ms',
      figure: spreadOf(ours.map(({ cpuMs }, round) => cpuMs / (theirs[round]?.cpuMs ?? Number.NaN))),
      ...(odd === undefined ? {} : { void: `a poll cost ${odd.pollUs.toFixed(0)} µs` }),
    }),
    atMost(50, { bar: 4, what: 'overshoot in that run, median', against: 'ms', figure: each(0.5) }),
    atMost(150, { bar: 4, what: 'overshoot in that run, p99', against: 'ms', figure: each(0.99) }),
    { bar: 4, what: 'overshoot in that run, least', against: 'ms', figure: least, limit: '>= 0', met: least.min >= 0 },
    atMost(0, {
      bar: 4,
      what: 'killed chats of all rounds not nudged exactly once',
      against: 'chats',
      figure: spreadOf([notOnce]),
    }),
  ];
}

/** Calls `end` for each chat over the spread, and kills each tenth 2 s later. Resolves with the moments of the kills. */
async function play(chats: readonly BenchChat[], end: (chat: BenchChat) => void): Promise<Map<string, number>> {
  const killedMs = new Map<string, number>();
  const startMs = performance.now();
  const killLater = (chat: BenchChat): void => {
    setTimeout(() => {
      killedMs.set(chat.sessionId, Date.now());
      kill(chat);
    }, KILLED_AFTER_MS);
  };
  for (const [n, chat] of chats.entries()) {
    const dueMs = startMs + (n / chats.length) * SPREAD_MS;
    if (dueMs > performance.now()) await sleep(dueMs - performance.now());
    end(chat);
    if (n % KILLED_EACH === 0) killLater(chat);
  }
  await sleep(startMs + WINDOW_MS - performance.now());
  return killedMs;
}

/** Turn ends and kills as in the run itself; resolves once nothing of them is under way any more. */
async function warmUp(chats: readonly BenchChat[], end: (chat: BenchChat) => void): Promise<void> {
  for (const [n, chat] of chats.entries()) {
    end(chat);
    if (n % KILLED_EACH === 0) setTimeout(() => kill(chat), KILLED_AFTER_MS);
    await sleep(WARM_UP.apartMs);
  }
  await sleep(WARM_UP.doneMs);
}

function outcome(cpu: Record<string, number>, killed: Map<string, number>, nudges: { id: string; atMs: number }[]) {
  const counts = new Map<string, number>();
  for (const { id } of nudges) counts.set(id, (counts.get(id) ?? 0) + 1);
  return {
    cpuMs: cpu['all'] ?? 0,
    parts: cpu,
    overshootMs: nudges.map(({ id, atMs }) => atMs - (killed.get(id) ?? Number.NaN) - DEBOUNCE_MS),
    missed: [...killed.keys()].filter((id) => !counts.has(id)).length,
    twice: [...counts.values()].filter((count) => count > 1).length,
  };
}

async function playOurs({ root, scale }: BenchContext): Promise<Outcome> {
  const site = await Site.start({ root, debounceMs: DEBOUNCE_MS });
  try {
    const warm = site.makeChats(WARM_UP.chats);
    const chats = site.makeChats(scale.chats);
    let repeated = 0;
    /** As a chat server does: a 503 promises nothing, so the delivery is sent again. */
    const deliver = async (request: Buffer): Promise<void> => {
      const { status, body } = await site.sender.send(request);
      if (status === 202) return;
      if (status !== 503) throw new Error(`A delivery was answered ${status}: ${body}`);
      repeated += 1;
      await sleep(REPEAT_AFTER_MS);
      await deliver(request);
    };
    await warmUp(warm, (chat) => void deliver(turnEnd(chat, 1)));
    const before = site.api.received.length;
    const used = cpuSince(site.pids());
    const killed = await play(chats, (chat) => void deliver(turnEnd(chat, 1)));
    const nudges = site.api.received.slice(before).filter((message) => message.outcome === 'started');
    const moments = nudges.map(({ sessionId, atMs }) => ({ id: sessionId, atMs }));
    return { ...outcome(used(), killed, moments), repeated };
  } finally {
    await site.close();
  }
}

async function playPolling({ scale }: BenchContext): Promise<Polled> {
  const folder = mkdtempSync(join(tmpdir(), 'chat-recovery-bench-'));
  const standIn = await startStandIn('polling', { debounceMs: DEBOUNCE_MS, forever: false });
  try {
    const warm = makeChats(join(folder, 'warm'), WARM_UP.chats);
    const chats = makeChats(folder, scale.chats);
    const nudges: { id: string; atMs: number }[] = [];
    standIn.onTold = (message) => {
      const { nudge, atMs } = message as { nudge: string; atMs: number };
      nudges.push({ id: nudge, atMs });
    };
    const watch = ({ sessionId, path }: BenchChat): void => standIn.tell({ watch: sessionId, path });
    await warmUp(warm, watch);
    nudges.length = 0;
    const before = await standIn.ask<{ polls: number }>({ report: true });
    const used = cpuSince({ polling: [standIn.pid] });
    const killed = await play(chats, watch);
    const cpu = used();
    const polls = (await standIn.ask<{ polls: number }>({ report: true })).polls - before.polls;
    return { ...outcome(cpu, killed, nudges), pollUs: (cpu.all * 1_000) / polls };
  } finally {
    await standIn.stop();
    rmSync(folder, { recursive: true });
  }
}
