import { setTimeout as sleep } from 'node:timers/promises';
import { newKey, nudgeBody, shown, type Answer } from '../api.ts';
import { Broken, demand, NotChecked, type Check, type Kit } from '../check.ts';

/** A second turn begins within this, if at all. */
const SECOND_TURN_WITHIN_MS = 500;
const AT_ONCE = 5;

/** `Idempotency-Key`: at most one turn for each. */
export const KEY_CHECKS: readonly Check[] = [
  {
    id: 'key-before-busy',
    title: 'A repeated key is answered like the first time, also while its own turn runs',
    consequence:
      'A caller whose first answer was lost takes the 409 for a definite refusal, and nudges the chat a second time later.',
    async run({ api, stage }) {
      const { id, key, turnId } = await begin({ api, stage });
      const again = await api.send(id, key);
      demand(again.status === 202, `the repeat was answered ${shown(again)}`);
      demand(again.json?.['turnId'] === turnId, `the repeat names another turn: ${shown(again)}`);
      await stage.finish(id);
    },
  },
  {
    id: 'one-turn-per-key',
    title: 'A repeated key begins no second turn',
    consequence: 'One hang, two nudges: the chat does its work twice.',
    async run(kit) {
      const { id, key } = await begin(kit);
      await kit.api.send(id, key);
      await kit.api.send(id, key, nudgeBody());
      await finishFirst(kit, id);
      await demandRest(kit, id);
    },
  },
  {
    id: 'key-remembered',
    title: 'A key is still known when its turn is over',
    consequence: 'A repeat that comes late, after a worker’s crash, begins a second turn.',
    async run(kit) {
      const { id, key, turnId } = await begin(kit);
      await finishFirst(kit, id);
      const late = await kit.api.send(id, key);
      demand(late.status === 202 && late.json?.['turnId'] === turnId, `the late repeat was answered ${shown(late)}`);
      await demandRest(kit, id);
    },
  },
  {
    id: 'refusal-not-remembered',
    title: 'Only a 202 is remembered: a key that was refused as busy may be accepted later',
    consequence: 'The chat is refused for ever by an answer of yesterday, and stays dead.',
    async run({ api, stage }) {
      const id = await stage.make('running');
      const key = newKey();
      const busy = await api.send(id, key);
      if (busy.status !== 409) throw new NotChecked(`a running session was answered ${shown(busy)}`);
      await stage.finish(id);
      const later = await api.send(id, key);
      demand(later.status === 202, `the same key on the idle session was answered ${shown(later)}`);
      await stage.finish(id);
    },
  },
  {
    id: 'keys-apart',
    title: 'A key belongs to its session',
    consequence: 'A chat is told that its turn began although another chat’s did.',
    async run({ api, stage }) {
      if (!stage.isFresh) throw new NotChecked('needs two sessions: give --setup');
      const first = await begin({ api, stage });
      const other = await stage.make('idle');
      const answer = await api.send(other, first.key);
      demand(answer.status === 202, `the same key on another session was answered ${shown(answer)}`);
      demand(answer.json?.['turnId'] !== first.turnId, 'both sessions were given the same turn');
      await stage.finish(first.id);
      await stage.finish(other);
    },
  },
  {
    id: 'same-key-together',
    title: 'The same key several times at once is one turn, and every answer says so',
    consequence: 'Two workers that repeat one attempt begin two turns.',
    async run({ api, stage }) {
      const id = await stage.make('idle');
      const key = newKey();
      const answers = await together(() => api.send(id, key));
      const turns = new Set(answers.map(({ json }) => json?.['turnId']));
      demand(
        answers.every(({ status }) => status === 202) && turns.size === 1,
        `${AT_ONCE} at once were answered ${summary(answers)}, with ${turns.size} turn ids`,
      );
      await stage.finish(id);
    },
  },
  {
    id: 'different-keys-together',
    title: 'Of several keys at once one begins a turn, the others are 409',
    consequence: 'Between "is it idle" and "it is running" something comes in between: two turns run in one chat.',
    async run({ api, stage }) {
      const id = await stage.make('idle');
      const answers = await together(() => api.send(id, newKey()));
      const taken = answers.filter(({ status }) => status === 202).length;
      const refused = answers.filter(({ status }) => status === 409).length;
      demand(taken === 1 && refused === AT_ONCE - 1, `${AT_ONCE} at once were answered ${summary(answers)}`);
      await stage.finish(id);
    },
  },
];

/** A first message that was accepted; without one the check says nothing. */
async function begin({ api, stage }: Pick<Kit, 'api' | 'stage'>) {
  const id = await stage.make('idle');
  const key = newKey();
  const answer = await api.send(id, key);
  if (answer.status !== 202) throw new NotChecked(`the first message was answered ${shown(answer)}`);
  return { id, key, turnId: answer.json?.['turnId'] };
}

/** The turn ends; that the session does not come to rest then means that another runs. */
async function finishFirst({ stage }: Kit, id: string): Promise<void> {
  try {
    await stage.finish(id);
  } catch (error) {
    throw error instanceof NotChecked ? new Broken(`after its turn had ended ${error.message}`) : error;
  }
}

async function demandRest({ api, stage }: Kit, id: string): Promise<void> {
  const deadline = performance.now() + SECOND_TURN_WITHIN_MS;
  while (performance.now() < deadline) {
    const { json } = await api.state(id);
    if (json?.['state'] === 'running') {
      await stage.finish(id);
      throw new Broken('after its turn had ended a second one began');
    }
    await sleep(50);
  }
}

const together = (call: () => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: AT_ONCE }, () => call()));

const summary = (answers: readonly Answer[]): string => answers.map(({ status }) => status).join(', ');
