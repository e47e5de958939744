import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLogger } from '#shared/platform/logger.js';
import { runUntilStopped, type Stopper } from '#shared/platform/shutdown.js';
import { chatServerCalls, transcriptOf, type ChatServerCalls, type DemoChat } from './chats.ts';
import { claudeRuntime } from './claude.ts';
import { follow } from './follow.ts';
import { hopeless, isOver, judge, type Check, type Judged } from './judge.ts';
import { startParts, type Parts } from './parts.ts';
import { scriptedRuntime, type Runtime } from './runtime.ts';
import { createTeller, type Teller } from './say.ts';

export interface DemoOptions {
  once: boolean;
  claude: boolean;
  workers: number;
  giveUpAfter?: number;
  /** For tests of the judge: does what recovery must never do. */
  sabotage?: 'second-nudge' | 'nudge-healthy';
}

const LABEL = 'Paddock recovery';
const LOOK_EVERY_MS = 150;
/** After the story's end: long enough for a nudge too many to show itself (debounce 5 s, both chats begin together). */
const AFTERMATH_MS = 4_000;
/** A killed shell's end is not at once in the field either. */
const KILL_AFTER_TURN_MS = 1_000;
const STOP_WITHIN_MS = 30_000;

/** Runs the demo; the process ends by itself with `once`, otherwise on Ctrl-C. */
export async function demo(options: DemoOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const teller = createTeller((line) => console.log(line), process.stdout.isTTY);
  const dir = await mkdtemp(join(tmpdir(), 'chat-recovery-demo-'));
  const stops: (() => Promise<void>)[] = [];
  const ending = new AbortController();
  const stopper = runUntilStopped({
    logger: silentLogger(),
    deadlineMs: STOP_WITHIN_MS,
    stop: async () => {
      ending.abort();
      for (const stop of stops.toReversed()) await stop();
    },
  });
  try {
    await play({ options, env, teller, dir, stops, stopper, ending: ending.signal });
  } catch (error) {
    if (ending.signal.aborted) return;
    teller.note(error instanceof Error ? error.message : String(error), 'bad');
    stopper.fail();
  }
}

interface Stage {
  options: DemoOptions;
  env: NodeJS.ProcessEnv;
  teller: Teller;
  dir: string;
  stops: (() => Promise<void>)[];
  stopper: Stopper;
  ending: AbortSignal;
}

async function play(stage: Stage): Promise<void> {
  const { options, env, teller, dir, stops, stopper, ending } = stage;
  const note = (sentence: string): void => teller.note(sentence);
  const runtime = options.claude ? await claudeRuntime(note) : scriptedRuntime;
  stops.push(() => runtime.stop());
  const parts = await startParts({ dir, workers: options.workers, env, chatServerEnv: runtime.env, note });
  stops.push(() => parts.stop());
  tellParts(parts, options, teller);

  const calls = chatServerCalls(parts.chatServerUrl, parts.token);
  const hung = await calls.open('hung', runtime.hung);
  const healthy = await calls.open('healthy', runtime.healthy);
  const checks = await watchStory({ ...stage, calls, parts, runtime, chats: { hung, healthy } });
  if (ending.aborted) return;
  tellChecks(checks, teller);
  const good = checks.every(({ ok }) => ok);
  if (good) stops.unshift(() => rm(dir, { recursive: true, force: true }));
  else teller.note(`Logs and transcripts are kept in ${dir}.`);
  if (!options.once) tellAddresses(parts, [hung, healthy], teller);
  else if (good) stopper.stop();
  else stopper.fail();
}

interface Story extends Stage {
  calls: ChatServerCalls;
  parts: Parts;
  runtime: Runtime;
  chats: { hung: DemoChat; healthy: DemoChat };
}

/** Tells the story live until it is over and nothing has followed for a while, or until there is no hope. */
async function watchStory(story: Story): Promise<Check[]> {
  const { options, ending, runtime } = story;
  const followers = followBoth(story);
  const sabotage = saboteur(story);
  const giveUpAt = performance.now() + (options.giveUpAfter ?? runtime.giveUpAfterS) * 1_000;
  let overAt: number | undefined;
  while (true) {
    for (const tellNews of followers) await tellNews();
    const judged = await readJudged(story);
    const now = performance.now();
    if (isOver(judged)) overAt ??= now;
    const quiet = overAt !== undefined && now - overAt > AFTERMATH_MS;
    if (quiet || now > giveUpAt || ending.aborted || hopeless(judged)) return judge(judged);
    if (overAt !== undefined) await sabotage();
    await sleep(LOOK_EVERY_MS);
  }
}

async function readJudged({ chats }: Story): Promise<Judged> {
  const [hung, healthy] = await Promise.all([transcriptOf(chats.hung), transcriptOf(chats.healthy)]);
  return { hung, healthy, label: LABEL };
}

function followBoth({ calls, parts, teller, chats, runtime }: Story): (() => Promise<void>)[] {
  const followParts = { calls, watcherUrl: parts.watcherUrl, teller };
  let killed = runtime.hung.killAfterTurn !== true;
  let killAt: number | undefined;
  const tellHung = follow(chats.hung, followParts, ({ kind }) => {
    if (kind === 'turn.ended') killAt ??= performance.now() + KILL_AFTER_TURN_MS;
  });
  const killWhenDue = async (): Promise<void> => {
    if (killed || killAt === undefined || performance.now() < killAt) return;
    killed = true;
    await calls.killTasks(chats.hung);
  };
  return [tellHung, follow(chats.healthy, followParts), killWhenDue];
}

/** Does its one evil deed, once. */
function saboteur({ options, calls, chats }: Story): () => Promise<void> {
  const deed = options.sabotage;
  let done = deed === undefined;
  return async () => {
    if (done) return;
    done = true;
    await calls.nudge(deed === 'second-nudge' ? chats.hung : chats.healthy, LABEL);
  };
}

function tellParts(parts: Parts, { workers }: DemoOptions, teller: Teller): void {
  teller.note(`Redis: ${parts.redis}. Watcher: ${parts.watcherUrl}. Workers: ${workers}.`);
  teller.note(`Example chat server: ${parts.chatServerUrl}. Logs: ${parts.logs}.`);
}

function tellChecks(checks: readonly Check[], teller: Teller): void {
  teller.note('');
  for (const { what, ok, found } of checks) {
    teller.note(ok ? `  ✓ ${what}` : `  ✗ ${what} (${found})`, ok ? 'good' : 'bad');
  }
}

function tellAddresses(parts: Parts, chats: readonly DemoChat[], teller: Teller): void {
  teller.note('\nTo look at, until you press Ctrl-C:');
  teller.note(`  ${parts.watcherUrl}/  every watched chat, live`);
  teller.note(`  ${parts.chatServerUrl}/  what a chat’s user sees; begin another chat that hangs there`);
  for (const path of ['/v1/sessions', '/admin/queues', '/metrics', '/readyz'])
    teller.note(`  ${parts.watcherUrl}${path}`);
  for (const { who, sessionId, transcriptPath } of chats) {
    teller.note(`  ${who}: ${parts.watcherUrl}/#chat=${sessionId}`);
    teller.note(`    ${transcriptPath}`);
  }
}
