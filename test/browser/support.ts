import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { silentLogger } from '#shared/platform/logger.js';
import { closeRedis, createRedis } from '#shared/platform/redis.js';
import { createSessionStore } from '#shared/session/redis-store.js';
import type { SeedParts } from '../../scripts/screenshots/seed.ts';
import { launchChromium } from '../../scripts/screenshots/chromium.ts';
import { ADMIN_TOKEN, Deployment, type DeploymentOptions } from '../support/deployment.ts';
import { test as redisTest } from '../support/redis.ts';

export { describe, expect } from 'vitest';

/** Nothing on these pages takes longer, on a busy machine too. */
const PAGE_TIMEOUT_MS = 20_000;

export interface BrowserFixtures {
  browser: Browser;
  /** A whole deployment of separate processes; stopped after the test. */
  deploy: (options?: Partial<DeploymentOptions>) => Promise<Deployment>;
  /** A page that has logged in at the deployment's watcher and is live. Every error on it fails the test. */
  operator: (deployment: Deployment, options?: BrowserContextOptions) => Promise<Page>;
  /** Adds made-up chats to what the deployment knows. */
  seed: (run: (parts: SeedParts) => Promise<void>) => Promise<void>;
}

/** A test in a real browser against real processes; everything that it starts is ended. */
export const test = redisTest.extend<BrowserFixtures>({
  browser: async ({ redis: _redis }, use) => {
    const browser = await launchChromium(process.env);
    await use(browser);
    await browser.close();
  },
  deploy: async ({ redis }, use) => {
    const started: Deployment[] = [];
    await use(async (options = {}) => {
      const deployment = await Deployment.start({ redisUrl: redis.url, tag: redis.tag, workers: 1, ...options });
      started.push(deployment);
      return deployment;
    });
    await Promise.all(started.map((deployment) => deployment.stop()));
  },
  operator: async ({ browser }, use) => {
    const errors: string[] = [];
    await use(async (deployment, options = {}) => {
      const page = await newPage(browser, errors, options);
      await logIn(page, deployment.watcherUrl, ADMIN_TOKEN);
      await page.getByText('Live', { exact: true }).waitFor();
      return page;
    });
    if (errors.length > 0) throw new Error(`Errors on the page: ${errors.join('; ')}`);
  },
  seed: async ({ redis }, use) => {
    await use(async (run) => {
      const client = createRedis({ url: redis.url, role: 'patient', name: 'seed', logger: silentLogger() });
      const store = createSessionStore({ redis: client, tag: redis.tag, sessionTtlMs: 86_400_000, markTtlMs: 60_000 });
      await run({ store, redis: client, tag: redis.tag });
      await closeRedis(client);
    });
  },
});

/** A page whose errors, and whose violations of its own policy, are noted. A watcher that is away is none. */
export async function newPage(browser: Browser, errors: string[], options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PAGE_TIMEOUT_MS);
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource|ERR_/.test(message.text())) errors.push(message.text());
  });
  return page;
}

export async function logIn(page: Page, url: string, token: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel('Admin token').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
}
