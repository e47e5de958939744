import { z } from 'zod';
import { parseRedisAddress } from '#shared/platform/redis-address.js';
import { choice, count, duration, durationMs, flag, isHttpUrl, size, text } from './kinds.ts';
import { optionalSetting, setting } from './setting.ts';

const redisUrl = text(
  'URL',
  (value) => parseRedisAddress(value) !== undefined,
  'must be redis://…, rediss://…, unix://…, redis+sentinel://host:port,…/master-name or redis+cluster://host:port,…',
);
const httpUrl = text('URL', isHttpUrl, 'must be an http:// or https:// URL');
const basePath = text(
  'path',
  (value) => /^(\/[\w.~-]+)+$/.test(value),
  'must be like /chat-recovery, without a / at its end',
);
const redisTag = text('text', (value) => /^[\w.:-]+$/.test(value), 'must be letters, digits and . _ : - only');

/** Settings of a process. They are read at start; only the `recovery:` block and the projects' files are live. */
export const processShape = {
  redisUrl: setting(redisUrl, 'redis://127.0.0.1:6379', {
    variable: 'REDIS_URL',
    theme: 'redis',
    doc: 'The Redis that holds sessions and queue: one server, `redis+sentinel://host:port,…/master-name`, or `redis+cluster://host:port,…`.',
    stopsStart: true,
    secret: true,
  }),
  redisTag: setting(redisTag, 'chat-recovery', {
    variable: 'REDIS_HASH_TAG',
    theme: 'redis',
    doc: 'What stands between the braces of every key: deployments that share one Redis each take a tag of their own.',
    stopsStart: true,
  }),
  host: setting(text('address'), '127.0.0.1', {
    variable: 'HOST',
    theme: 'watcher',
    doc: 'Address that the watcher listens on. Anything but loopback needs ADMIN_TOKEN and webhook secrets for every chat server.',
    stopsStart: true,
  }),
  port: setting(count(65_535), 8_787, {
    variable: 'PORT',
    theme: 'watcher',
    doc: 'Port that the watcher listens on; 0: any free one.',
    stopsStart: true,
  }),
  adminToken: optionalSetting(text(), {
    variable: 'ADMIN_TOKEN',
    theme: 'watcher',
    doc: 'Bearer token of the operator (page, API, board). Unset: loopback only, no login.',
    secret: true,
    stopsStart: true,
  }),
  loginTtlMs: setting(duration, 12 * 3_600_000, {
    variable: 'LOGIN_TTL',
    theme: 'watcher',
    doc: 'How long a login by `/login` lasts. Another ADMIN_TOKEN ends all of them at once.',
  }),
  sessionTokenTtlMs: setting(duration, 600_000, {
    variable: 'SESSION_TOKEN_TTL',
    theme: 'watcher',
    doc: 'How long a token for one chat lasts, which a chat server mints for the page of that chat.',
  }),
  adminBoardWrite: setting(flag, false, {
    variable: 'ADMIN_BOARD_WRITE',
    theme: 'watcher',
    doc: 'Lets Bull Board retry, promote and remove jobs; without it the board only shows them.',
  }),
  basePath: optionalSetting(basePath, {
    variable: 'BASE_PATH',
    theme: 'watcher',
    doc: 'Path that a proxy serves the watcher under, whether the proxy strips it or not.',
    stopsStart: true,
  }),
  trustProxy: optionalSetting(text('number or addresses'), {
    variable: 'TRUST_PROXY',
    theme: 'watcher',
    doc: 'Proxies whose `X-Forwarded-…` headers are believed: how many stand in front, or their addresses and networks, separated by commas (`loopback` is one).',
    defaultDoc: 'none',
  }),
  webhookRateLimit: setting(count(), 60_000, {
    variable: 'WEBHOOK_RATE_LIMIT',
    theme: 'watcher',
    doc: 'Deliveries that one address may make in a minute; over it: 429, to be sent again. 0: no limit.',
  }),
  noticeWebhookUrl: optionalSetting(httpUrl, {
    variable: 'NOTICE_WEBHOOK_URL',
    theme: 'watcher',
    doc: 'Where notices are sent: a chat was killed, stuck, exhausted, recovered, and what an operator must know. Needs NOTICE_WEBHOOK_SECRET.',
    secret: true,
  }),
  noticeWebhookSecret: optionalSetting(text(), {
    variable: 'NOTICE_WEBHOOK_SECRET',
    theme: 'watcher',
    doc: 'Signs the notices (Standard Webhooks, `whsec_…`).',
    secret: true,
  }),
  webhookToleranceMs: setting(durationMs, 300_000, {
    variable: 'WEBHOOK_TOLERANCE_MS',
    theme: 'watcher',
    doc: 'How far the signed time of a webhook may be from ours.',
  }),
  workerConcurrency: setting(count(1_000, 1), 5, {
    variable: 'WORKER_CONCURRENCY',
    theme: 'worker',
    doc: 'Evaluations that one worker process runs at once.',
  }),
  workerReplicas: setting(count(1_000), 1, {
    variable: 'WORKER_REPLICAS',
    theme: 'worker',
    doc: 'Worker processes that `npm start` and compose run.',
  }),
  workerPort: setting(count(65_535), 0, {
    variable: 'WORKER_PORT',
    theme: 'worker',
    doc: 'Port of a worker’s own `/metrics` and `/healthz`, on HOST; 0: none. `npm start` counts on from it, a port for each worker.',
    stopsStart: true,
  }),
  sessionApiTimeoutMs: setting(durationMs, 10_000, {
    variable: 'SESSION_API_TIMEOUT_MS',
    theme: 'worker',
    doc: 'How long one call of a session API may take.',
  }),
  maxNudgesPerHour: setting(count(), 60, {
    variable: 'RECOVERY_MAX_NUDGES_PER_HOUR',
    theme: 'guards',
    doc: 'Automatic nudges per hour over all chats; 0: no limit. Over it they wait.',
  }),
  maxConcurrent: setting(count(), 5, {
    variable: 'RECOVERY_MAX_CONCURRENT',
    theme: 'guards',
    doc: 'Nudged turns that may run at once over all chats; 0: no limit. Over it they wait.',
  }),
  maxNoticeAgeMs: setting(durationMs, 6 * 3_600_000, {
    variable: 'RECOVERY_MAX_NOTICE_AGE_MS',
    theme: 'guards',
    doc: 'An older notice is shown, never nudged.',
  }),
  settleMs: setting(durationMs, 10_000, {
    variable: 'RECOVERY_SETTLE_MS',
    theme: 'guards',
    doc: 'No nudge in this first time after a worker starts.',
  }),
  dryRun: setting(flag, false, {
    variable: 'RECOVERY_DRY_RUN',
    theme: 'guards',
    doc: 'Does everything but the call, and records what it would have done.',
  }),
  nudgeConfirmMs: setting(durationMs, 60_000, {
    variable: 'NUDGE_CONFIRM_MS',
    theme: 'nudge',
    doc: 'An accepted nudge that brought no entry within this time is shown as unconfirmed.',
  }),
  nudgeLabel: setting(text(), 'Paddock recovery', {
    variable: 'NUDGE_LABEL',
    theme: 'nudge',
    doc: 'Sender label that a nudge begins with, without brackets.',
  }),
  nudgeTemplateFile: optionalSetting(text('path'), {
    variable: 'NUDGE_TEMPLATE_FILE',
    theme: 'nudge',
    doc: 'File with a nudge text of your own.',
    defaultDoc: 'the built-in text',
  }),
  wakeGraceMs: setting(durationMs, 30_000, {
    variable: 'WAKE_GRACE_MS',
    theme: 'transcripts',
    doc: 'How long a wake that may be under way is waited for.',
  }),
  sessionTtlMs: setting(duration, 7 * 86_400_000, {
    variable: 'SESSION_TTL',
    theme: 'transcripts',
    doc: 'How long a session’s record is kept after its last change.',
  }),
  watchMaxAgeMs: setting(duration, 86_400_000, {
    variable: 'WATCH_MAX_AGE',
    theme: 'transcripts',
    doc: 'A watch ends this long after it was armed.',
  }),
  transcriptSource: setting(choice('file', 'http'), 'file', {
    variable: 'TRANSCRIPT_SOURCE',
    theme: 'transcripts',
    doc: 'Where workers read transcripts: `file`, or `http` through the session API of chat servers with the driver http, for workers on other machines.',
    stopsStart: true,
  }),
  scanLimitBytes: setting(size, 64 * 1_024 ** 2, {
    variable: 'TRANSCRIPT_SCAN_LIMIT',
    theme: 'transcripts',
    doc: 'How much of a transcript is read at most for one verdict; past it there is none, and no nudge.',
  }),
  configFile: optionalSetting(text('path'), {
    variable: 'CHAT_RECOVERY_CONFIG',
    theme: 'general',
    doc: 'The YAML instance file.',
    stopsStart: true,
  }),
  dataDir: setting(text('path'), './data', {
    variable: 'DATA_DIR',
    theme: 'general',
    doc: 'Folder of what `npm start` keeps: the data of its Redis, its lock.',
  }),
  logLevel: setting(choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'), 'info', {
    variable: 'LOG_LEVEL',
    theme: 'general',
    doc: 'The least severe log lines that are written.',
  }),
  traces: setting(flag, false, {
    variable: 'OTEL_TRACES',
    theme: 'general',
    doc: 'Traces of jobs through the OpenTelemetry API (`bullmq-otel`); the SDK that sends them is loaded beside (docs/observability).',
  }),
  shutdownDeadlineMs: setting(durationMs, 8_000, {
    variable: 'SHUTDOWN_DEADLINE_MS',
    theme: 'general',
    doc: 'How long a stopping process waits for what is under way.',
  }),
};

export const processSchema = z.object(processShape);
