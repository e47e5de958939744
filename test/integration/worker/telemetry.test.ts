import { trace, type Span, type Tracer } from '@opentelemetry/api';
import { loadTelemetry } from '#shared/platform/telemetry.js';
import { createRecoveryQueue } from '#shared/queue/queue.js';
import { createRedis, closeRedis } from '#shared/platform/redis.js';
import { silentLogger } from '#shared/platform/logger.js';
import { expect, test } from '../../support/redis.ts';

/** Remembers the names of spans; what an SDK would send on. */
function recorder(): { names: string[]; tracer: Tracer } {
  const names: string[] = [];
  const span = trace.wrapSpanContext({ traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 1 });
  const startSpan = (name: string): Span => {
    names.push(name);
    return span;
  };
  const startActiveSpan = (): never => {
    throw new Error('BullMQ starts spans by itself');
  };
  return { names, tracer: { startSpan, startActiveSpan } };
}

test('traces are off unless asked for', async () => {
  expect(await loadTelemetry({ traces: false })).toBeUndefined();
});

test('with traces on, an added job leaves a span where an SDK is loaded, and is the same job', async ({ redis }) => {
  const { names, tracer } = recorder();
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
  const connection = createRedis({ url: redis.url, role: 'patient', name: 'telemetry', logger: silentLogger() });
  const telemetry = await loadTelemetry({ traces: true });
  const queue = createRecoveryQueue({
    connection,
    answers: () => connection,
    tag: redis.tag,
    deadlineMs: 5_000,
    onError: (error) => expect.fail(error.message),
    telemetry,
  });
  const data = {
    v: 1,
    sessionId: '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11',
    server: 'default',
    project: 'p1',
    generation: 1,
    cid: 'c',
    path: '/x',
  };
  await queue.add(
    'limbo',
    { ...data, noticeId: 'n', limboTimeoutMs: 1 },
    { jobId: 'one', dueMs: Date.now() + 60_000, nowMs: Date.now() },
  );
  expect(names.some((name) => name.includes('recovery'))).toBe(true);
  expect((await queue.bull.getJob('one'))?.data).toMatchObject(data);
  await queue.close();
  await closeRedis(connection);
  trace.disable();
});
