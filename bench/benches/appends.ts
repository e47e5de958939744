import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, told, type Bench, type BenchContext } from '../kit/bench.ts';
import { chatter, type BenchChat } from '../kit/chats.ts';
import { cpuSince } from '../kit/cpu.ts';
import { turnEnd } from '../kit/deliveries.ts';
import { Site } from '../kit/site.ts';
import { startStandIn, type StandIn } from '../kit/stand-in.ts';
import { spreadOf } from '../kit/statistics.ts';

/** Bar 10: CPU of one append while many sessions are armed, against `fs.watch` on their folders, which only counts. */

const PER_SECOND = 100;

interface Slice {
  ours: number;
  bare: number;
}

export const appends: Bench = {
  name: 'appends',
  about: 'CPU of an append while many sessions are armed, against fs.watch on folders',
  async run(context: BenchContext) {
    const { scale } = context;
    const many = await measure(context, scale.chats);
    const few = await measure(context, Math.max(100, scale.chats / 10));
    const ratio = ({ ours, bare }: Slice): number => ours / bare;
    const against = '× fs.watch on folders';
    return {
      rows: [
        atMost(8, {
          bar: 10,
          what: `CPU of an append, ${scale.chats} sessions armed`,
          against,
          figure: spreadOf(many.map(ratio)),
        }),
        atMost(1.25, {
          bar: 10,
          what: 'the same against a tenth of the sessions',
          against: '×',
          figure: spreadOf(many.map(({ ours }, n) => ours / (few[n]?.ours ?? Number.NaN))),
        }),
        told({ what: 'CPU of an append', against: 'µs', figure: spreadOf(many.map(({ ours }) => ours)) }),
      ],
      detail: { many, few },
    };
  },
};

/** Microseconds an append, for each round. */
async function measure({ root, scale, say }: BenchContext, count: number): Promise<Slice[]> {
  const perRound = PER_SECOND * (scale.quick ? 5 : 10);
  const site = await Site.start({ root, workers: 0 });
  let bare: StandIn | undefined;
  try {
    const chats = site.makeChats(count);
    await Promise.all(chats.map((chat) => site.sender.send(turnEnd(chat, 1))));
    bare = await startStandIn('fs-watch', { folders: [...new Set(chats.map(({ path }) => dirname(path)))] });
    // The first looks, and the 30 s step, are over by then.
    await sleep(36_000);
    const slices: Slice[] = [];
    for (let round = 0; round < scale.rounds; round += 1) {
      slices.push(await slice(site, bare, chats, perRound));
      say(`appends ${count} armed, ${round + 1}: ${JSON.stringify(slices.at(-1))}`);
    }
    return slices;
  } finally {
    await bare?.stop();
    await site.close();
  }
}

/** Both hear of the same appends. What the watcher costs without any is taken off. */
async function slice(site: Site, bare: StandIn, chats: readonly BenchChat[], count: number): Promise<Slice> {
  const { watcher } = site.pids();
  const cpuOfBare = async (): Promise<number> => (await bare.ask<{ cpuMs: number }>({ report: true })).cpuMs;
  const durationMs = (count / PER_SECOND) * 1_000;
  const idle = cpuSince({ watcher });
  await sleep(durationMs / 2);
  const still = idle().all * 2;
  const used = cpuSince({ watcher });
  const bareBefore = await cpuOfBare();
  const startMs = performance.now();
  for (let n = 0; n < count; n += 1) {
    const chat = chats[(n * 7_919) % chats.length];
    if (chat !== undefined) chatter(chat);
    await sleep(startMs + (n * 1_000) / PER_SECOND - performance.now());
  }
  await sleep(200);
  const per = (ms: number): number => (ms * 1_000) / count;
  return { ours: per(used().all - still), bare: per((await cpuOfBare()) - bareBefore) };
}
