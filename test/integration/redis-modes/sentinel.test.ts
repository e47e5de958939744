import { eventually } from '../../support/events.ts';
import { canIsolateRedis } from '../../support/isolated-redis.ts';
import { afterAll, describe, expect, test as redisTest } from '../../support/redis.ts';
import { startSentinels, type SentinelTopology } from '../../support/redis-topologies.ts';
import { sessionWhen } from '../watcher/harness.ts';
import { deploy, type SmallChat, type SmallDeployment } from './deployment.ts';

const WITHIN_A_MINUTE = { timeoutMs: 60_000 };
const figures: string[] = [];

const test = redisTest.extend<{ topology: SentinelTopology; deployment: SmallDeployment }>({
  topology: async ({ leaks: _leaks }, use) => {
    const topology = await startSentinels();
    await use(topology);
    await topology.close();
  },
  deployment: async ({ topology }, use) => {
    const deployment = await deploy({ redisUrl: topology.url, workers: 2 });
    await use(deployment);
    await deployment.close();
  },
});

/** Ends the master by SIGKILL or SIGSTOP and waits until another is master. Resolves with the moment of its end (monotonic). */
async function failOver(topology: SentinelTopology, how: 'kill' | 'freeze'): Promise<number> {
  const before = await topology.master();
  const fromMs = performance.now();
  if (how === 'kill') await before.kill();
  else before.signal('SIGSTOP');
  await eventually(async () => (await topology.master()).port !== before.port, {
    timeoutMs: 30_000,
    what: 'a new master',
  });
  return fromMs;
}

/** What was written by now is on the replicas too. */
async function replicated(topology: SentinelTopology): Promise<void> {
  await eventually(async () => {
    const infos = await Promise.all(topology.nodes.map(async (node) => String(await node.ask('INFO', 'replication'))));
    return new Set(infos.map(offsetOf)).size === 1;
  });
}

function offsetOf(info: string): string | undefined {
  return /(?:master_repl_offset|slave_repl_offset):(\d+)/.exec(info)?.[1];
}

/** A watched chat that answers when it is nudged. */
async function watchedChat(deployment: SmallDeployment): Promise<SmallChat> {
  const chat = deployment.chat();
  deployment.api.onTurn = ({ text }) => {
    chat.transcript.prompt(text);
    chat.transcript.reply();
  };
  expect((await chat.turnEnded()).status).toBe(202);
  return chat;
}

describe.skipIf(!canIsolateRedis())('behind three sentinels', { timeout: 120_000 }, () => {
  afterAll(() => {
    if (figures.length > 0) console.error(figures.join('\n'));
  });

  test('R39: the main path: turn end, kill, one nudge, its reply', async ({ deployment }) => {
    const chat = await watchedChat(deployment);
    chat.kill();
    await sessionWhen(deployment.watcher, chat, ({ state }) => state === 'recovered');
    expect(deployment.api.turns(chat.sessionId)).toHaveLength(1);
  });

  test.for(['kill', 'freeze'] as const)(
    'R39: the master ends by %s while a chat is watched, a replica is promoted: the kill is found and nudged once, without a restart',
    async (how, { topology, deployment }) => {
      const chat = await watchedChat(deployment);
      await replicated(topology);
      const fromMs = await failOver(topology, how);
      chat.kill();
      await eventually(() => deployment.api.turns(chat.sessionId).length > 0, WITHIN_A_MINUTE);
      figures.push(`nudged ${Math.round(performance.now() - fromMs)} ms after the master's end by ${how}`);
      await sessionWhen(deployment.watcher, chat, ({ state }) => state === 'recovered');
      expect(deployment.api.turns(chat.sessionId)).toHaveLength(1);
    },
  );

  test('R39: a confirmed turn end that no replica had yet is applied again after the failover, and its kill is nudged once', async ({
    topology,
    deployment,
  }) => {
    const master = await topology.master();
    // No replica gets anything any more, as in the last moment before a failover.
    await master.ask('ACL', 'SETUSER', 'default', '-psync', '-sync');
    await master.ask('CLIENT', 'KILL', 'TYPE', 'replica');
    const chat = await watchedChat(deployment);
    const fromMs = await failOver(topology, 'kill');
    await eventually(async () => (await deployment.watcher.call(`/v1/sessions/${chat.sessionId}`)).status === 200, {
      ...WITHIN_A_MINUTE,
      what: 'the lost session',
    });
    figures.push(`a lost delivery is there again ${Math.round(performance.now() - fromMs)} ms after the master's end`);
    chat.kill();
    await eventually(() => deployment.api.turns(chat.sessionId).length > 0, WITHIN_A_MINUTE);
    await sessionWhen(deployment.watcher, chat, ({ state }) => state === 'recovered');
    expect(deployment.api.turns(chat.sessionId)).toHaveLength(1);
  });

  test('R39: a recovery whose every record is lost in the failover after its call: the same key again, one turn', async ({
    topology,
    deployment,
  }) => {
    const chat = deployment.chat();
    // The turn runs on without a word in the transcript: nothing but the key can tell that it was begun.
    expect((await chat.turnEnded()).status).toBe(202);
    await replicated(topology);
    const master = await topology.master();
    await master.ask('ACL', 'SETUSER', 'default', '-psync', '-sync');
    await master.ask('CLIENT', 'KILL', 'TYPE', 'replica');
    chat.kill();
    await eventually(() => deployment.api.turns(chat.sessionId).length === 1);
    deployment.api.add(chat.sessionId, { project: 'p1' });
    const [first] = deployment.api.turns(chat.sessionId);
    await failOver(topology, 'kill');
    await eventually(
      () => deployment.api.received.some(({ outcome, key }) => outcome === 'replayed' && key === first?.key),
      WITHIN_A_MINUTE,
    );
    await sessionWhen(deployment.watcher, chat, ({ state }) => state === 'nudged');
    expect(deployment.api.turns(chat.sessionId)).toHaveLength(1);
  });
});
