import { ADMIN_TOKEN, Deployment } from '../support/deployment.ts';
import { eventuallyPasses } from '../support/events.ts';
import { expect, test } from '../support/redis.ts';

const CHAT_SERVER_TOKEN = 'chat-server-token-that-nobody-may-read';
const NOTICE_SECRET = 'notice-secret-that-nobody-may-read';
/** The key of `Deployment`’s webhooks. */
const WEBHOOK_SECRET = Buffer.from('a secret of the end-to-end tests').toString('base64');
const NOTICE_PATH = 'hook-path-that-nobody-may-read';

test('no secret of the settings, no cookie and no token stands in any line of a whole deployment', async ({
  redis,
}) => {
  const env = {
    LOG_LEVEL: 'trace',
    CHAT_SERVER_TOKEN,
    // Nobody listens there: what is sent fails, and failures are logged.
    NOTICE_WEBHOOK_URL: `http://127.0.0.1:9/${NOTICE_PATH}`,
    NOTICE_WEBHOOK_SECRET: NOTICE_SECRET,
  };
  const deployment = await Deployment.start({ redisUrl: redis.url, tag: redis.tag, workers: 1, env });
  const url = deployment.watcherUrl;
  const secrets = [ADMIN_TOKEN, CHAT_SERVER_TOKEN, NOTICE_SECRET, NOTICE_PATH, 'session-api-token', WEBHOOK_SECRET];
  try {
    const chat = await deployment.createChat('hang');
    await eventuallyPasses(async () => expect((await deployment.session(chat.sessionId)).state).toBe('recovered'), {
      timeoutMs: 20_000,
    });
    const login = await fetch(`${url}/login`, {
      method: 'POST',
      body: new URLSearchParams({ token: ADMIN_TOKEN }),
      headers: { 'sec-fetch-site': 'same-origin' },
      redirect: 'manual',
    });
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    expect(cookie).toMatch(/^chat_recovery_login=.{40,}/);
    secrets.push(cookie.slice(cookie.indexOf('=') + 1));
    await fetch(`${url}/v1/sessions`, { headers: { cookie } });
    await fetch(`${url}/v1/sessions`, { headers: { authorization: `Bearer wrong-${ADMIN_TOKEN}` } });
    const minted = await fetch(`${url}/v1/sessions/${chat.sessionId}/token`, {
      method: 'POST',
      headers: { authorization: `Bearer ${CHAT_SERVER_TOKEN}` },
    });
    const { token } = (await minted.json()) as { token: string };
    secrets.push(token);
    await fetch(`${url}/v1/sessions/${chat.sessionId}?access_token=${token}`);
    await fetch(`${url}/v1/sessions/${chat.sessionId}?access_token=${ADMIN_TOKEN}`);
    // A session API that is gone: its failures carry what the call was made with.
    await deployment.chatServer?.stop('SIGKILL');
    await fetch(`${url}/readyz`);
    await deployment.api(`/v1/sessions/${chat.sessionId}/continue`, 'POST');
  } finally {
    await deployment.stop();
  }
  const lines = [deployment.watcher, ...deployment.workers].flatMap((process) => process?.lines ?? []);
  expect(lines.length).toBeGreaterThan(20);
  for (const secret of secrets) expect(lines.filter((line) => line.includes(secret))).toEqual([]);
  expect(lines.filter((line) => line.includes('v1,'))).toEqual([]);
});
