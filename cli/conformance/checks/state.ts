import { randomUUID } from 'node:crypto';
import { sessionStatusSchema } from '#shared/session-api/contract.js';
import { shown, type Answer } from '../api.ts';
import { demand, NotChecked, type Check, type Kit } from '../check.ts';

/** `GET /sessions/{id}`. */
export const STATE_CHECKS: readonly Check[] = [
  {
    id: 'state-idle',
    title: 'A session at rest is 200 with state idle and queuedFollowUp false',
    consequence: 'Recovery acts only where your server says idle: its hung chats are never brought back.',
    run: async (kit) => expectState(kit, 'idle', { state: 'idle', queuedFollowUp: false }),
  },
  {
    id: 'state-running',
    title: 'While a turn runs the state is running',
    consequence: 'A chat is spoken to in the middle of its turn.',
    run: async (kit) => expectState(kit, 'running', { state: 'running' }),
  },
  {
    id: 'state-waiting',
    title: 'A chat that waits for its user says waiting',
    consequence:
      'Its transcript can look hung, since an open question is not always on disk: it is nudged in place of its user’s answer.',
    run: async (kit) => expectState(kit, 'waiting', { state: 'waiting' }),
  },
  {
    id: 'state-queued',
    title: 'queuedFollowUp is true while a message waits',
    consequence: 'A chat that is about to move by itself is nudged, and does the work twice.',
    run: async (kit) => expectState(kit, 'queued', { queuedFollowUp: true }),
  },
  {
    id: 'state-unknown',
    title: 'An unknown session is 404',
    consequence: 'Watches of deleted chats never end, and the check at start cannot tell whether the API answers.',
    async run({ api }) {
      const answer = await api.state(randomUUID());
      demand(answer.status === 404 || answer.status === 410, `an unknown id was answered ${shown(answer)}`);
    },
  },
  {
    id: 'state-closed',
    title: 'A session that is over says closed, or is 404 or 410',
    consequence: 'A chat that its user has deleted goes on being watched and nudged.',
    async run({ api, stage }) {
      const answer = await api.state(await stage.make('closed'));
      const isOver = [404, 410].includes(answer.status) || answer.json?.['state'] === 'closed';
      demand(isOver, `a closed session was answered ${shown(answer)}`);
    },
  },
  {
    id: 'token',
    title: 'Without the right token the answer is 401 or 403',
    consequence: 'Everybody who reaches the port can read your chats’ states and speak into them.',
    async run({ api, stage, hasToken }) {
      if (!hasToken) throw new NotChecked('no --token was given');
      const answer = await api.state(await stage.make('idle'), 'not-the-token');
      demand([401, 403].includes(answer.status), `a wrong token was answered ${shown(answer)}`);
    },
  },
];

async function expectState(
  { api, stage }: Kit,
  made: 'idle' | 'running' | 'waiting' | 'queued',
  wanted: { state?: string; queuedFollowUp?: boolean },
): Promise<void> {
  const answer = await api.state(await stage.make(made));
  demand(answer.status === 200, `a session that is ${made} was answered ${shown(answer)}`);
  const status = statusOf(answer);
  for (const [field, value] of Object.entries(wanted)) {
    demand(Object(status)[field] === value, `a session that is ${made} says ${field} ${String(Object(status)[field])}`);
  }
}

function statusOf(answer: Answer) {
  const parsed = sessionStatusSchema.safeParse(answer.json);
  const [issue] = parsed.error?.issues ?? [];
  demand(parsed.success, `the body is no session state: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
  return parsed.data;
}
