import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { seedChats } from '../../scripts/screenshots/seed.ts';
import { storyChats } from '../../scripts/screenshots/story.ts';
import { expect, test } from './support.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  impact: string;
  help: string;
  nodes: { target: string[]; failureSummary: string }[];
}

/** What axe finds that is serious or critical, one sentence each. */
async function seriousFaults(page: Page, where: string): Promise<string[]> {
  await page.evaluate(AXE);
  const violations = await page.evaluate<Violation[]>('axe.run(document).then((results) => results.violations)');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${where}: ${id}: ${help} at ${target.join(' ')}: ${failureSummary}`),
    );
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds no serious fault, ${colorScheme}`, async ({ deploy, operator, seed }) => {
    const deployment = await deploy();
    await seed((parts) => seedChats(parts, storyChats()));
    const page = await operator(deployment, { colorScheme });
    await page.locator('.row .open').first().waitFor();
    const faults = await seriousFaults(page, 'list');
    await page.getByRole('button', { name: 'Pause recovery' }).click();
    await page.getByText(/^Recovery is paused by operator/).waitFor();
    for (const state of ['Killed task', 'API error', 'Recovered']) {
      await page.locator('.row', { hasText: state }).first().locator('.open').click();
      await page.getByRole('heading', { name: 'Timeline' }).waitFor();
      faults.push(...(await seriousFaults(page, `the chat of ${state}`)));
    }
    await page.getByRole('button', { name: /^Settings of/ }).click();
    await page.getByText('built-in default').first().waitFor();
    faults.push(...(await seriousFaults(page, 'settings')));
    expect(faults).toEqual([]);
  });
}

test('on a phone nothing is cut off sideways, and axe finds no serious fault', async ({ deploy, operator, seed }) => {
  const deployment = await deploy();
  await seed((parts) => seedChats(parts, storyChats()));
  const page = await operator(deployment, { viewport: { width: 360, height: 720 } });
  await page.locator('.row .open').first().waitFor();
  const overflow = (): Promise<number> =>
    page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  expect(await overflow()).toBe(0);
  const faults = await seriousFaults(page, 'phone');
  await page.locator('.row .open').first().click();
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  expect(await overflow()).toBe(0);
  faults.push(...(await seriousFaults(page, 'a chat on the phone')));
  expect(faults).toEqual([]);
});
