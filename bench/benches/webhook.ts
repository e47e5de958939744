import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../cli/provision/free-port.ts';
import { atLeast, atMost, told, type Bench, type BenchContext } from '../kit/bench.ts';
import { chatter, type BenchChat } from '../kit/chats.ts';
import { cpuSince } from '../kit/cpu.ts';
import { turnEnd } from '../kit/deliveries.ts';
import { HttpSender } from '../kit/http-sender.ts';
import { startRedis } from '../kit/redis.ts';
import { Site } from '../kit/site.ts';
import { startStandIn } from '../kit/stand-in.ts';
import { quantile, spreadOf } from '../kit/statistics.ts';

/** Bar 1: turn ends over 50 connections, against a bare Express 5 with a zod schema and one delayed job. */

const CONNECTIONS = 50;
const SESSIONS = 1_000;
const SETTLED_MS = 2_000;

interface Slice {
  perSecond: number;
  serverUs: number;
  redisUs: number;
  p99Ms: number;
}

export const webhook: Bench = {
  name: 'webhook',
  about: 'requests a second, CPU and latency of a turn end, against bare Express with one delayed job',
  async run({ root, scale, say }: BenchContext) {
    const count = scale.quick ? 2_000 : 8_000;
    const site = await Site.start({ root, workers: 0, connections: CONNECTIONS });
    const bareRedis = await startRedis();
    const port = await freePort();
    const bare = await startStandIn('express', { redisPort: Number(new URL(bareRedis.url).port), port });
    const bareSender = await HttpSender.open(port, CONNECTIONS);
    try {
      const chats = site.makeChats(Math.min(SESSIONS, count));
      const requests = requestsOver(chats);
      await oneTurnOf(site, chats, requests);
      const bareParts = { server: [bare.pid], redis: [bareRedis.pid()] };
      const ourParts = { server: site.pids().watcher, redis: site.pids().redis };
      const ours: Slice[] = [];
      const theirs: Slice[] = [];
      // A slice's p99 hangs on one or two stalls of the machine, so there are more of them. The first only warms up.
      const rounds = 2 * scale.rounds + 1;
      for (let round = -1; round < rounds; round += 1) {
        const mine = await slice(site.sender, ourParts, requests(count));
        const other = await slice(bareSender, bareParts, requests(count));
        if (round < 0) continue;
        ours.push(mine);
        theirs.push(other);
        say(`webhook ${round + 1}: ${brief(mine)} against ${brief(other)}`);
      }
      return { rows: rowsOf(ours, theirs), detail: { ours, bare: theirs, commands: await site.redis.commands() } };
    } finally {
      bareSender.close();
      await bare.stop();
      await bareRedis.close();
      await site.close();
    }
  },
};

const brief = ({ perSecond, serverUs, redisUs, p99Ms }: Slice): string =>
  `${perSecond.toFixed(0)}/s, ${serverUs.toFixed(0)} + ${redisUs.toFixed(0)} µs, p99 ${p99Ms.toFixed(1)} ms`;

function rowsOf(ours: readonly Slice[], theirs: readonly Slice[]) {
  const ratio = (key: keyof Slice) => spreadOf(ours.map((mine, n) => mine[key] / (theirs[n]?.[key] ?? Number.NaN)));
  const against = '× bare Express + zod + add';
  return [
    atLeast(0.8, { bar: 1, what: 'webhook: requests a second', against, figure: ratio('perSecond') }),
    atMost(1.25, { bar: 1, what: 'webhook: server CPU a request', against, figure: ratio('serverUs') }),
    atMost(1.3, { bar: 1, what: 'webhook: p99', against, figure: ratio('p99Ms') }),
    told({ what: 'webhook: Redis CPU a request', against, figure: ratio('redisUs') }),
  ];
}

/** A first turn of each chat, with an entry written after it: the turn ends that are measured are those of chats that go on. */
async function oneTurnOf(
  site: Site,
  chats: readonly BenchChat[],
  requests: (count: number) => Buffer[],
): Promise<void> {
  await Promise.all(requests(chats.length).map((request) => site.sender.send(request)));
  for (const chat of chats) chatter(chat);
  await sleep(SETTLED_MS);
}

/** Turn ends of one chat after the other, each turn a later one. */
function requestsOver(chats: readonly BenchChat[]): (count: number) => Buffer[] {
  let made = 0;
  const startMs = Date.now();
  return (count) =>
    Array.from({ length: count }, () => {
      made += 1;
      const chat = chats[made % chats.length];
      if (chat === undefined) throw new Error('There are no chats.');
      // Stamps may not lie ahead; each of one chat is later than the one before.
      return turnEnd(chat, made, startMs - 1_000_000 + made);
    });
}

async function slice(
  sender: HttpSender,
  pids: { server: number[]; redis: number[] },
  requests: readonly Buffer[],
): Promise<Slice> {
  const used = cpuSince(pids);
  const startMs = performance.now();
  const answers = await Promise.all(requests.map((request) => sender.send(request)));
  const seconds = (performance.now() - startMs) / 1_000;
  const cpu = used();
  const refused = answers.find(({ status }) => status !== 202);
  if (refused !== undefined) throw new Error(`A delivery was answered ${refused.status}: ${refused.body}`);
  return {
    perSecond: requests.length / seconds,
    serverUs: (cpu.server * 1_000) / requests.length,
    redisUs: (cpu.redis * 1_000) / requests.length,
    p99Ms: quantile(
      answers.map(({ ms }) => ms),
      0.99,
    ),
  };
}
