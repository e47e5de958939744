import { sessionStatusSchema, SESSION_API_STATES, type SessionApiState } from '../contract.ts';
import type { SessionStatus } from '../driver.ts';
import type { Ran } from './run.ts';

/** What a status command said. */
export type Told = { kind: 'status'; status: SessionStatus } | { kind: 'gone' } | { kind: 'unclear'; why: string };

/** Exit codes for a script that prints nothing. Others are failures, so that a broken script never passes for a state. */
export const EXIT_STATES: ReadonlyMap<number, SessionApiState | 'gone'> = new Map([
  [0, 'idle'],
  [10, 'running'],
  [11, 'waiting'],
  [12, 'closed'],
  [13, 'gone'],
]);

/** Reads a status command's end: JSON like the session API's answer, one word, or an exit code. Pure. */
export function readStatus(ran: Ran): Told {
  if (ran.kind === 'not-started') return { kind: 'unclear', why: `could not be started: ${ran.message}` };
  if (ran.kind === 'killed') return { kind: 'unclear', why: `was cut off (${ran.why})` };
  const { code, stdout } = ran;
  const state = EXIT_STATES.get(code);
  if (state === undefined) return { kind: 'unclear', why: `ended with ${code}: ${firstLine(ran.stderr)}` };
  if (state === 'gone') return { kind: 'gone' };
  if (code !== 0) return told(state);
  const said = stdout.trim();
  if (said === '') return told('idle');
  if (said.startsWith('{')) return fromJson(said);
  const word = SESSION_API_STATES.find((known) => known === said.toLowerCase());
  return word === undefined ? { kind: 'unclear', why: `said ${JSON.stringify(said.slice(0, 80))}` } : told(word);
}

function fromJson(text: string): Told {
  const parsed = answer.safeParse(parseJson(text));
  if (!parsed.success) return { kind: 'unclear', why: 'printed JSON that is no session state' };
  return told(parsed.data.state, parsed.data.queuedFollowUp ?? false);
}

const answer = sessionStatusSchema.partial({ queuedFollowUp: true });

function told(state: SessionApiState, queuedFollowUp = false): Told {
  return { kind: 'status', status: { state, queuedFollowUp, project: undefined, transcriptPath: undefined } };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const firstLine = (text: string): string => text.trim().split('\n', 1)[0]?.slice(0, 200) ?? '';
