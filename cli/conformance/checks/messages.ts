import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { newKey, nudgeBody, shown } from '../api.ts';
import { demand, type Check, type Kit } from '../check.ts';

/** `POST /sessions/{id}/messages`: what is taken, and what is refused. */
export const MESSAGE_CHECKS: readonly Check[] = [
  {
    id: 'accepted',
    title: 'A message to an idle session is 202 with the turn that it began',
    consequence: 'Any other success counts as unknown: the call is repeated with waits of up to 30 s, for ever.',
    async run({ api, stage }) {
      const id = await stage.make('idle');
      const answer = await api.send(id, newKey());
      demand(answer.status === 202, `it was answered ${shown(answer)}`);
      const turnId = answer.json?.['turnId'];
      demand(typeof turnId === 'string' && turnId !== '', `the 202 names no turnId: ${shown(answer)}`);
      await stage.finish(id);
    },
  },
  {
    id: 'turn-begins',
    title: 'After a 202 the turn runs',
    consequence: 'The promise is empty: the chat stays dead, and is shown as nudged without effect.',
    async run({ api, stage, waitMs }) {
      const id = await stage.make('idle');
      await api.send(id, newKey());
      const deadline = performance.now() + Math.min(waitMs, 3_000);
      let state = (await api.state(id)).json?.['state'];
      while (state !== 'running' && performance.now() < deadline) {
        await sleep(50);
        state = (await api.state(id)).json?.['state'];
      }
      demand(state === 'running', `after the 202 the session says ${String(state)}`);
      await stage.finish(id);
    },
  },
  {
    id: 'bad-request',
    title: 'A call without a key, or with an empty text, is 400',
    consequence: 'A message without a key cannot be repeated safely: an answer that is lost becomes a second turn.',
    async run({ api, stage }) {
      const id = await stage.make('idle');
      const keyless = await api.send(id, undefined);
      demand(isRefusal(keyless.status), `a call without Idempotency-Key was answered ${shown(keyless)}`);
      const empty = await api.send(id, newKey(), { ...nudgeBody(), text: '' });
      demand(isRefusal(empty.status), `an empty text was answered ${shown(empty)}`);
    },
  },
  {
    id: 'message-unknown',
    title: 'A message to an unknown session is 404 or 410',
    consequence: 'The watch of a chat that is gone never ends.',
    run: async ({ api }) => expectGone(await api.send(randomUUID(), newKey()), 'an unknown session'),
  },
  {
    id: 'message-closed',
    title: 'A message to a session that is over is 404 or 410',
    consequence: 'A chat that its user has deleted is brought back to life.',
    run: async ({ api, stage }) => expectGone(await api.send(await stage.make('closed'), newKey()), 'a closed session'),
  },
  ...(
    [
      ['running', 'turn_running', 'A running turn is doubled or interrupted.'],
      ['waiting', 'waiting', 'The nudge is taken for the user’s answer to a question.'],
      [
        'queued',
        'queued_follow_up',
        'The message that waited and the nudge both move the chat: the work is done twice.',
      ],
    ] as const
  ).map(([state, code, consequence]) => ({
    id: `busy-${state}`,
    title: `A message to a session that is ${state} is 409 with code ${code}`,
    consequence,
    run: (kit: Kit) => expectBusy(kit, state, code),
  })),
];

async function expectBusy({ api, stage }: Kit, state: 'running' | 'waiting' | 'queued', code: string): Promise<void> {
  const answer = await api.send(await stage.make(state), newKey());
  demand(answer.status === 409, `it was answered ${shown(answer)}`);
  demand(answer.json?.['code'] === code, `the 409 carries code ${String(answer.json?.['code'])}`);
}

function expectGone(answer: Awaited<ReturnType<Kit['api']['send']>>, what: string): void {
  demand([404, 410].includes(answer.status), `${what} was answered ${shown(answer)}`);
}

const isRefusal = (status: number): boolean => status >= 400 && status < 500 && status !== 409;
