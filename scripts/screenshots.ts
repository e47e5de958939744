import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { listen } from '#shared/platform/http-server.js';
import { silentLogger } from '#shared/platform/logger.js';
import { createMetrics } from '#shared/platform/metrics.js';
import { closeRedis, createRedis } from '#shared/platform/redis.js';
import { loadSettings } from '#shared/settings/environment.js';
import { createSettingsService } from '#shared/settings/service.js';
import { findRedis } from '../cli/provision/find.ts';
import { launchRedis } from '../cli/provision/launch.ts';
import { run } from '../cli/provision/run.ts';
import { buildWatcher } from '../services/watcher/build.ts';
import { localReader } from '../services/watcher/reader.ts';
import { startExampleChatServer } from '../examples/chat-server/start.ts';
import { launchChromium } from './screenshots/chromium.ts';
import { seedChats, seedTrail } from './screenshots/seed.ts';
import { storyChats, storyTrail } from './screenshots/story.ts';

/** Pictures for the documents: `npm run screenshots`. Real watcher, real Redis, real browser; only the chats are made up. */
const OUT = fileURLToPath(new URL('../docs/images/', import.meta.url));
/** Larger ones make a repository slow to clone. */
const MAX_BYTES = 300_000;
const TAG = 'screenshots';

const stops: (() => Promise<unknown>)[] = [];
try {
  const dir = await mkdtemp(join(tmpdir(), 'chat-recovery-pictures-'));
  stops.push(() => rm(dir, { recursive: true, force: true }));
  await mkdir(OUT, { recursive: true });
  const watcherUrl = await startWatcher(dir);
  const browser = await launchChromium(process.env);
  stops.push(() => browser.close());
  await noticePictures(browser, dir, watcherUrl);
  await pagePictures(browser, watcherUrl);
} finally {
  for (const stop of stops.toReversed()) await stop();
}

async function startWatcher(dir: string): Promise<string> {
  const found = await findRedis({ env: process.env, run, say: console.log });
  const redis = await launchRedis(found, { dir: join(dir), durable: false, run });
  stops.push(() => redis.stop());
  for (const slug of ['checkout-service', 'web', 'data-pipeline']) {
    await mkdir(join(dir, 'projects', slug), { recursive: true });
  }
  await writeFile(
    join(dir, 'projects', 'checkout-service', 'project.yaml'),
    'recovery:\n  autoReDrive: false\n  maxRetries: 2\n',
  );
  await writeFile(join(dir, 'chat-recovery.yaml'), 'recovery:\n  debounceMs: 8000\n');
  const env = {
    CHAT_RECOVERY_CONFIG: join(dir, 'chat-recovery.yaml'),
    HOME: dir,
    REDIS_URL: redis.url,
    REDIS_HASH_TAG: TAG,
    PROJECTS_DIR: join(dir, 'projects'),
    TRANSCRIPT_ROOTS: join(dir, 'chats', 'claude-home', 'projects'),
    PADDOCK_RECOVERY_AUTODRIVE: '1',
  };
  const { settings } = loadSettings(env);
  const logger = silentLogger();
  const recovery = createSettingsService({ settings, env, logger });
  const watcher = buildWatcher({ settings, recovery, reader: localReader(), logger, metrics: createMetrics() });
  stops.push(
    () => recovery.close(),
    () => watcher.close(),
  );
  await watcher.connected(5_000);
  const client = createRedis({ url: redis.url, role: 'patient', name: 'pictures', logger });
  await seedTrail(client, TAG, storyTrail());
  await seedChats({ store: watcher.store, redis: client, tag: TAG }, storyChats());
  await closeRedis(client);
  const server = await listen(watcher.app, { host: '127.0.0.1', port: 0, name: 'The watcher' });
  stops.push(
    () => server.close(),
    async () => watcher.drain(),
  );
  return server.url;
}

async function pagePictures(browser: Browser, url: string): Promise<void> {
  for (const scheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ viewport: { width: 1360, height: 820 }, colorScheme: scheme });
    await page.goto(url);
    await page.getByText('138 chats').waitFor();
    await page.locator('.row', { hasText: 'Killed task' }).first().locator('.open').click();
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
    await shoot(page, `page-${scheme}`);
    if (scheme === 'light') {
      await page.getByRole('button', { name: /^Settings of/ }).click();
      await page.getByText('off, this project').waitFor();
      await shoot(page, 'settings');
    }
    await page.close();
  }
  const phone = await browser.newPage({
    viewport: { width: 390, height: 844 },
    deviceScaleFactor: 2,
    colorScheme: 'light',
  });
  await phone.goto(url);
  await phone.getByText('138 chats').waitFor();
  await shoot(phone, 'page-phone');
  await phone.locator('.row', { hasText: 'Killed task' }).first().locator('.open').click();
  await phone.getByRole('heading', { name: 'Timeline' }).waitFor();
  await shoot(phone, 'page-phone-chat');
  await phone.close();
}

/** A chat of the example server that hangs: its watcher finds it, its page shows it. */
async function noticePictures(browser: Browser, dir: string, watcherUrl: string): Promise<void> {
  const chatServer = await startExampleChatServer({
    dataDir: join(dir, 'chats'),
    projectsDir: join(dir, 'projects'),
    webhook: { url: `${watcherUrl}/v1/events` },
    recovery: { url: watcherUrl, token: undefined },
    timings: { replyMs: 20, killMs: 40 },
  });
  stops.push(() => chatServer.close());
  await chatServer.chats.create({ project: 'web', prompt: 'Please check the links.', script: 'healthy' });
  const chat = await chatServer.chats.create({
    project: 'checkout-service',
    prompt: 'Run the integration tests in the background and fix what fails.',
    script: 'hang',
  });
  for (const scheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ viewport: { width: 1080, height: 560 }, colorScheme: scheme });
    await page.goto(`${chatServer.url}/#${chat.id}`);
    await page.getByText('Claude is idle').waitFor();
    await shoot(page, `notice-${scheme}`);
    await page.close();
  }
  for (const each of chatServer.chats.all()) await each.end('deleted');
}

async function shoot(page: Page, name: string): Promise<void> {
  const path = join(OUT, `${name}.png`);
  await page.screenshot({ path });
  const { size } = await stat(path);
  if (size > MAX_BYTES) throw new Error(`${name}.png has ${size} bytes; ${MAX_BYTES} are allowed.`);
  console.log(`${name}.png: ${Math.round(size / 1000)} KB`);
}
