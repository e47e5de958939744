import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { CHAT_SERVER_TOKEN, nudgesIn, type Deployment } from '../support/deployment.ts';
import { eventually } from '../support/events.ts';
import { expect, newPage, test, type BrowserFixtures } from './support.ts';

/** The example's chat page at one chat. */
async function chatPage(browser: BrowserFixtures['browser'], deployment: Deployment, sessionId: string): Promise<Page> {
  const page = await newPage(browser, []);
  await page.goto(`${deployment.chatsUrl}/#${sessionId}`);
  await page.getByRole('heading', { name: sessionId.slice(0, 8) }).waitFor();
  return page;
}

test('a user sees why the chat stopped, clicks Continue, and sees that recovery continued it', async ({
  deploy,
  browser,
}) => {
  const deployment = await deploy({ recovery: { autoReDrive: false } });
  const chat = await deployment.createChat('hang');
  const page = await chatPage(browser, deployment, chat.sessionId);
  await page.getByText('A background task was ended when the turn was over').waitFor();
  await page.getByText('Claude is idle and will not go on by itself.').waitFor();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Paddock recovery continued this chat.').waitFor();
  await page.getByRole('list', { name: 'Messages' }).getByText('I ran it again in the foreground').waitFor();
  expect(nudgesIn(chat.transcriptPath)).toBe(1);
});

test('a chat that recovery continues by itself says so, live; a person’s message takes the notice away', async ({
  deploy,
  browser,
}) => {
  const deployment = await deploy({ recovery: { autoReDrive: true, debounceMs: 1_500 } });
  const chat = await deployment.createChat('hang');
  const page = await chatPage(browser, deployment, chat.sessionId);
  await page.getByText('Claude is idle. Paddock recovery continues the chat in a moment.').waitFor();
  const done = page.getByText('Paddock recovery continued this chat.');
  await done.waitFor();
  await page.getByLabel('Message', { exact: true }).fill('Thank you.');
  await page.getByRole('button', { name: 'Send' }).click();
  await done.waitFor({ state: 'detached' });
});

test('where Layer 2 is off the notice explains and offers nothing', async ({ deploy, browser }) => {
  const deployment = await deploy({
    recovery: { surfaceKilledTask: false, autoReDrive: true, maxRetries: 0, debounceMs: 100 },
  });
  const chat = await deployment.createChat('hang');
  const page = await chatPage(browser, deployment, chat.sessionId);
  await page.getByText('A background task was ended when the turn was over').waitFor();
  expect(await page.getByRole('button', { name: 'Continue' }).count()).toBe(0);
});

test('a failure is told in words, and an alert says it', async ({ deploy, browser }) => {
  const deployment = await deploy({ recovery: { autoReDrive: false } });
  const chat = await deployment.createChat('waiting');
  const page = await chatPage(browser, deployment, chat.sessionId);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page
    .getByRole('alert')
    .filter({ hasText: /^Not continued: .*waits for a permission/ })
    .waitFor();
});

test('texts and label by attributes, themes by properties and parts, all of it text', async ({ deploy, browser }) => {
  const deployment = await deploy({ recovery: { autoReDrive: false } });
  const chat = await deployment.createChat('hang');
  const page = await chatPage(browser, deployment, chat.sessionId);
  const notice = page.locator('chat-recovery-notice');
  await notice.getByText('Claude is idle and will not go on by itself.').waitFor();
  await page.evaluate(`(() => {
    const notice = document.querySelector('chat-recovery-notice');
    notice.setAttribute('text-title', 'Eine Hintergrundaufgabe wurde beendet <b>hier</b>');
    notice.setAttribute('text-continue', 'Weiter');
    notice.style.setProperty('--chat-recovery-bg', 'rgb(1, 2, 3)');
  })()`);
  await notice.getByText('Eine Hintergrundaufgabe wurde beendet <b>hier</b>').waitFor();
  await notice.getByRole('button', { name: 'Weiter' }).waitFor();
  const background = await page.evaluate<string>(
    'getComputedStyle(document.querySelector("chat-recovery-notice").shadowRoot.querySelector("[part=notice]")).backgroundColor',
  );
  expect(background).toBe('rgb(1, 2, 3)');
});

test('on a page of another origin, with a token for that one chat', async ({ deploy, browser }) => {
  const deployment = await deploy({ recovery: { autoReDrive: false } });
  const chat = await deployment.createChat('hang');
  const minted = await eventually(async () => {
    const answer = await fetch(`${deployment.watcherUrl}/v1/sessions/${chat.sessionId}/token`, {
      method: 'POST',
      headers: { authorization: `Bearer ${CHAT_SERVER_TOKEN}` },
    });
    return answer.ok ? ((await answer.json()) as { token: string }) : undefined;
  });
  const html = `<!doctype html><title>Elsewhere</title><script type="module" src="${deployment.watcherUrl}/chat-recovery-notice.js"></script>
    <chat-recovery-notice session="${chat.sessionId}" src="${deployment.watcherUrl}" token="${minted.token}"></chat-recovery-notice>`;
  const site = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(html));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  try {
    const page = await newPage(browser, []);
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Paddock recovery continued this chat.').waitFor();
    expect(nudgesIn(chat.transcriptPath)).toBe(1);
    await page.context().close();
  } finally {
    site.closeAllConnections();
    await new Promise((resolve) => site.close(resolve));
  }
});

test('the page’s calls are let in by its cookie only: no token, no other site, no other chat', async ({
  deploy,
  browser,
}) => {
  const deployment = await deploy();
  const chat = await deployment.createChat('plain');
  const page = await chatPage(browser, deployment, chat.sessionId);
  const status = (path: string): Promise<number> =>
    page.evaluate<number>(`fetch('${path}').then((answer) => answer.status)`);
  expect(await status(`recovery/v1/sessions/${chat.sessionId}`)).toBe(200);
  expect(await status('recovery/v1/sessions/7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11')).toBe(404);
  expect(await status('recovery/v1/sessions')).toBe(404);
  const value = (await page.context().cookies())[0]?.value ?? '';
  const asked = (headers: Record<string, string>) =>
    fetch(`${deployment.chatsUrl}/recovery/v1/sessions/${chat.sessionId}`, { headers });
  expect((await asked({})).status).toBe(401);
  expect((await asked({ cookie: `chat_page=${value}` })).status).toBe(200);
  expect((await asked({ cookie: `chat_page=${value}`, 'sec-fetch-site': 'cross-site' })).status).toBe(401);
});
