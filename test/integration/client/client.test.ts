import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLifecycleClient, type LifecycleClient, type LifecycleReport } from 'chat-recovery/client';
import { eventually } from '../../support/events.ts';
import { describe, expect, test as base } from '../../support/leaks.ts';
import { SECRET, startReceiver, type Receiver } from '../chat-server/world.ts';

const ID = '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11';
const OTHER = '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d12';

interface Post {
  dir: string;
  reports: LifecycleReport[];
  receiver: Receiver;
  /** A client on the test's outbox, pointed at the receiver unless told otherwise. */
  client(target?: { url: string } | 'nobody'): LifecycleClient;
}

const test = base.extend<{ mail: Post }>({
  mail: async ({ leaks: _leaks }, use) => {
    const dir = mkdtempSync(join(tmpdir(), 'outbox-'));
    const receiver = await startReceiver();
    const clients: LifecycleClient[] = [];
    const reports: LifecycleReport[] = [];
    await use({
      dir,
      reports,
      receiver,
      client(target = receiver) {
        const options = { outboxDir: dir, report: (report: LifecycleReport) => void reports.push(report) };
        const client = createLifecycleClient(
          target === 'nobody' ? options : { ...options, target: { url: target.url, secret: SECRET } },
        );
        clients.push(client);
        return client;
      },
    });
    for (const client of clients) await client.close();
    await receiver.close();
    rmSync(dir, { recursive: true, force: true });
  },
});

const started = (client: LifecycleClient, sessionId: string, turnId: string) =>
  client.emit('turn.started', { sessionId, project: '', cause: 'human', turnId });

const turns = (receiver: Receiver, sessionId = ID) =>
  receiver.received
    .filter(({ event }) => event.data.sessionId === sessionId)
    .map(({ event }) => ('turnId' in event.data ? event.data.turnId : ''));

describe('events', () => {
  test('are on disk when emit returns, arrive signed, once each, in their order, and leave the disk', async ({
    mail,
  }) => {
    const client = mail.client();
    for (let turn = 0; turn < 20; turn += 1) started(client, ID, `t${turn}`);
    expect(readdirSync(mail.dir)).toHaveLength(20);
    await client.flushed();
    expect(turns(mail.receiver)).toEqual(Array.from({ length: 20 }, (_, turn) => `t${turn}`));
    const stamps = mail.receiver.received.map(({ event }) => event.timestamp);
    expect(stamps).toEqual([...new Set(stamps)].toSorted((a, b) => a - b));
    expect(readdirSync(mail.dir)).toEqual([]);
  });

  test('outlive the process that took them, and later ones are stamped later', async ({ mail }) => {
    const first = mail.client('nobody');
    started(first, ID, 'before');
    await first.close();
    const second = mail.client();
    started(second, ID, 'after');
    await second.flushed();
    expect(turns(mail.receiver)).toEqual(['before', 'after']);
    const [before = 0, after = 0] = mail.receiver.received.map(({ event }) => event.timestamp);
    expect(after).toBeGreaterThan(before);
  });

  test('wait as long as Retry-After says, with one id through all tries; another session does not wait', async ({
    mail,
  }) => {
    let refusals = 1;
    const at: number[] = [];
    mail.receiver.answer = ({ data }) => {
      if (data.sessionId !== ID) return { status: 202 };
      at.push(Date.now());
      return refusals-- > 0 ? { status: 503, headers: { 'retry-after': '1' } } : { status: 200 };
    };
    const client = mail.client();
    started(client, ID, 'patient');
    started(client, OTHER, 'quick');
    await eventually(() => turns(mail.receiver, OTHER).length === 1);
    expect(turns(mail.receiver)).toEqual([]);
    await client.flushed();
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(950);
    const tries = mail.receiver.tries.filter(({ id }) => id === mail.receiver.received.at(-1)?.id);
    expect(tries).toHaveLength(2);
  });

  test('are tried again after a redirect and a 401: only 2xx is done', async ({ mail }) => {
    const answers = [302, 401, 202];
    mail.receiver.answer = () => ({ status: answers.shift() ?? 500, headers: { location: '/elsewhere' } });
    const client = mail.client();
    started(client, ID, 'told');
    await client.flushed();
    expect(mail.reports.map(({ what, status }) => `${what} ${status}`)).toEqual([
      'failed 302',
      'failed 401',
      'delivered 202',
    ]);
  });

  test('refused for good are dropped and said so; the next one goes on', async ({ mail }) => {
    const answers = [422, 202];
    mail.receiver.answer = () => ({ status: answers.shift() ?? 500 });
    const client = mail.client();
    started(client, ID, 'bad');
    started(client, ID, 'good');
    await client.flushed();
    expect(mail.reports.map(({ what }) => what)).toEqual(['dropped', 'delivered']);
    expect(turns(mail.receiver)).toEqual(['good']);
  });

  test('are sent all the same where the disk does not take them', async ({ mail }) => {
    const client = mail.client();
    rmSync(mail.dir, { recursive: true });
    started(client, ID, 'homeless');
    await client.flushed();
    expect(turns(mail.receiver)).toEqual(['homeless']);
    expect(mail.reports.map(({ what }) => what)).toEqual(['not-kept', 'delivered']);
  });

  test('of a file that holds none are set aside; a half-written one is none', async ({ mail }) => {
    mkdirSync(mail.dir, { recursive: true });
    writeFileSync(join(mail.dir, '000000000000001-000001.json'), '{"id":"msg_1","sess');
    writeFileSync(join(mail.dir, '000000000000002-000001.json.tmp'), '{"id"');
    const client = mail.client();
    expect(client.pending()).toBe(0);
    expect(mail.reports.map(({ what }) => what)).toEqual(['unreadable']);
    expect(readdirSync(mail.dir)).toEqual(['000000000000001-000001.json.unreadable']);
  });

  test('of 300 sessions wait for a target and all arrive', async ({ mail }) => {
    const client = mail.client('nobody');
    for (let index = 0; index < 300; index += 1) {
      started(client, `7c0a4b1e-52c5-4f0e-9a3c-${String(index).padStart(12, '0')}`, 'x');
    }
    client.setTarget({ url: mail.receiver.url, secret: SECRET });
    await client.flushed();
    expect(mail.receiver.received).toHaveLength(300);
  });
});
