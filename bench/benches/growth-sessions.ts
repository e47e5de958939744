import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { chatter, type BenchChat } from '../kit/chats.ts';
import { cpuSince, rssOf } from '../kit/cpu.ts';
import { Deliverer } from '../kit/deliver.ts';
import { turnEnd } from '../kit/deliveries.ts';
import { Site, TAG } from '../kit/site.ts';
import { grown, type Grown, type Point, type Say } from './growth.ts';

/** What more armed sessions do to the costs of each, one deployment for each number of them. */

interface SessionsPoint {
  redisBytes: number;
  rssBytes: number;
  turnEndUs: number;
  appendUs: number;
  idlePercent: number;
  /** Files with a system watch; the steps of the armed index see to the others. */
  watchedFiles: number;
  /** Deliveries that were answered 503 and sent again. */
  repeated: number;
  /** Steps fell into the time in which nothing was to happen. */
  idleWithSteps: boolean;
  madeMs: number;
  armedMs: number;
}

const CONNECTIONS = 50;
/** Just more than what a look at a transcript's end reads at first, so that each looks at as much as in a long chat. */
const FILL_BYTES = 16_000;
/** Turn ends of one chat before anything is counted: compiled code, pools and the heap then are as they will be. */
const WARM_UP = 1_000;
/** By then at the latest the 2 min steps are over, and nothing is due before 10 min. */
const STEPS_GIVE_UP_MS = 150_000;
const IDLE_MS = 10_000;
const APPENDS = 1_000;
/** So many chats are appended to, however many are armed: ten entries each, as in a turn. */
const APPENDED_TO = 100;
/** Appends are heard of only where there is a watch, and those that were armed first have one. */
const SURELY_WATCHED = 15_000;

export async function sessionsGrow(root: string, sizes: readonly number[], say: Say): Promise<Grown[]> {
  const measured: (readonly [number, SessionsPoint])[] = [];
  for (const size of sizes) {
    const point = await sessionsOf(root, size);
    measured.push([size, point]);
    say(`${size} sessions: ${JSON.stringify(point)}`);
    if (point.watchedFiles < size) say(`  ${size - point.watchedFiles} of them have no file watch: left to the steps`);
    if (point.idleWithSteps) say('  idle CPU has steps of the armed index in it');
  }
  return chartsOf((pick) => measured.map(([size, point]) => [size, pick(point)]));
}

function chartsOf(points: (pick: (point: SessionsPoint) => number) => Point[]): Grown[] {
  const each = { x: 'armed sessions', logX: true, inProportion: 0 };
  return [
    grown(
      'redis-memory',
      { ...each, title: 'Redis memory of an armed session', y: 'bytes' },
      points((p) => p.redisBytes),
    ),
    grown(
      'turn-end-cpu',
      { ...each, title: 'CPU of a first turn end: watcher, worker and Redis', y: 'µs' },
      points((p) => p.turnEndUs),
    ),
    grown(
      'append-cpu',
      { ...each, title: 'CPU of an append to a watched file: watcher', y: 'µs' },
      points((p) => p.appendUs),
    ),
    grown(
      'idle-cpu',
      { ...each, inProportion: 1, title: 'CPU of everything while nothing happens', y: '% of a core' },
      points((p) => p.idlePercent),
    ),
    grown(
      'watcher-memory',
      {
        ...each,
        x: 'armed sessions (the first 20,000 files are watched)',
        title: 'Memory of the watcher for an armed session',
        y: 'KB',
      },
      points((p) => p.rssBytes / 1_024),
    ),
  ];
}

async function sessionsOf(root: string, size: number): Promise<SessionsPoint> {
  const site = await Site.start({ root, connections: CONNECTIONS });
  try {
    const startMs = performance.now();
    const [first, ...chats] = site.makeChats(size + 1, FILL_BYTES);
    if (first === undefined) throw new Error('There are no chats.');
    const madeMs = Math.round(performance.now() - startMs);
    const deliverer = new Deliverer(() => site.sender);
    await warmUp(deliverer, first);
    const arming = await arm(site, deliverer, chats);
    const idleWithSteps = !(await stepsAreOver(site));
    const rssBytes = (rssOf(watcherOf(site)) - arming.rssBefore) / size;
    const idle = cpuSince(site.pids());
    await sleep(IDLE_MS);
    const idlePercent = (idle().all / IDLE_MS) * 100;
    const appendUs = await append(site, chats.slice(0, SURELY_WATCHED));
    const watchedFiles = watchesOf(watcherOf(site));
    const { rssBefore: _, ...costs } = arming;
    return {
      ...costs,
      rssBytes,
      appendUs,
      idlePercent,
      watchedFiles,
      repeated: deliverer.repeated,
      idleWithSteps,
      madeMs,
    };
  } finally {
    await site.close();
  }
}

const watcherOf = (site: Site): number => site.pids().watcher[0] ?? 0;

async function warmUp(deliverer: Deliverer, chat: BenchChat): Promise<void> {
  const startMs = Date.now();
  const turns = Array.from({ length: WARM_UP }, (_, n) => n + 1);
  // Stamps may not lie ahead; each is later than the one before.
  await deliverer.deliverAll(turns, CONNECTIONS, (turn) => turnEnd(chat, turn, startMs - WARM_UP + turn));
}

async function arm(site: Site, deliverer: Deliverer, chats: readonly BenchChat[]) {
  const redisBefore = await site.redis.usedMemory();
  const rssBefore = rssOf(watcherOf(site));
  const startMs = performance.now();
  const used = cpuSince(site.pids());
  await deliverer.deliverAll(chats, CONNECTIONS, (chat) => turnEnd(chat, 1));
  // The last answers are out before their files have been looked at.
  await looksAreOver(site);
  return {
    rssBefore,
    turnEndUs: (used().all * 1_000) / chats.length,
    redisBytes: ((await site.redis.usedMemory()) - redisBefore) / chats.length,
    armedMs: Math.round(performance.now() - startMs),
  };
}

/** The watcher has nothing under way: it uses next to no CPU for a moment. */
async function looksAreOver(site: Site): Promise<void> {
  const momentMs = 250;
  for (let tries = 0; tries < 20; tries += 1) {
    const used = cpuSince({ watcher: site.pids().watcher });
    await sleep(momentMs);
    if (used().all < momentMs * 0.2) return;
  }
}

/** Waits for a time in which no step of the armed index falls; `false`: there was none. */
async function stepsAreOver(site: Site): Promise<boolean> {
  const startMs = performance.now();
  while (performance.now() - startMs < STEPS_GIVE_UP_MS) {
    const untilMs = Date.now() + IDLE_MS + 2_000;
    if ((await site.redis.client.zcount(`{${TAG}}:armed`, '-inf', untilMs)) === 0) {
      await looksAreOver(site);
      return true;
    }
    await sleep(500);
  }
  return false;
}

async function append(site: Site, chats: readonly BenchChat[]): Promise<number> {
  const used = cpuSince({ watcher: site.pids().watcher });
  for (let n = 0; n < APPENDS; n += 1) {
    const chat = chats[Math.floor(((n % APPENDED_TO) / APPENDED_TO) * chats.length)];
    if (chat !== undefined) chatter(chat);
    await sleep(10);
  }
  await sleep(200);
  return (used().all * 1_000) / APPENDS;
}

/** System watches that a process holds, as the kernel lists them. */
function watchesOf(pid: number): number {
  const folder = `/proc/${pid}/fdinfo`;
  const infos = readdirSync(folder).map((descriptor) => readFileSync(`${folder}/${descriptor}`, 'utf8'));
  return infos.reduce((sum, info) => sum + (info.match(/^inotify wd:/gm)?.length ?? 0), 0);
}
