import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bench, type BenchContext, type BenchRow } from '../kit/bench.ts';
import { kill, makeChats, type BenchChat } from '../kit/chats.ts';
import { turnEnd } from '../kit/deliveries.ts';
import { Site } from '../kit/site.ts';
import { startStandIn } from '../kit/stand-in.ts';
import { single } from '../kit/statistics.ts';
import { firstStepDone, foundByStep, moveClock, NO_FILE_EVENTS } from './coverage-late.ts';

/** Bar 5: kills at any time after a turn's end, and with every process killed meanwhile; each is nudged, each once. */

const DEBOUNCE_MS = 1_000;
const GIVE_UP_MS = 60_000;

/** What happens to a chat after its turn's end. */
interface Case {
  name: string;
  /** Seconds from the turn's end to the kill; for what is killed while nothing runs, to the crash. */
  afterMs: number;
}

const REAL: readonly Case[] = [500, 4_000, 13_500, 30_000].map((afterMs) => ({
  name: `killed ${afterMs / 1_000} s after the turn's end`,
  afterMs,
}));

export const coverage: Bench = {
  name: 'coverage',
  about: 'kills at any time after a turn end, and across a crash of everything, against polling',
  async run(context: BenchContext) {
    const count = context.scale.quick ? 5 : 20;
    const rows = [
      ...(await ordinary(context, count)),
      ...(await late(context, count)),
      await crash(context, count),
      await blind(context, count),
    ];
    return { rows, detail: { eachCase: count, polling: await polling(count) } };
  },
};

function row(what: string, nudges: number[]): BenchRow {
  const once = nudges.filter((count) => count === 1).length;
  const limit = `= ${nudges.length}`;
  return {
    bar: 5,
    what: `${what}: nudged once`,
    against: 'chats',
    figure: single(once),
    limit,
    met: once === nudges.length,
  };
}

/** Waits until each chat was nudged, then a while for a second nudge that must not come. */
async function nudgesOf(site: Site, chats: readonly BenchChat[]): Promise<number[]> {
  const startMs = performance.now();
  const counts = (): number[] => chats.map(({ sessionId }) => site.api.turns(sessionId).length);
  while (counts().includes(0) && performance.now() - startMs < GIVE_UP_MS) await sleep(50);
  await sleep(3 * DEBOUNCE_MS);
  return counts();
}

async function arm(site: Site, count: number): Promise<BenchChat[]> {
  const chats = site.makeChats(count);
  for (const chat of chats) await site.sender.send(turnEnd(chat, 1));
  return chats;
}

async function withSite<T>(
  { root }: BenchContext,
  work: (site: Site) => Promise<T>,
  node: readonly string[] = [],
): Promise<T> {
  const site = await Site.start({ root, workers: 2, debounceMs: DEBOUNCE_MS, durable: true, node });
  try {
    return await work(site);
  } finally {
    await site.close();
  }
}

const ordinary = (context: BenchContext, count: number): Promise<BenchRow[]> =>
  withSite(context, (site) =>
    Promise.all(
      REAL.map(async ({ name, afterMs }) => {
        const chats = await arm(site, count);
        await sleep(afterMs);
        chats.forEach(kill);
        const counted = row(name, await nudgesOf(site, chats));
        context.say(`coverage: ${counted.what} ${counted.figure.median} of ${count}`);
        return counted;
      }),
    ),
  );

/** No file event can tell of the kill: with a watcher that can watch no file, and with no watcher at all. */
async function late(context: BenchContext, count: number): Promise<BenchRow[]> {
  const unwatched = await withSite(
    context,
    (site) => lateRow(site, count, 'killed 10 min after it (clock moved), no file events: found by the 10 min step'),
    [NO_FILE_EVENTS],
  );
  const alone = await withSite(context, (site) =>
    lateRow(site, count, 'the same with every watcher dead: the step taken by a worker', async () => {
      await site.watcher?.stop('SIGKILL');
    }),
  );
  for (const { what, figure } of [unwatched, alone]) context.say(`coverage: ${what} ${figure.median} of ${count}`);
  return [unwatched, alone];
}

/** Counts only nudges that came from the step: a kill that anything else found does not count as covered. */
async function lateRow(
  site: Site,
  count: number,
  what: string,
  before: () => Promise<void> = () => Promise.resolve(),
): Promise<BenchRow> {
  const chats = await arm(site, count);
  await firstStepDone();
  await before();
  const dueMs = await moveClock(site, chats);
  chats.forEach(kill);
  const nudges = await nudgesOf(site, chats);
  const byStep = await foundByStep(site, chats, dueMs);
  return row(
    what,
    nudges.map((nudged, n) => (byStep[n] === true ? nudged : 0)),
  );
}

/** Everything dies within the window, Redis too; the chats are killed while nothing runs. */
const crash = (context: BenchContext, count: number): Promise<BenchRow> =>
  withSite(context, async (site) => {
    const chats = await arm(site, count);
    await sleep(500);
    await site.killServices();
    await site.redis.crash();
    chats.forEach(kill);
    await site.startServices();
    return row('killed while every process was dead (SIGKILL, restart)', await nudgesOf(site, chats));
  });

/** The kill was seen, its evaluation planned, and then everything dies. */
const blind = (context: BenchContext, count: number): Promise<BenchRow> =>
  withSite(context, async (site) => {
    const chats = await arm(site, count);
    chats.forEach(kill);
    await sleep(DEBOUNCE_MS / 2);
    await site.killServices();
    await site.redis.crash();
    await sleep(2 * DEBOUNCE_MS);
    await site.startServices();
    return row('every process killed between kill and nudge', await nudgesOf(site, chats));
  });

/** What polling sees of the same kills; its window is over before the later ones. */
async function polling(count: number): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'chat-recovery-bench-'));
  const standIn = await startStandIn('polling', { debounceMs: DEBOUNCE_MS, forever: false });
  const nudged = new Set<string>();
  standIn.onTold = (message) => void nudged.add((message as { nudge: string }).nudge);
  try {
    const counts = await Promise.all(
      REAL.map(async ({ name, afterMs }, n) => {
        const chats = makeChats(join(folder, String(n)), count);
        for (const { sessionId, path } of chats) standIn.tell({ watch: sessionId, path });
        await sleep(afterMs);
        chats.forEach(kill);
        await sleep(4 * DEBOUNCE_MS);
        return [name, chats.filter(({ sessionId }) => nudged.has(sessionId)).length] as const;
      }),
    );
    return Object.fromEntries(counts);
  } finally {
    await standIn.stop();
    rmSync(folder, { recursive: true });
  }
}
