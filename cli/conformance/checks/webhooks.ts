import { setTimeout as sleep } from 'node:timers/promises';
import { newKey, shown } from '../api.ts';
import { Broken, demand, NotChecked, type Check, type Kit } from '../check.ts';
import type { Heard, WebhookEar } from '../webhook-ear.ts';

/** What the server tells of its chats. */
export const WEBHOOK_CHECKS: readonly Check[] = [
  {
    id: 'webhook-turn',
    title: 'A nudged turn is told: turn.started and turn.ended with cause recovery and the turn of the 202',
    consequence:
      'Without turn.ended the chat is not watched after the nudge; without the cause the nudge is not known as arrived.',
    async run(kit) {
      const { ear, id, turnId } = await nudgedTurn(kit);
      const started = await heardOf(kit, ear, id, 'turn.started');
      demand(dataOf(started)['cause'] === 'recovery', `turn.started has cause ${String(dataOf(started)['cause'])}`);
      await kit.stage.finish(id);
      const ended = await heardOf(kit, ear, id, 'turn.ended');
      demand(dataOf(ended)['cause'] === 'recovery', `turn.ended has cause ${String(dataOf(ended)['cause'])}`);
      for (const { event } of [started, ended]) {
        const named = Object(event?.data)['turnId'];
        if (named !== undefined) demand(named === turnId, `${event?.type ?? ''} names another turn than the 202`);
      }
      demand(ear.heard.indexOf(started) < ear.heard.indexOf(ended), 'turn.ended came before turn.started');
    },
  },
  {
    id: 'webhook-retry',
    title: 'A delivery that is answered 503 comes again, the same id and bytes, before any later one of its session',
    consequence: 'A watcher that restarts at the wrong moment never learns of a turn’s end: that chat is not watched.',
    async run(kit) {
      const ear = earOf(kit);
      const id = await kit.stage.make('idle');
      await quiet(ear);
      ear.refuseNext(id);
      await kit.api.send(id, newKey());
      const refused = await until(kit, () => of(ear, id).find(({ status }) => status === 503), 'no webhook came');
      await kit.stage.finish(id);
      const again = await until(
        kit,
        () => of(ear, id).find((heard) => heard !== refused && heard.id === refused.id),
        'after a 503 the delivery did not come again',
      );
      demand(again.body === refused.body, 'the second try has other bytes than the first');
      const between = of(ear, id).filter(
        ({ atMs, id: other }) => atMs > refused.atMs && atMs < again.atMs && other !== refused.id,
      );
      demand(between.length === 0, 'a later event of the session overtook it');
    },
  },
  {
    id: 'webhook-signed',
    title: 'Every delivery is signed after Standard Webhooks',
    consequence: 'The watcher answers 401: nothing that your server tells is heard.',
    run: async (kit) => everyDelivery(kit, ({ signatureFault }) => signatureFault),
  },
  {
    id: 'webhook-schema',
    title: 'Every delivery is an event that the watcher takes',
    consequence: 'The watcher answers 422: the event is lost.',
    run: async (kit) => everyDelivery(kit, ({ schemaFault }) => schemaFault),
  },
  {
    id: 'webhook-order',
    title: 'Stamps of one session rise with every event, in the order of arrival',
    consequence: 'Events that seem older than the last are ignored: a turn’s end among them leaves the chat unwatched.',
    async run(kit) {
      const ear = earOf(kit);
      const last = new Map<string, number>();
      const seen = new Set<string>();
      for (const { id, event } of ear.heard) {
        if (event === undefined || seen.has(id)) continue;
        seen.add(id);
        const before = last.get(event.data.sessionId) ?? 0;
        demand(
          event.timestamp > before,
          `a ${event.type} came with a stamp ${before - event.timestamp} ms older than the event before`,
        );
        last.set(event.data.sessionId, event.timestamp);
      }
      if (seen.size === 0) throw new NotChecked('no webhook came');
    },
  },
];

function earOf({ webhooks }: Kit): WebhookEar {
  if (webhooks === undefined) throw new NotChecked('give --webhook-listen PORT and point your server’s webhooks there');
  return webhooks;
}

async function nudgedTurn(kit: Kit) {
  const ear = earOf(kit);
  const id = await kit.stage.make('idle');
  await quiet(ear);
  const answer = await kit.api.send(id, newKey());
  if (answer.status !== 202) throw new NotChecked(`the message was answered ${shown(answer)}`);
  return { ear, id, turnId: answer.json?.['turnId'], since: ear.heard.length };
}

/** Events of the session's making have come. */
async function quiet(ear: WebhookEar): Promise<void> {
  for (let before = -1; before !== ear.heard.length;) {
    before = ear.heard.length;
    await sleep(150);
  }
}

const of = (ear: WebhookEar, sessionId: string): Heard[] =>
  ear.heard.filter(({ event }) => event?.data.sessionId === sessionId);

const dataOf = ({ event }: Heard): Record<string, unknown> => ({ ...event?.data });

/** The event of that type which the nudged turn caused: the newest of the session. */
function heardOf(kit: Kit, ear: WebhookEar, id: string, type: string): Promise<Heard> {
  const find = (): Heard | undefined =>
    of(ear, id).findLast((heard) => heard.event?.type === type && dataOf(heard)['cause'] !== 'human');
  return until(kit, find, `no ${type} came for the nudged turn`);
}

async function until<T>({ waitMs }: Kit, find: () => T | undefined, otherwise: string): Promise<T> {
  const deadline = performance.now() + Math.min(waitMs, 5_000);
  for (let found = find(); ; found = find()) {
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Broken(otherwise);
    await sleep(50);
  }
}

async function everyDelivery(kit: Kit, faultOf: (heard: Heard) => string | undefined): Promise<void> {
  const { heard } = earOf(kit);
  if (heard.length === 0) throw new NotChecked('no webhook came');
  for (const one of heard) {
    const fault = faultOf(one);
    demand(fault === undefined, `${one.event?.type ?? 'a delivery'}: ${fault ?? ''}`);
  }
}
