import { Deployment, freePort, ADMIN_TOKEN } from '../support/deployment.ts';
import { eventuallyPasses } from '../support/events.ts';
import { expect, test } from '../support/redis.ts';

/** Values of one metric family, by its labels. */
function samples(text: string, name: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return new Map(
    lines.map((line) => [/\{(.*)\}/.exec(line)?.[1] ?? '', Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

test('one hang leaves one correlation id from the webhook to the nudge, and numbers in both processes', async ({
  redis,
}) => {
  const port = await freePort();
  const env = { LOG_LEVEL: 'debug', WORKER_PORT: String(port) };
  const deployment = await Deployment.start({ redisUrl: redis.url, tag: redis.tag, workers: 1, env });
  try {
    const chat = await deployment.createChat('hang');
    await eventuallyPasses(async () => expect((await deployment.session(chat.sessionId)).state).toBe('recovered'), {
      timeoutMs: 20_000,
    });
    const { trail } = await deployment.session(chat.sessionId);
    const cidOf = (kind: string) =>
      (trail.find((line) => line.kind === kind) as { detail?: { cid?: string } } | undefined)?.detail?.cid;
    const cid = cidOf('turn-ended');
    expect(cid).toMatch(/^\S{8,}$/);
    expect({ killed: cidOf('killed-task'), claimed: cidOf('claimed'), nudged: cidOf('nudged') }).toEqual({
      killed: cid,
      claimed: cid,
      nudged: cid,
    });
    const said = (lines: readonly string[] | undefined, message: string) =>
      (lines ?? []).filter((line) => line.includes(`"${cid}"`) && line.includes(message));
    expect(said(deployment.watcher?.lines, '"Answered."')).not.toEqual([]);
    expect(said(deployment.workers[0]?.lines, '"Nudged."')).toHaveLength(1);

    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const metricsOf = async (url: string) => (await fetch(`${url}/metrics`, { headers })).text();
    // The state shows a moment before its numbers do.
    await eventuallyPasses(async () => {
      const worker = await metricsOf(`http://127.0.0.1:${port}`);
      const watcher = await metricsOf(deployment.watcherUrl);
      expect(samples(worker, 'chat_recovery_nudges_total').get('kind="auto",outcome="accepted"')).toBe(1);
      expect(samples(worker, 'chat_recovery_decisions_total').get('reason="nudged"')).toBe(1);
      expect(samples(worker, 'chat_recovery_nudge_overshoot_seconds_count').get('')).toBe(1);
      const sum = (name: string) =>
        [worker, watcher].reduce((total, text) => total + (samples(text, name).get('') ?? 0), 0);
      expect(sum('chat_recovery_notices_total')).toBe(1);
      expect(sum('chat_recovery_nudge_to_reply_seconds_count')).toBe(1);
      expect(
        samples(watcher, 'chat_recovery_webhooks_total').get('type="turn.ended",outcome="applied"'),
      ).toBeGreaterThan(0);
    });
  } finally {
    await deployment.stop();
  }
});
