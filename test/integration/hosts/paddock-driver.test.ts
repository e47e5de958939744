import { randomUUID } from 'node:crypto';
import { PaddockLink, type LinkTiming } from '#shared/session-api/paddock/link.js';
import { createPaddockDriver } from '#shared/session-api/paddock/paddock-driver.js';
import type { SessionDriver } from '#shared/session-api/driver.js';
import { eventually } from '../../support/events.ts';
import { describe, expect, test as base } from '../../support/leaks.ts';
import { PaddockStandIn } from '../../support/paddock-stand-in.ts';

const log = { info: () => undefined, warn: () => undefined };
const QUICK = { pingEveryMs: 30, deadAfterMs: 150, reconnect: { baseMs: 10, capMs: 20, floorMs: 5 } };

interface Made {
  driver: SessionDriver;
  link: PaddockLink;
}

const test = base.extend<{
  paddock: PaddockStandIn;
  make: (frame?: 'continue' | 'send', timing?: Partial<LinkTiming>, token?: string) => Made;
}>({
  paddock: async ({ leaks: _leaks }, use) => {
    const paddock = await PaddockStandIn.start();
    await use(paddock);
    await paddock.close();
  },
  make: async ({ paddock }, use) => {
    const made: Made[] = [];
    await use((frame = 'continue', timing = QUICK, token) => {
      const link = new PaddockLink({ url: paddock.url, token, log, timing });
      const driver = createPaddockDriver({ link, frame, timeoutMs: 1_000, effectWithinMs: 300 });
      made.push({ driver, link });
      return { driver, link };
    });
    for (const { driver } of made) await driver.close();
  },
});

const nudge = (sessionId: string, project = 'p1') => ({
  sessionId,
  text: '[Paddock recovery] Go on.',
  label: 'Paddock recovery',
  idempotencyKey: 'k',
  place: { project, transcriptPath: undefined },
});

describe('the state of a session', () => {
  test('is known from the snapshot of a new connection, and follows its frames', async ({ paddock, make }) => {
    const id = randomUUID();
    const chat = paddock.add(id);
    paddock.begin(chat);
    const { driver } = make();
    expect(await driver.state(id)).toMatchObject({ state: 'running', project: 'p1', queuedFollowUp: false });
    paddock.end(chat);
    paddock.queue(chat, 'Then this.');
    await eventually(async () => (await driver.state(id))?.queuedFollowUp === true);
    expect(await driver.state(id)).toMatchObject({ state: 'idle' });
    paddock.queue(chat, null);
    await eventually(async () => (await driver.state(id))?.queuedFollowUp === false);
    expect(await driver.state(randomUUID())).toMatchObject({ state: 'idle' });
  });

  test('is idle while only background work is left behind; an old server’s turn ends with its completion', async ({
    paddock,
    make,
  }) => {
    const task = { id: 'b1', type: 'shell', description: 'Build', startedAt: '', stoppable: true };
    for (const old of [false, true]) {
      paddock.old = old;
      const id = randomUUID();
      const chat = paddock.add(id, { tasks: [task] });
      const { driver } = make();
      await driver.probe();
      paddock.begin(chat);
      await eventually(async () => (await driver.state(id))?.state === 'running');
      paddock.end(chat);
      await eventually(async () => (await driver.state(id))?.state === 'idle');
    }
  });
});

describe('a nudge', () => {
  test('by chat:continue takes effect with the turn that follows', async ({ paddock, make }) => {
    const id = randomUUID();
    const chat = paddock.add(id);
    const { driver } = make();
    const { turnId } = await driver.send(nudge(id));
    expect(turnId).toBe(chat.jobId);
    expect(paddock.said).toEqual([{ type: 'chat:continue', payload: { projectSlug: 'p1', sessionId: id } }]);
  });

  test('by chat:send carries our text', async ({ paddock, make }) => {
    const id = randomUUID();
    paddock.add(id);
    await make('send').driver.send(nudge(id));
    expect(paddock.said[0]).toMatchObject({ type: 'chat:send', payload: { message: '[Paddock recovery] Go on.' } });
  });

  test('into the root workspace names it by its empty slug', async ({ paddock, make }) => {
    const id = randomUUID();
    paddock.projects.set('', { layer2: true });
    paddock.add(id, { projectSlug: '' });
    await make().driver.send(nudge(id, ''));
    expect(paddock.said[0]?.payload.projectSlug).toBe('');
  });

  test('is refused for good where Layer 2 is off there, or the project unknown', async ({ paddock, make }) => {
    const id = randomUUID();
    paddock.add(id);
    paddock.projects.set('p1', { layer2: false });
    const { driver } = make();
    const refusal = { class: 'refused', code: 'paddock_ignored', mayHaveArrived: false };
    await expect(driver.send(nudge(id))).rejects.toMatchObject(refusal);
    await expect(driver.send(nudge(id))).rejects.toThrow(/is Layer 2 on/);
    await expect(driver.send(nudge(id, 'nowhere'))).rejects.toMatchObject(refusal);
    await expect(make('send').driver.send(nudge(id, 'nowhere'))).rejects.toThrow(/unknown project/);
  });

  test('is not said while a turn runs or a message waits', async ({ paddock, make }) => {
    const id = randomUUID();
    const chat = paddock.add(id, { queued: 'later' });
    const { driver } = make();
    await expect(driver.send(nudge(id))).rejects.toMatchObject({ class: 'busy', code: 'queued_follow_up' });
    paddock.begin(chat);
    await eventually(async () => (await driver.state(id))?.state === 'running');
    await expect(driver.send(nudge(id))).rejects.toMatchObject({ class: 'busy', code: 'turn_running' });
    expect(paddock.said).toEqual([]);
  });

  test('whose connection breaks before the turn is seen has an unknown outcome', async ({ paddock, make }) => {
    const id = randomUUID();
    paddock.add(id);
    paddock.onTurn = () => undefined;
    paddock.projects.clear();
    const { driver } = make();
    await driver.probe();
    const sent = expect(driver.send(nudge(id))).rejects.toMatchObject({ code: 'paddock_lost', mayHaveArrived: true });
    await eventually(() => paddock.said.length === 1);
    paddock.cut();
    await sent;
  });
});

describe('the connection', () => {
  test('carries the token', async ({ paddock, make }) => {
    await make('continue', QUICK, 'hush').driver.probe();
    expect(paddock.connections[0]?.authorization).toBe('Bearer hush');
  });

  test('comes back by itself, and what ended meanwhile has ended', async ({ paddock, make }) => {
    const [one, two] = [paddock.add(randomUUID()), paddock.add(randomUUID())];
    paddock.begin(one);
    paddock.begin(two);
    const { driver, link } = make();
    const ended: string[] = [];
    link.listen({ change: ({ kind, session }) => void (kind === 'ended' && ended.push(session.sessionId)) });
    await driver.probe();
    one.turnRunning = false;
    paddock.cut();
    await eventually(() => ended.length > 0);
    expect(ended).toEqual([one.sessionId]);
    expect(await driver.state(one.sessionId)).toMatchObject({ state: 'idle' });
    expect(await driver.state(two.sessionId)).toMatchObject({ state: 'running' });
  });

  test('that says nothing any more is given up', async ({ paddock, make }) => {
    const { driver } = make();
    await driver.probe();
    paddock.deaf = true;
    await eventually(() => paddock.connections.length > 1);
    paddock.deaf = false;
    await driver.probe();
  });

  test('to nobody is a failure of the network, and nothing was said', async ({ paddock }) => {
    const link = new PaddockLink({ url: 'http://127.0.0.1:1', token: undefined, log, timing: QUICK });
    const driver = createPaddockDriver({ link, frame: 'continue', timeoutMs: 100 });
    await expect(driver.send(nudge(randomUUID()))).rejects.toMatchObject({ class: 'network', mayHaveArrived: false });
    expect(paddock.said).toEqual([]);
    await driver.close();
    await expect(driver.probe()).rejects.toMatchObject({ class: 'network' });
  });
});
