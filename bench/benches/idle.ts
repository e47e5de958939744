import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, told, type Bench, type BenchContext } from '../kit/bench.ts';
import { cpuSince } from '../kit/cpu.ts';
import { turnEnd } from '../kit/deliveries.ts';
import { Site } from '../kit/site.ts';
import { startStandIn } from '../kit/stand-in.ts';
import { single, spreadOf } from '../kit/statistics.ts';

/**
 * Bar 3: armed sessions to which nothing happens, against polling their files each 750 ms. Both run at the same time, in
 * processes of their own. The first job and the 30 s step, which come once after each turn, are told by themselves.
 */

const JOBS_DONE_MS = 15_000;
const STEP_DONE_MS = 30_000;
/** More files than this at 750 ms would want more than a core for themselves: the rest is in proportion. */
const POLLED = 1_000;

export const idle: Bench = {
  name: 'idle',
  about: 'armed sessions to which nothing happens, against polling',
  async run({ root, scale, say }: BenchContext) {
    const sliceMs = scale.quick ? 5_000 : 10_000;
    const site = await Site.start({ root });
    const standIn = await startStandIn('polling', { debounceMs: 5_000, forever: true });
    try {
      const chats = site.makeChats(scale.chats);
      await Promise.all(chats.map((chat) => site.sender.send(turnEnd(chat, 1))));
      await sleep(JOBS_DONE_MS);
      const stepping = cpuSince(site.pids());
      await sleep(STEP_DONE_MS);
      const stepUs = (stepping().all * 1_000) / chats.length;
      const polled = chats.slice(0, POLLED);
      for (const { sessionId, path } of polled) standIn.tell({ watch: sessionId, path });
      await sleep(1_000);
      const slices: { ours: Record<string, number>; polling: number }[] = [];
      for (let round = 0; round < Math.max(scale.rounds, 5); round += 1) {
        const used = { ours: cpuSince(site.pids()), polling: cpuSince({ polling: [standIn.pid] }) };
        await sleep(sliceMs);
        const polling = (used.polling().all * chats.length) / polled.length;
        slices.push({ ours: used.ours(), polling });
        say(`idle ${round + 1}: ${JSON.stringify(slices.at(-1))}`);
      }
      const { polls, cpuMs } = await standIn.ask<{ polls: number; cpuMs: number }>({ report: true });
      const perSlice = spreadOf(slices.map(({ ours, polling }) => (ours['all'] ?? 0) / polling));
      const against = '× polling each 750 ms';
      return {
        rows: [
          atMost(0.02, {
            bar: 3,
            what: `${chats.length} armed sessions, nothing appended: CPU of all`,
            against,
            figure: perSlice,
          }),
          told({
            what: 'the 30 s step of an armed session, once after each turn',
            against: 'µs',
            figure: single(stepUs),
          }),
        ],
        detail: { slices, pollUs: (cpuMs * 1_000) / polls },
      };
    } finally {
      await standIn.stop();
      await site.close();
    }
  },
};
