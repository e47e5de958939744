import { z } from 'zod';
import { SESSION_STATES } from '#shared/session/record.js';
import { SETTING_SOURCES } from '#shared/settings/recovery.js';
import { DELIVERY_REASONS, TRAIL_KINDS } from '#shared/trail/reasons.js';

/** Shapes of what the watcher answers, for its OpenAPI document. Times are epoch milliseconds. */

export const text = z.string();
export const time = z.int().meta({ description: 'Epoch milliseconds.' });

export const problemSchema = z
  .object({
    type: text,
    title: text,
    status: z.int(),
    code: text.meta({ description: 'Stable machine code.' }),
    detail: text.meta({ description: 'One sentence that names the field or the part.' }),
    field: text.optional(),
  })
  .meta({ id: 'Problem' });

export const answerSchema = z
  .object({
    armed: z.boolean(),
    reason: z.string().meta({ enum: Object.keys(DELIVERY_REASONS) }),
    generation: z.int(),
    duplicate: z.literal(true).optional(),
  })
  .meta({ id: 'DeliveryAnswer' });

export const continueSchema = z
  .object({
    outcome: z.enum(['nudged', 'unconfirmed']),
    attemptId: text.nullable(),
    turnId: text.nullable(),
    detail: text.nullable(),
  })
  .meta({ id: 'ContinueAnswer' });

const recoveryValues = z
  .object({
    surfaceKilledTask: z.boolean(),
    autoReDrive: z.boolean(),
    debounceMs: z.int(),
    maxRetries: z.int(),
    limboTimeoutMs: z.int(),
  })
  .meta({ id: 'RecoveryValues' });
const settings = z
  .object({
    values: recoveryValues,
    sources: z.record(z.string(), z.enum(SETTING_SOURCES)),
  })
  .meta({ id: 'EffectiveSettings' });
export const effectiveSchema = z
  .object({
    server: text,
    project: text,
    exists: z.boolean(),
    override: recoveryValues.partial(),
    effective: settings,
  })
  .meta({ id: 'ProjectSettings' });

const session = z
  .object({
    sessionId: text,
    server: text,
    project: text,
    state: z.enum(SESSION_STATES),
    reason: text.nullable(),
    reasonText: text.nullable(),
    armed: z.boolean(),
    automatic: z.boolean(),
    automaticReason: text.nullable(),
    running: z.boolean(),
    generation: z.int(),
    armedMs: time.nullable(),
    updatedMs: time,
    notice: z
      .object({
        id: text,
        firstSeenMs: time,
        seenMs: time,
        tasks: z.array(z.object({ id: text, status: text, summary: text, stamp: text })),
      })
      .nullable(),
    attempt: z
      .object({
        id: text,
        kind: z.enum(['auto', 'manual']),
        try: z.int(),
        phase: z.enum(['claimed', 'sending', 'settled']),
        outcome: text.nullable(),
        detail: text.nullable(),
        claimedMs: time,
        sentMs: time.nullable(),
        settledMs: time.nullable(),
      })
      .nullable(),
  })
  .meta({ id: 'Session' });

const allowed = z.object({ allowed: z.boolean(), code: text.optional(), reason: text.optional() });
const listed = session
  .extend({ actions: z.object({ continue: allowed, endWatch: allowed }) })
  .meta({ id: 'ListedSession' });

export const sessionDetailsSchema = listed
  .extend({
    path: text.nullable(),
    counters: z.object({ tries: z.int(), maxRetries: z.int(), refusals: z.int(), manuals: z.int() }),
    userStopped: z.boolean(),
    stoppedTaskIds: z.array(text),
    backgroundTasks: z.int(),
    settings: settings.nullable(),
    trail: z.array(
      z.object({
        atMs: time,
        kind: z.enum(TRAIL_KINDS),
        text,
        reason: text.optional(),
        reasonText: text.nullable(),
        detail: z.record(z.string(), z.unknown()).optional(),
      }),
    ),
  })
  .meta({ id: 'SessionDetails' });

export const pageSchema = z.object({ sessions: z.array(listed), next: text.nullable() });

const part = { ok: z.boolean(), message: text.optional() };
export const readinessSchema = z
  .object({
    status: z.enum(['ready', 'not-ready', 'stopping']),
    parts: z.object({
      redis: z.object(part),
      queue: z.object({ ...part, workersAlive: z.int().optional(), overdueMs: z.number().optional() }),
      settings: z.object({ ok: z.boolean(), warnings: z.array(text) }),
      sessionApis: z.array(z.object({ serverId: text, ...part })),
      watching: z.object({ ok: z.boolean(), sessions: z.int(), files: z.int(), owed: z.int() }),
    }),
  })
  .meta({ id: 'Readiness' });
