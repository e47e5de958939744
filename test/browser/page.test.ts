import { sessionKeys } from '#shared/session/keys.js';
import { seedChats } from '../../scripts/screenshots/seed.ts';
import { ADMIN_TOKEN, nudgesIn } from '../support/deployment.ts';
import { eventually } from '../support/events.ts';
import { expect, logIn, newPage, test } from './support.ts';

const SURFACE_ONLY = { autoReDrive: false };

test('a hang appears live, Continue revives the chat and the outcome is told in words', async ({
  deploy,
  operator,
}) => {
  const deployment = await deploy({ recovery: SURFACE_ONLY });
  const page = await operator(deployment);
  await page.getByText('No chat has been heard of yet').waitFor();
  const chat = await deployment.createChat('hang');
  const row = page.locator('.row', { hasText: chat.sessionId.slice(0, 8) });
  await row.getByText('Killed task').waitFor();
  await page.getByRole('button', { name: '1 Needs attention' }).waitFor();
  await page.getByRole('img', { name: /^Hangs in the last 24 hours: 1; / }).waitFor();
  expect(await page.locator('#announcer').textContent()).toBe('A background task was ended in demo.');
  await row.getByRole('button', { name: 'Continue chat' }).click();
  await row.getByText('Continued: the chat took the message and starts a turn.').waitFor();
  await row.getByText('Recovered').waitFor();
  await page.getByRole('img', { name: /^Recoveries in the last 24 hours: 1; / }).waitFor();
  expect(nudgesIn(chat.transcriptPath)).toBe(1);
});

test('the trail of a chat says in words why it was not nudged, with the evidence', async ({ deploy, operator }) => {
  const deployment = await deploy({ recovery: SURFACE_ONLY });
  const page = await operator(deployment);
  const chat = await deployment.createChat('hang');
  await page.locator('.row', { hasText: 'Killed task' }).locator('.open').click();
  const pane = page.getByRole('complementary', { name: `Chat ${chat.sessionId}` });
  await pane.getByText(/^Not nudged: .*Automatic recovery is off for this project\.$/).waitFor();
  const killed = pane
    .getByRole('listitem')
    .filter({ hasText: 'A background task was ended, and nothing has answered' });
  await killed.getByText(/^b\w+ (killed|stopped): Background command/).waitFor();
  await pane.getByRole('button', { name: 'Continue', exact: true }).click();
  await pane.getByRole('listitem').getByText('The chat replied: it goes on.').waitFor();
  await pane.getByText('The chat took the nudge.').waitFor();
});

test('settings are shown with their source, edited for one project and cleared', async ({ deploy, operator }) => {
  const deployment = await deploy({ recovery: SURFACE_ONLY, env: { PADDOCK_RECOVERY_MAX_RETRIES: '3' } });
  const page = await operator(deployment);
  await deployment.createChat('plain');
  await page.locator('.row .open').first().waitFor();
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Recovery settings' });
  await dialog.getByText('off, this project').waitFor();
  await dialog.getByText('3, environment').waitFor();
  await dialog.getByText('5 s, built-in default').waitFor();
  await dialog.getByLabel('Debounce').fill('soon');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.locator('[aria-invalid=true][name=debounceMs]').waitFor();
  await dialog.getByLabel('Debounce').fill('1500');
  await dialog.getByLabel('Nudge automatically').selectOption('On');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.getByText('Saved.').waitFor();
  await dialog.getByText('1.5 s, this project').waitFor();
  await dialog.getByText('on, this project').waitFor();
  const path = '/v1/projects/demo/recovery';
  expect((await deployment.api(path)).body['override']).toEqual({ debounceMs: 1500, autoReDrive: true });
  await dialog.getByRole('button', { name: 'Clear the project’s values' }).click();
  await dialog.getByText('5 s, built-in default').waitFor();
  expect((await deployment.api(path)).body['override']).toEqual({});
});

test('pause is plainly visible and holds a due nudge; resume lets it go', async ({ deploy, operator }) => {
  const deployment = await deploy();
  const page = await operator(deployment);
  await page.getByRole('button', { name: 'Pause recovery' }).click();
  const banner = page.getByRole('alert').filter({ hasText: 'Recovery is paused by operator' });
  await banner.waitFor();
  const chat = await deployment.createChat('hang');
  const row = page.locator('.row', { hasText: chat.sessionId.slice(0, 8) });
  await row.getByText('Killed task').waitFor();
  await row.locator('.open').click();
  await page.getByRole('complementary').getByText('Recovery is paused.', { exact: true }).waitFor(); // the line in the trail: deferred, and why
  expect(nudgesIn(chat.transcriptPath)).toBe(0);
  await banner.getByRole('button', { name: 'Resume' }).click();
  await banner.waitFor({ state: 'hidden' });
  await row.getByText('Recovered').waitFor();
  expect(nudgesIn(chat.transcriptPath)).toBe(1);
});

test('recovery that paused itself says so', async ({ deploy, operator, seed }) => {
  const deployment = await deploy();
  const page = await operator(deployment);
  await seed(async ({ store }) => store.pause('itself'));
  await page.getByText(/^Recovery paused itself since/).waitFor();
  await page.getByText(/Five nudges in a row had no effect/).waitFor();
});

test('a watcher that is killed and started again: the page is live again and has missed nothing', async ({
  deploy,
  operator,
}) => {
  const deployment = await deploy({ recovery: SURFACE_ONLY });
  const page = await operator(deployment);
  const before = await deployment.createChat('hang');
  await page
    .locator('.row', { hasText: before.sessionId.slice(0, 8) })
    .getByText('Killed task')
    .waitFor();
  await deployment.watcher?.stop('SIGKILL');
  await page.getByText('Reconnecting…').waitFor();
  // While no watcher is there: the outbox keeps the turn's end, the new watcher hears of it, and so does the page.
  const meanwhile = await deployment.createChat('hang');
  deployment.watcher = await deployment.startWatcher();
  await page.getByText('Live', { exact: true }).waitFor();
  await page
    .locator('.row', { hasText: meanwhile.sessionId.slice(0, 8) })
    .getByText('Killed task')
    .waitFor();
  await page.getByRole('button', { name: '2 Needs attention' }).waitFor();
});

test('where the trail was trimmed meanwhile, the page reads everything anew', async ({ deploy, operator, seed }) => {
  const deployment = await deploy();
  const page = await operator(deployment);
  await page.getByText('No chat has been heard of yet').waitFor();
  await deployment.watcher?.stop('SIGKILL');
  await page.getByText('Reconnecting…').waitFor();
  await seed(async (parts) => {
    await seedChats(parts, [{ project: 'unheard', state: 'idle', ageMs: 1_000 }]);
    await parts.redis.xtrim(sessionKeys(parts.tag).trail, 'MAXLEN', 0);
  });
  deployment.watcher = await deployment.startWatcher();
  await page.locator('.row', { hasText: 'unheard' }).waitFor();
  await page.getByText('1 chat', { exact: true }).waitFor();
});

test('markup in a transcript, a summary or a project is shown as text', async ({ deploy, operator, seed }) => {
  const deployment = await deploy({ recovery: SURFACE_ONLY });
  const page = await operator(deployment);
  const summary = '<script>document.title="broken"</script><img src=x onerror="document.title=\'broken\'"><b>bold</b>';
  const detail = { [summary]: summary, tasks: [{ id: summary, status: summary, summary }] };
  await seed(async (parts) => {
    const trail = [{ kind: 'deferred' as const, agoMs: 1_000, reason: summary, detail }];
    await seedChats(parts, [{ project: 'demo', state: 'killed', ageMs: 2_000, summary, trail }]);
  });
  const row = page.locator('.row', { hasText: '<script>' });
  await row.locator('.open').click();
  await page.getByRole('complementary').getByText(summary).first().waitFor();
  await page.getByRole('searchbox').fill('<b>bold');
  await row.waitFor();
  expect(await page.locator('#rows b, #rows img, #rows script, #detail b, #detail img, #detail script').count()).toBe(
    0,
  );
  expect(await page.title()).toBe('Chat recovery');
});

test('every request goes to its own watcher, and the policy allows no other', async ({ deploy, operator, browser }) => {
  const deployment = await deploy();
  const page = await operator(deployment);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).origin));
  const response = await page.goto(deployment.watcherUrl);
  await page.getByText('Live', { exact: true }).waitFor();
  expect(new Set(asked)).toEqual(new Set([deployment.watcherUrl]));
  const policy = response?.headers()['content-security-policy'] ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  expect(browser.isConnected()).toBe(true);
});

test('by keyboard alone: find a chat, open it, come back', async ({ deploy, operator, seed }) => {
  const deployment = await deploy();
  const page = await operator(deployment);
  await seed(async (parts) => {
    const chats = Array.from({ length: 40 }, (_, at) => ({
      project: `p${at}`,
      state: 'idle' as const,
      ageMs: at * 1_000,
    }));
    await seedChats(parts, chats);
  });
  await page.getByText('40 chats').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('p3');
  await page.getByText('11 of 40 chats').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  expect(await focused()).toMatch(/^p3 /);
  await page.keyboard.press('ArrowDown');
  expect(await focused()).toMatch(/^p30 /);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'p30' }).waitFor();
  await eventually(() => page.evaluate<boolean>('document.activeElement.id === "detail"'), {
    what: 'the pane to have the focus',
  });
  await page.keyboard.press('Escape');
  await eventually(async () => (await focused()).startsWith('p30 '), { what: 'the focus to be back at its row' });
});

test('a wrong token is refused at the login, the right one lets in, and log out leads back', async ({
  deploy,
  browser,
}) => {
  const deployment = await deploy();
  const page = await newPage(browser, []);
  await logIn(page, deployment.watcherUrl, 'not the token');
  await page.getByRole('alert').filter({ hasText: 'That is not the admin token.' }).waitFor();
  await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByLabel('Admin token').waitFor();
});
