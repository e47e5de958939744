import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { ADMIN_TOKEN } from '../support/deployment.ts';
import { expect, newPage, test } from './support.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate<{ id: string; impact: string }[]>(
    'axe.run(document).then(({ violations }) => violations)',
  );
  return found.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id }) => id);
}

/** Every address that the page asks, but its own watcher's. */
function asksElsewhere(page: Page, url: string): string[] {
  const asked: string[] = [];
  page.on('requestfinished', (request) => {
    if (!request.url().startsWith(url)) asked.push(request.url());
  });
  return asked;
}

test('wrong login, login, board, log-out; in both themes without a serious fault', async ({ deploy, browser }) => {
  const { watcherUrl } = await deploy();
  for (const colorScheme of ['light', 'dark'] as const) {
    const errors: string[] = [];
    const page = await newPage(browser, errors, { colorScheme });
    const elsewhere = asksElsewhere(page, watcherUrl);
    await page.goto(`${watcherUrl}/admin/queues`);
    expect(new URL(page.url()).pathname).toBe('/login');
    await page.getByLabel('Admin token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('That is not the admin token.').waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('recovery', { exact: true }).first().waitFor();
    expect(new URL(page.url()).pathname).toBe('/admin/queues');
    // No script can read it.
    expect(await page.evaluate('document.cookie')).toBe('');
    expect((await page.context().cookies()).map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite }))).toEqual([
      { httpOnly: true, sameSite: 'Strict' },
    ]);
    const status = await page.evaluate<number>(`fetch('/logout', { method: 'POST' }).then(({ status }) => status)`);
    expect(status).toBe(200);
    await page.goto(`${watcherUrl}/admin/queues`);
    expect(new URL(page.url()).pathname).toBe('/login');
    expect(elsewhere).toEqual([]);
    await page.context().close();
  }
});

test('the contract is shown, found in, and asks nobody else', async ({ deploy, browser }) => {
  const { watcherUrl } = await deploy();
  const errors: string[] = [];
  const page = await newPage(browser, errors);
  const elsewhere = asksElsewhere(page, watcherUrl);
  await page.goto(`${watcherUrl}/docs`);
  await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
  const { paths } = (await (await fetch(`${watcherUrl}/openapi.json`)).json()) as { paths: Record<string, object> };
  const operations = Object.values(paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
  expect(await page.locator('details').count()).toBe(operations);
  await page.getByLabel('Find').fill('no_server_token');
  expect(await page.locator('details:visible').count()).toBe(1);
  await page.locator('details:visible summary').click();
  await page
    .locator('details:visible')
    .getByText('Needs the operator’s token, or a login, or a chat server’s token.')
    .waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  expect({ errors, elsewhere }).toEqual({ errors: [], elsewhere: [] });
});
