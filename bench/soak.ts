import { randomInt } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { compile } from '../test/chaos/sabotage.ts';
import { ROOT } from '../test/support/processes.ts';
import { chatter, kill, reply, type BenchChat } from './kit/chats.ts';
import { delivery, turnEnd } from './kit/deliveries.ts';
import { writeRun } from './kit/report.ts';
import { Site } from './kit/site.ts';
import { slopeOf } from './kit/statistics.ts';

/**
 * A steady mixed load over real processes: turns begin and end, tasks are killed, nudged chats reply, chats are closed. Memory
 * and handles are sampled; what grows for ever shows as a slope.
 *
 *   npm run soak -- --minutes 30 [--rate 20]
 */

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '5' }, rate: { type: 'string', default: '20' } },
});
const minutes = Number(values.minutes);
/** Chats that begin in a second. */
const rate = Number(values.rate);
const DEBOUNCE_MS = 1_000;
const SAMPLE_MS = 5_000;
/** Until then caches, pools and compiled code are filled. */
const SETTLED_SHARE = 0.4;

type Sample = Record<string, number>;

async function metricsOf(service: string, port: number, pid: number): Promise<Sample> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const value = (name: string): number => Number(new RegExp(`^chat_recovery_${name} (\\S+)`, 'm').exec(text)?.[1] ?? 0);
  return {
    [`${service} heap MB`]: value('nodejs_heap_size_used_bytes') / 1_024 ** 2,
    [`${service} resident MB`]: value('process_resident_memory_bytes') / 1_024 ** 2,
    [`${service} handles`]: value('nodejs_active_handles_total'),
    [`${service} descriptors`]: readdirSync(`/proc/${pid}/fd`).length,
  };
}

async function sample(site: Site): Promise<Sample> {
  const { watcher, worker } = site.pids();
  return {
    ...(await metricsOf('watcher', site.port, watcher[0] ?? 0)),
    ...(await metricsOf('worker', site.workerPort, worker[0] ?? 0)),
    'Redis MB': (await site.redis.usedMemory()) / 1_024 ** 2,
    'Redis keys': await site.redis.client.dbsize(),
  };
}

/** One chat's life of about 10 s. */
async function live(site: Site, chat: BenchChat): Promise<void> {
  let turn = 0;
  const send = (request: Buffer): Promise<unknown> => site.sender.send(request);
  const end = async (): Promise<void> => void (await send(turnEnd(chat, (turn += 1))));
  for (let n = 0; n < 3; n += 1) {
    await send(delivery(chat, 'turn.started', { cause: 'human' }, { id: `${chat.sessionId}-started-${n}` }));
    chatter(chat);
    await sleep(randomInt(200, 800));
    await end();
    await sleep(randomInt(500, 1_500));
  }
  if (randomInt(4) === 0) {
    kill(chat);
    await sleep(DEBOUNCE_MS + 1_000);
    reply(chat, '[Paddock recovery] Please go on.');
    await end();
  }
  await sleep(1_000);
  await send(delivery(chat, 'session.closed', { reason: 'deleted' }, { id: `${chat.sessionId}-closed` }));
  site.api.sessions.delete(chat.sessionId);
}

function slopes(samples: readonly (readonly [number, Sample])[]): Record<string, number> {
  const settled = samples.slice(Math.floor(samples.length * SETTLED_SHARE));
  const names = Object.keys(samples[0]?.[1] ?? {});
  return Object.fromEntries(
    names.map((name) => [name, slopeOf(settled.map(([hours, values_]) => [hours, values_[name] ?? 0] as const))]),
  );
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const startedMs = Date.now();
const program = compile(undefined);
// Marks and records end within the run, so that what stays is what leaks.
const env = { WEBHOOK_TOLERANCE_MS: '15000', SESSION_TTL: '30s' };
const site = await Site.start({ root: program.root, debounceMs: DEBOUNCE_MS, env });
const samples: (readonly [number, Sample])[] = [];
const living = new Set<Promise<void>>();
let failures = 0;
try {
  const untilMs = performance.now() + minutes * 60_000;
  let sampledMs = -SAMPLE_MS;
  while (performance.now() < untilMs) {
    const [chat] = site.makeChats(1);
    if (chat !== undefined) {
      const life = live(site, chat)
        .catch(() => void (failures += 1))
        .finally(() => living.delete(life));
      living.add(life);
    }
    if (performance.now() - sampledMs >= SAMPLE_MS) {
      sampledMs = performance.now();
      samples.push([(Date.now() - startedMs) / 3_600_000, await sample(site)]);
    }
    await sleep(1_000 / rate);
  }
  await Promise.all(living);
} finally {
  await site.close();
  program.remove();
}
const perHour = slopes(samples);
const last = samples.at(-1)?.[1] ?? {};
for (const [name, slope] of Object.entries(perHour)) {
  console.log(
    `${name.padEnd(22)} ${(last[name] ?? 0).toFixed(1).padStart(9)}   ${slope >= 0 ? '+' : ''}${slope.toFixed(1)} an hour`,
  );
}
console.log(`Nudges: ${site.api.received.length}; deliveries that failed: ${failures}.`);
const file = writeRun(join(ROOT, 'reports', 'bench', 'soak'), {
  scale: { rounds: samples.length, chats: rate, quick: false },
  results: { soak: { rows: [], detail: { minutes, rate, samples, perHour } } },
  startedMs,
});
console.log(`Written: ${file}`);
process.exit();
