import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, told, type Bench, type BenchContext } from '../kit/bench.ts';
import { cpuSince } from '../kit/cpu.ts';
import { turnEnd } from '../kit/deliveries.ts';
import { Site } from '../kit/site.ts';
import { startStandIn } from '../kit/stand-in.ts';
import { single, spreadOf } from '../kit/statistics.ts';

/**
 * Bar 3: armed sessions to which nothing happens, against polling their files each 750 ms. Both run at the same time, in
 * processes of their own. The window opens after the first jobs and holds the 30 s step of every session, which comes once
 * after each turn: it is told by itself.
 */

const QUIET_FROM_MS = 15_000;
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
      await sleep(QUIET_FROM_MS);
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
      const sum = (pick: (slice: (typeof slices)[number]) => number) => slices.reduce((all, one) => all + pick(one), 0);
      const whole = sum(({ ours }) => ours['all'] ?? 0) / sum(({ polling }) => polling);
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
            what: 'the same over the whole window, the 30 s step of every session in it',
            against,
            figure: single(whole),
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
