import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { localFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import type { Chart } from '../kit/chart.ts';
import { chatter } from '../kit/chats.ts';
import { cpuSince, rssOf } from '../kit/cpu.ts';
import { delivery, turnEnd } from '../kit/deliveries.ts';
import { Site } from '../kit/site.ts';
import { growthOf, quantile } from '../kit/statistics.ts';
import { createWork } from './evaluations.ts';
import { contextOf, hungFile } from './transcripts.ts';

/** What grew with what, as a chart, and by which power of it. */
export interface Grown {
  file: string;
  chart: Chart;
  power: number;
}

type Say = (sentence: string) => void;
type Point = readonly [number, number];

const grown = (file: string, chart: Omit<Chart, 'series'>, points: readonly Point[]): Grown => ({
  file,
  chart: { ...chart, series: [{ name: chart.title, points }] },
  power: growthOf(points.map(([x, y]) => [x, Math.max(y, 1e-6)] as const)),
});

interface SessionsPoint {
  redisBytes: number;
  rssBytes: number;
  turnEndUs: number;
  appendUs: number;
  idlePercent: number;
  leftBytes: number;
}

const STEPS_DONE_MS = 34_000;
const IDLE_MS = 5_000;
const APPENDS = 300;

/** One deployment of each size: arming, appends, standing still, and what is left when the sessions have ended. */
export async function sessionsGrow(root: string, sizes: readonly number[], say: Say): Promise<Grown[]> {
  const measured: (readonly [number, SessionsPoint])[] = [];
  for (const size of sizes) {
    measured.push([size, await sessionsOf(root, size)]);
    say(`${size} sessions: ${JSON.stringify(measured.at(-1)?.[1])}`);
  }
  const points = (pick: (point: SessionsPoint) => number): Point[] =>
    measured.map(([size, point]) => [size, pick(point)]);
  const x = { x: 'armed sessions', logX: true };
  return [
    grown(
      'redis-memory',
      { ...x, title: 'Redis memory of an armed session', y: 'bytes' },
      points((p) => p.redisBytes),
    ),
    grown(
      'turn-end-cpu',
      { ...x, title: 'CPU of a turn end: watcher and Redis', y: 'µs' },
      points((p) => p.turnEndUs),
    ),
    grown(
      'append-cpu',
      { ...x, title: 'CPU of an append: watcher', y: 'µs' },
      points((p) => p.appendUs),
    ),
    grown(
      'idle-cpu',
      { ...x, title: 'CPU of everything while nothing happens', y: '% of a core' },
      points((p) => p.idlePercent),
    ),
    grown(
      'watcher-memory',
      { ...x, title: 'Memory of the watcher', y: 'MB' },
      points((p) => p.rssBytes / 1_024 ** 2),
    ),
  ];
}

async function sessionsOf(root: string, size: number): Promise<SessionsPoint> {
  const site = await Site.start({ root });
  try {
    const [first, ...chats] = site.makeChats(size + 1);
    if (first === undefined) throw new Error('There are no chats.');
    await site.sender.send(turnEnd(first, 1));
    const empty = await site.redis.usedMemory();
    const arming = cpuSince(site.pids());
    await Promise.all(chats.map((chat) => site.sender.send(turnEnd(chat, 1))));
    const turnEndUs = (arming().all * 1_000) / size;
    const redisBytes = ((await site.redis.usedMemory()) - empty) / size;
    // The first job and the 30 s step are over.
    await sleep(STEPS_DONE_MS);
    const idle = cpuSince(site.pids());
    await sleep(IDLE_MS);
    const idleMs = idle().all;
    const appending = cpuSince({ watcher: site.pids().watcher });
    for (let n = 0; n < APPENDS; n += 1) {
      const chat = chats[(n * 7_919) % chats.length];
      if (chat !== undefined) chatter(chat);
      await sleep(10);
    }
    await sleep(200);
    const appendUs = (appending().all * 1_000) / APPENDS;
    const rssBytes = rssOf(site.pids().watcher[0] ?? 0);
    await Promise.all(chats.map((chat) => site.sender.send(closed(chat))));
    return {
      redisBytes,
      rssBytes,
      turnEndUs,
      appendUs,
      idlePercent: (idleMs / IDLE_MS) * 100,
      leftBytes: (await site.redis.usedMemory()) - empty,
    };
  } finally {
    await site.close();
  }
}

const closed = (chat: { sessionId: string; path: string }): Buffer =>
  delivery(chat, 'session.closed', { reason: 'ended' }, { id: `${chat.sessionId}-closed` });

/** Clean evaluations a second with more worker processes. */
export async function workersGrow(root: string, counts: readonly number[], jobs: number, say: Say): Promise<Grown[]> {
  const site = await Site.start({ root, workers: 0, watcher: false });
  const points: Point[] = [];
  try {
    const work = await createWork(site);
    for (const count of counts) {
      const workers = await Promise.all(Array.from({ length: count }, () => site.startWorker()));
      await work.fill(1_000);
      await work.drain();
      await work.fill(jobs);
      const { seconds } = await work.drain();
      points.push([count, jobs / seconds]);
      say(`${count} workers: ${(jobs / seconds).toFixed(0)} evaluations/s`);
      await Promise.all(workers.map((worker) => worker.stop()));
    }
    await work.close();
  } finally {
    await site.close();
  }
  return [
    grown('workers', { title: 'Clean evaluations a second', x: 'worker processes', y: 'evaluations a second' }, points),
  ];
}

/** Time to judge a hung chat in longer and longer files. */
export async function transcriptsGrow(megabytes: readonly number[], say: Say): Promise<Grown[]> {
  const folder = mkdtempSync(join(tmpdir(), 'chat-recovery-bench-'));
  const sessionId = 'a0000000-0000-4000-8000-00000000000a';
  const context = contextOf(sessionId);
  try {
    const points: Point[] = [];
    for (const size of megabytes) {
      const path = join(folder, `${size}.jsonl`);
      hungFile(path, size * 1_024 ** 2, sessionId);
      const times: number[] = [];
      for (let n = 0; n < 500; n += 1) {
        const startMs = performance.now();
        await readFinding(localFiles, path, context);
        times.push((performance.now() - startMs) * 1_000);
      }
      points.push([size, quantile(times, 0.5)]);
      say(`${size} MB: ${points.at(-1)?.[1].toFixed(0)} µs`);
    }
    return [
      grown(
        'transcript-size',
        { title: 'Time to judge a hung chat', x: 'transcript in MB', y: 'µs', logX: true },
        points,
      ),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}
