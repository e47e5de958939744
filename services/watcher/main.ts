import { listen } from '#shared/platform/http-server.js';
import { createLogger } from '#shared/platform/logger.js';
import { createMetrics } from '#shared/platform/metrics.js';
import { runUntilStopped } from '#shared/platform/shutdown.js';
import { loadTelemetry } from '#shared/platform/telemetry.js';
import { settingsAtStart } from '#shared/settings/at-start.js';
import { createSettingsService } from '#shared/settings/service.js';
import { openness } from './access/openness.ts';
import { buildWatcher } from './build.ts';
import { localReader } from './reader.ts';

/** A Redis that is there is connected to well within this; one that is not is waited for no longer. */
const CONNECT_WITHIN_MS = 2_000;

const { settings, warnings } = settingsAtStart(process.env);
const logger = createLogger({ level: settings.logLevel, name: 'watcher' });
for (const warning of warnings) logger.warn({ warning }, 'A setting was not taken.');
const open = openness(settings);
for (const sentence of open) logger.warn({}, sentence);
const recovery = createSettingsService({ settings, env: process.env, logger, alreadyWarned: warnings });
const metrics = createMetrics({ processMetrics: true });
const watcher = buildWatcher({
  settings,
  recovery,
  reader: localReader(),
  logger,
  metrics,
  warnings: [...open, ...warnings],
  telemetry: await loadTelemetry(settings),
});

if (!(await watcher.connected(CONNECT_WITHIN_MS))) logger.warn({}, 'Redis is not there; deliveries are answered 503.');
const server = await listen(watcher.app, { host: settings.host, port: settings.port, name: 'The watcher' });
watcher.start();
logger.info({ url: server.url, chatServers: settings.chatServers.map(({ id }) => id) }, 'Watcher listening.');

runUntilStopped({
  logger,
  deadlineMs: settings.shutdownDeadlineMs,
  stop: async (step) => {
    watcher.drain();
    await step('requests', () => server.close());
    await step('watching', () => watcher.close());
    await step('settings', () => recovery.close());
  },
});
