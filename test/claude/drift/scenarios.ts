import { setTimeout as pause } from 'node:timers/promises';
import type { VerdictKind } from '#shared/transcript/finding.js';
import type { FakeRule } from '../../support/fake-messages-api.ts';
import type { InstalledClaude } from './install.ts';
import { RawSession, type SessionPlace } from './session.ts';

const NUDGE =
  '[Paddock recovery] A background task of this chat was ended by the runtime. Please go on in the foreground.';
/** The file is written up to a quarter of a second after the stream tells of it, and a missing line is no evidence sooner. */
const FLUSH_MS = 1_500;
/** How long a wake that does not come is waited for. */
const NO_WAKE_MS = 4_000;

export interface Scenario {
  name: string;
  /** What is right when the runtime wrote its notice; a version that writes none leaves a hang invisible. */
  expected: VerdictKind;
  rules?: FakeRule[];
  /** Plays it and returns the session whose transcript is to be judged, its process ended. */
  play(claude: InstalledClaude, place: SessionPlace): Promise<RawSession>;
}

async function launched(session: RawSession): Promise<string> {
  session.say('BG::sleep 600');
  await session.turnEnd(1);
  const started = await session.message(({ subtype }) => subtype === 'task_started', 1, NO_WAKE_MS);
  return started?.task_id ?? '';
}

async function killedIdle(claude: InstalledClaude, place: SessionPlace): Promise<RawSession> {
  const session = new RawSession(claude, place);
  const task = await launched(session);
  session.stopTask(task);
  await session.message(({ subtype }) => subtype === 'task_notification', 1, NO_WAKE_MS);
  await session.message(({ type }) => type === 'result', 2, NO_WAKE_MS);
  await pause(FLUSH_MS);
  return session;
}

async function wakes(claude: InstalledClaude, place: SessionPlace, command: string): Promise<RawSession> {
  const session = new RawSession(claude, place);
  session.say(`BG::${command}`);
  await session.turnEnd(1);
  await session.message(({ type }) => type === 'result', 2, NO_WAKE_MS * 3);
  await pause(FLUSH_MS);
  await session.end();
  return session;
}

/** The main ways in which a chat's background task can end (documented one by one in docs/format-drift.md). */
export const SCENARIOS: Scenario[] = [
  { name: 'completed', expected: 'not-hung', play: (claude, place) => wakes(claude, place, 'sleep 1') },
  { name: 'failed', expected: 'not-hung', play: (claude, place) => wakes(claude, place, 'sleep 1; exit 7') },
  {
    name: 'killed idle',
    expected: 'hung',
    async play(claude, place) {
      const session = await killedIdle(claude, place);
      await session.end('SIGKILL');
      return session;
    },
  },
  {
    name: 'killed in mid-turn',
    expected: 'hung',
    rules: [{ match: /take your time/, delayMs: 4_000 }],
    async play(claude, place) {
      const session = new RawSession(claude, place);
      const task = await launched(session);
      session.say('take your time');
      await pause(FLUSH_MS);
      session.stopTask(task);
      await session.turnEnd(2);
      await pause(FLUSH_MS);
      await session.end('SIGKILL');
      return session;
    },
  },
  {
    name: 'killed at shutdown',
    expected: 'hung',
    async play(claude, place) {
      const session = new RawSession(claude, place);
      await launched(session);
      // Idle for sure: in mid-turn it is a race whether the notice is written.
      await pause(FLUSH_MS);
      await session.end('SIGTERM');
      return session;
    },
  },
  {
    name: 'nudge',
    expected: 'not-hung',
    async play(claude, place) {
      const session = await killedIdle(claude, place);
      const ended = session.messages.filter(({ type }) => type === 'result').length;
      session.say(NUDGE);
      await session.turnEnd(ended + 1);
      await pause(FLUSH_MS);
      await session.end();
      return session;
    },
  },
  {
    name: 'resume',
    expected: 'not-hung',
    async play(claude, place) {
      const first = new RawSession(claude, place);
      await launched(first);
      await pause(FLUSH_MS);
      await first.end('SIGTERM');
      const resumed = new RawSession(claude, place, first.sessionId);
      resumed.say(NUDGE);
      // A resume may end a turn of its own for the orphaned task before the nudge's.
      await resumed.message(({ type }) => type === 'assistant');
      await resumed.message(({ type }) => type === 'result', 2, NO_WAKE_MS);
      await pause(FLUSH_MS);
      await resumed.end();
      return resumed;
    },
  },
];
