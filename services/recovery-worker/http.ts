import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { listen, type ListeningServer } from '#shared/platform/http-server.js';
import type { Metrics } from '#shared/platform/metrics.js';
import { Problem } from '#shared/platform/problem.js';
import type { ProcessSettings } from '#shared/settings/environment.js';

export interface WorkerHttpParts {
  settings: Pick<ProcessSettings, 'host' | 'workerPort' | 'adminToken'>;
  metrics: Pick<Metrics, 'registry'>;
  /** Jobs under way. */
  active: () => number;
}

/** A worker's own port (`WORKER_PORT`): `/healthz`, open, and `/metrics`, behind the admin token where there is one. */
export async function listenWorker({ settings, metrics, active }: WorkerHttpParts): Promise<ListeningServer> {
  const handler: RequestListener = (req, res) => {
    void answer(req, res, { adminToken: settings.adminToken, metrics, active });
  };
  return listen(handler, { host: settings.host, port: settings.workerPort, name: 'The worker (WORKER_PORT)' });
}

type Parts = { adminToken: string | undefined } & Pick<WorkerHttpParts, 'metrics' | 'active'>;

async function answer(
  req: IncomingMessage,
  res: ServerResponse,
  { adminToken, metrics, active }: Parts,
): Promise<void> {
  req.resume();
  const [path] = (req.url ?? '').split('?');
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.setHeader('allow', 'GET, HEAD');
    return refuse(res, 405, 'method_not_allowed', 'Only GET and HEAD are answered here.');
  }
  if (path === '/healthz') {
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ status: 'ok', active: active() }));
    return;
  }
  if (path !== '/metrics') return refuse(res, 404, 'not_found', 'Only /healthz and /metrics are here.');
  if (adminToken !== undefined && !shows(req, adminToken)) {
    res.setHeader('www-authenticate', 'Bearer realm="chat-recovery"');
    return refuse(res, 401, 'unauthorized', 'The admin token is required (Authorization: Bearer).');
  }
  const text = await metrics.registry.metrics();
  res.setHeader('content-type', metrics.registry.contentType);
  res.end(text);
}

function shows(req: IncomingMessage, adminToken: string): boolean {
  const [scheme = '', token = ''] = (req.headers.authorization ?? '').split(/ +(.*)/s);
  return scheme.toLowerCase() === 'bearer' && timingSafeEqual(digest(token.trim()), digest(adminToken));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

function refuse(res: ServerResponse, status: number, code: string, detail: string): void {
  res.statusCode = status;
  res.setHeader('content-type', 'application/problem+json');
  res.end(JSON.stringify(new Problem({ status, code, detail })));
}
