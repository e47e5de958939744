import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Chat } from './chat.ts';
import { deploy, TAG, type Deployment } from './deployment.ts';
import { Faults } from './faults.ts';
import { Journal } from './journal.ts';
import { judge, type Judgement } from './judge.ts';
import { lastAct } from './last-act.ts';
import { leftovers } from './leftovers.ts';
import type { ChaosOptions } from './options.ts';
import { makePlan, type Plan } from './plan.ts';
import type { ChatPlan } from './plan-chat.ts';
import { play } from './play.ts';
import { compile } from './sabotage.ts';
import { CAPS, DEBOUNCE_MS } from './scale.ts';
import { ChaosSessionApi } from './session-api.ts';
import { Windows } from './windows.ts';

export interface Outcome {
  judgement: Judgement;
  windows: Windows['hits'];
  faults: Record<string, number>;
  kills: number;
  leftOver: string[];
  folder: string;
  seconds: number;
}

/** Everything of one run; made once, ended once. */
class Run {
  readonly options: ChaosOptions;
  readonly folder = mkdtempSync(join(tmpdir(), 'chat-recovery-chaos-'));
  readonly plan: Plan;
  readonly journal = new Journal(join(this.folder, 'journal.jsonl'));
  readonly chats = new Map<string, Chat>();
  readonly windows: Windows;
  readonly stopping = new AbortController();
  readonly secret = `whsec_${Buffer.from('a secret of the chaos run').toString('base64')}`;
  deployment: Deployment | undefined;

  constructor(options: ChaosOptions) {
    this.options = options;
    // Every delivery and every wait listens to it.
    setMaxListeners(0, this.stopping.signal);
    this.plan = makePlan(options);
    this.windows = new Windows(
      {
        kill: (service, awayMs) => this.deployment?.services[service].kill(awayMs) ?? false,
        pause: (service, trap, sessionId) => {
          this.deployment?.services[service].pause(trap.forMs);
          if (trap.human) this.#personWrites(sessionId);
        },
      },
      (worker, chat, key) =>
        this.journal.note({ t: 'left', chat, worker, key, bytes: this.chats.get(chat)?.bytes ?? 0 }),
    );
  }

  /** While its worker lies still between decision and call, the chat's person comes back. */
  #personWrites(sessionId: string): void {
    const chat = this.chats.get(sessionId);
    if (chat === undefined || !['early', 'late', 'mass'].includes(chat.plan.kind)) return;
    void chat.turn({ cause: 'human', forMs: 300 });
  }

  chat(plan: ChatPlan, urls: readonly string[]): Chat {
    const { journal, secret } = this;
    const sender = { urls, secret, journal, signal: this.stopping.signal };
    const chat = new Chat(plan, join(this.folder, 'transcripts'), sender);
    this.chats.set(chat.id, chat);
    return chat;
  }
}

const say = (sentence: string): void => console.log(sentence);

/** Plays one chaos run from its first process to the judgement. Ends whatever it started, also where it fails. */
export async function runChaos(options: ChaosOptions): Promise<Outcome> {
  const run = new Run(options);
  const startedMs = performance.now();
  const program = compile(options.sabotage);
  const api = await ChaosSessionApi.start({
    chats: run.chats,
    journal: run.journal,
    beforeAnswer: (worker, chat, started) => run.windows.beforeAnswer(worker, started && chat.plan.slowSilence),
    busyBeforeKey: options.sabotage === 'lookup',
  });
  try {
    const { journal, windows, folder, secret } = run;
    journal.note({ t: 'settings', seed: options.seed, debounceMs: DEBOUNCE_MS, caps: CAPS });
    const deployment = await deploy({ folder, root: program.root, secret, sessionApiPort: api.port, windows });
    run.deployment = deployment;
    const faults = await perform(run, deployment);
    const overChats = new Set([...run.chats.values()].filter(({ state }) => state === 'closed').map(({ id }) => id));
    journal.close();
    return {
      judgement: judge(folder),
      windows: windows.hits,
      faults: faults.counts,
      kills: Object.values(deployment.services).reduce((sum, { kills }) => sum + kills, 0),
      leftOver: await leftovers(deployment.redis.port, TAG, overChats),
      folder,
      seconds: Math.round((performance.now() - startedMs) / 1_000),
    };
  } finally {
    run.stopping.abort();
    await run.deployment?.close();
    await api.close();
    program.remove();
  }
}

async function perform(run: Run, deployment: Deployment): Promise<Faults> {
  const { plan, options } = run;
  const faults = new Faults(deployment, run.windows);
  const shown = createHash('sha256').update(JSON.stringify(plan)).digest('hex').slice(0, 12);
  say(`Seed ${options.seed}: ${options.chats} chats, ${plan.faults.length} faults, schedule ${shown}, ${run.folder}`);
  await Promise.all(Object.values(deployment.services).map((service) => service.start({ ready: true })));

  const plays = plan.chats.map(async (chatPlan) => {
    await sleep(chatPlan.startAtMs);
    const chat = run.chat(chatPlan, deployment.watcherUrls);
    await play(chat).catch((error: unknown) => {
      run.journal.note({ t: 'play-failed', chat: chat.id, why: String(error) });
    });
  });
  await faults.run(plan.faults, run.stopping.signal);
  say(`Faults are over: ${JSON.stringify(faults.counts)}; windows hit: ${JSON.stringify(run.windows.hits)}`);
  await faults.heal();
  await Promise.all(plays);
  await quiet(run);
  await endWith(run, deployment);
  return faults;
}

/** The last act, with other chats again where the machine was too slow for it. */
async function endWith(run: Run, deployment: Deployment): Promise<void> {
  for (const plans of run.plan.lastAct) {
    await Promise.all(Object.values(deployment.services).map((service) => service.start({ ready: true })));
    const chats = plans.map((plan) => run.chat(plain(plan), deployment.watcherUrls));
    if (await lastAct(chats, deployment, run.windows)) return;
    say('The last act could not begin in time; once more.');
    for (const wire of Object.values(deployment.wires.redis)) wire.heal();
  }
  run.journal.note({ t: 'play-failed', chat: '', why: 'the machine was too slow for the last act' });
}

/** The last act has troubles of its own. */
function plain(plan: ChatPlan): ChatPlan {
  const webhooks = { reordered: false, heldMs: [], times: [], deaf: [] };
  return { ...plan, api: { get: [], post: [] }, webhooks };
}

/** No more faults: waits until every delivery is accepted and nothing is missing any more, and then a while longer. */
async function quiet({ folder, chats, plan }: Run): Promise<void> {
  const startMs = performance.now();
  const elapsed = (): number => performance.now() - startMs;
  await Promise.race([
    Promise.all([...chats.values()].map((chat) => chat.webhooks.settled)),
    sleep(plan.phases.quietAtMostMs, undefined, { ref: false }),
  ]);
  await sleep(plan.phases.quietAtLeastMs);
  while (judge(folder).missed.length > 0 && elapsed() < plan.phases.quietAtMostMs) await sleep(1_000);
  say(`Quiet for ${Math.round(elapsed() / 1_000)} s.`);
}

/** The folder of a run that needs no second look. */
export function removeRun(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
