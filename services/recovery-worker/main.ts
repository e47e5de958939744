import { runUntilStopped } from '#shared/platform/shutdown.js';
import { loadTelemetry } from '#shared/platform/telemetry.js';
import { settingsAtStart } from '#shared/settings/at-start.js';
import { buildWorker } from './build.ts';
import { listenWorker } from './http.ts';

const { settings, warnings } = settingsAtStart(process.env);
const telemetry = await loadTelemetry(settings);
const service = buildWorker(settings, { onHopeless: () => stopper.fail(), telemetry });
for (const warning of warnings) service.logger.warn({ warning }, 'A setting was not taken.');
const stopper = runUntilStopped({
  logger: service.logger,
  deadlineMs: settings.shutdownDeadlineMs + 2_000,
  stop: async (step) => {
    await step('worker', () => service.close());
    await step('metrics', () => http?.close());
  },
});
const http =
  settings.workerPort === 0
    ? undefined
    : await listenWorker({ settings, metrics: service.parts.metrics, active: () => service.worker.active() });
await service.ready();
service.logger.info(
  { concurrency: settings.workerConcurrency, dryRun: settings.dryRun, url: http?.url },
  'Recovery worker ready.',
);
