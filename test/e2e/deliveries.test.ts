import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { ADMIN_TOKEN, freePort } from '../support/deployment.ts';
import { eventually, eventuallyPasses } from '../support/events.ts';
import { startProcess, type TestProcess } from '../support/processes.ts';
import { describe, expect, test as redisTest, type RedisFixture } from '../support/redis.ts';
import { SessionApiStandIn } from '../support/session-api-stand-in.ts';
import { TestTranscript } from '../support/transcript.ts';

const secretOf = (name: string): string =>
  `whsec_${Buffer.from(`the secret of chat server ${name}`).toString('base64')}`;

/** Two watchers and two workers that serve two chat servers, each a stand-in of the session API with transcripts of its own. */
class TwoServers {
  readonly dir = mkdtempSync(join(tmpdir(), 'chat-recovery-two-'));
  readonly apis: Record<'one' | 'two', SessionApiStandIn>;
  readonly watchers: string[] = [];
  readonly #processes: TestProcess[] = [];

  constructor(one: SessionApiStandIn, two: SessionApiStandIn) {
    this.apis = { one, two };
  }

  async start(redis: RedisFixture): Promise<void> {
    const file = join(this.dir, 'instance.yaml');
    const servers = (['one', 'two'] as const).map((id) => ({
      id,
      webhookSecrets: [secretOf(id)],
      sessionApi: { driver: 'http', url: this.apis[id].url },
      transcriptRoots: [join(this.dir, id)],
    }));
    writeFileSync(file, JSON.stringify({ recovery: { autoReDrive: true, debounceMs: 300 }, chatServers: servers }));
    const env = {
      REDIS_URL: redis.url,
      REDIS_HASH_TAG: redis.tag,
      CHAT_RECOVERY_CONFIG: file,
      ADMIN_TOKEN,
      RECOVERY_SETTLE_MS: '0',
    };
    const ports = [await freePort(), await freePort()];
    this.watchers.push(...ports.map((port) => `http://127.0.0.1:${port}`));
    this.#processes.push(
      ...(await Promise.all([
        ...ports.map((port) => startProcess({ file: 'services/watcher/main.ts', env: { ...env, PORT: String(port) } })),
        ...[1, 2].map(() =>
          startProcess({ file: 'services/recovery-worker/main.ts', env: { ...env, WORKER_CONCURRENCY: '5' } }),
        ),
      ])),
    );
  }

  transcript(server: 'one' | 'two'): TestTranscript {
    return new TestTranscript(join(this.dir, server));
  }

  turnEnd(transcript: TestTranscript, webhookId: string = randomUUID()) {
    const data = {
      sessionId: transcript.sessionId,
      project: 'demo',
      driveMode: 'session',
      outcome: 'completed',
      cause: 'human',
      transcriptPath: transcript.path,
    };
    const body = JSON.stringify({ type: 'turn.ended', timestamp: new Date().toISOString(), data });
    return (server: 'one' | 'two', watcher = 0) => this.#deliver(server, watcher, webhookId, body);
  }

  async #deliver(server: 'one' | 'two', watcher: number, id: string, body: string) {
    const now = new Date();
    const response = await fetch(`${this.watchers[watcher]}/v1/events`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': new Webhook(secretOf(server)).sign(id, now, body),
      },
      body,
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  async session(sessionId: string): Promise<{ state: string; server: string }> {
    const response = await fetch(`${this.watchers[0]}/v1/sessions/${sessionId}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    return (await response.json()) as { state: string; server: string };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop()));
    await Promise.all([this.apis.one.close(), this.apis.two.close()]);
    rmSync(this.dir, { recursive: true, force: true });
  }
}

const test = redisTest.extend<{ two: TwoServers }>({
  two: async ({ redis }, use) => {
    const two = new TwoServers(await SessionApiStandIn.start(), await SessionApiStandIn.start());
    await two.start(redis);
    await use(two);
    await two.stop();
  },
});

/** A stand-in's nudged turn writes what a real one would: the prompt and a reply. */
function replyOn(api: SessionApiStandIn, transcript: TestTranscript): void {
  api.add(transcript.sessionId);
  api.onTurn = ({ text }) => {
    transcript.prompt(text);
    transcript.reply();
  };
}

describe('deliveries', () => {
  test('R35: four identical turn ends within 30 ms to two watchers, two workers: one job’s worth, one nudge', async ({
    two,
  }) => {
    const transcript = two.transcript('one');
    replyOn(two.apis.one, transcript);
    transcript.hang();
    const deliver = two.turnEnd(transcript);
    const answers = await Promise.all([deliver('one', 0), deliver('one', 1), deliver('one', 0), deliver('one', 1)]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(new Set(answers.map(({ body }) => body['generation']))).toEqual(new Set([1]));
    await eventuallyPasses(async () => expect((await two.session(transcript.sessionId)).state).toBe('recovered'), {
      timeoutMs: 20_000,
    });
    expect(two.apis.one.received.map(({ outcome }) => outcome)).toEqual(['started']);
  });

  test('two chat servers on one deployment: each recovers its own; one’s delivery for the other’s session is refused', async ({
    two,
  }) => {
    const [mine, theirs] = [two.transcript('one'), two.transcript('two')];
    replyOn(two.apis.one, mine);
    replyOn(two.apis.two, theirs);
    mine.hang();
    theirs.hang();
    expect((await two.turnEnd(mine)('one')).status).toBe(202);
    expect((await two.turnEnd(theirs)('two')).status).toBe(202);
    await eventually(() => two.apis.one.turns(mine.sessionId).length === 1, { timeoutMs: 20_000 });
    await eventually(() => two.apis.two.turns(theirs.sessionId).length === 1, { timeoutMs: 20_000 });
    expect(two.apis.one.received.map(({ sessionId }) => sessionId)).toEqual([mine.sessionId]);
    expect(two.apis.two.received.map(({ sessionId }) => sessionId)).toEqual([theirs.sessionId]);

    // Signed by server two, naming a file that lies under its own root: the session still is server one's.
    const forged = Object.assign(two.transcript('two'), { sessionId: mine.sessionId });
    const refused = await two.turnEnd(forged)('two');
    expect(refused).toMatchObject({ status: 409, body: { code: 'session_owned_by_other_server' } });
    expect((await two.session(mine.sessionId)).server).toBe('one');
  });
});
