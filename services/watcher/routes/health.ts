import { Router } from 'express';
import { withDeadline } from '#shared/platform/deadline.js';
import { onlyMethods } from '../problems.ts';
import type { QueuePart } from '../queue-health.ts';

/** One part of readiness; the message is for people. */
export interface PartHealth {
  ok: boolean;
  message?: string;
}

export interface HealthParts {
  /** Resolves when Redis answers; rejects with the reason otherwise. */
  pingRedis: () => Promise<unknown>;
  /** How queue and workers stand; rejects when Redis is away. */
  queue: () => Promise<QueuePart>;
  /** Start-up findings about Redis (eviction, persistence) and about the settings. */
  warnings: () => string[];
  /** Probe of each chat server's session API. */
  sessionApis: { serverId: string; probe: (signal: AbortSignal) => Promise<void> }[];
  /** True from the moment a shutdown begins. */
  stopping: () => boolean;
  watching: () => { sessions: number; files: number; owed: number };
}

const PING_DEADLINE_MS = 700;
const PROBE_DEADLINE_MS = 2_000;
/** Probes are answered from memory for so long: a load balancer that asks each second must not become load elsewhere. */
const PROBE_FRESH_MS = 5_000;

/** Liveness and readiness. A chat server whose session API is down is reported, and holds up its own recoveries only. */
export function healthRoutes(parts: HealthParts): Router {
  const router = Router();
  const probes = parts.sessionApis.map(({ serverId, probe }) => ({ serverId, check: remembered(probe) }));

  router
    .route('/healthz')
    .get((_req, res) => {
      res.json({ status: 'ok' });
    })
    .all(onlyMethods('GET', 'HEAD'));

  router
    .route('/readyz')
    .get(async (_req, res) => {
      const [redis, queue, ...apis] = await Promise.all([
        health(() => withDeadline(parts.pingRedis(), PING_DEADLINE_MS, 'Redis')),
        queueHealth(parts),
        ...probes.map(async ({ serverId, check }) => ({ serverId, ...(await check()) })),
      ]);
      const stopping = parts.stopping();
      const ready = redis.ok && queue.ok && !stopping;
      res.status(ready ? 200 : 503).json({
        status: ready ? 'ready' : stopping ? 'stopping' : 'not-ready',
        parts: {
          redis,
          queue,
          settings: { ok: true, warnings: parts.warnings() },
          sessionApis: apis,
          watching: { ok: true, ...parts.watching() },
        },
      });
    })
    .all(onlyMethods('GET', 'HEAD'));
  return router;
}

async function queueHealth(parts: HealthParts): Promise<PartHealth> {
  try {
    return await withDeadline(parts.queue(), PING_DEADLINE_MS, 'Redis');
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}

async function health(check: () => Promise<unknown>): Promise<PartHealth> {
  try {
    await check();
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}

function remembered(probe: (signal: AbortSignal) => Promise<void>): () => Promise<PartHealth> {
  let last: { atMs: number; health: Promise<PartHealth> } | undefined;
  return () => {
    const nowMs = performance.now();
    if (last === undefined || nowMs - last.atMs > PROBE_FRESH_MS) {
      const signal = AbortSignal.timeout(PROBE_DEADLINE_MS);
      last = {
        atMs: nowMs,
        health: health(() => withDeadline(probe(signal), PROBE_DEADLINE_MS, 'The session API')),
      };
    }
    return last.health;
  };
}
