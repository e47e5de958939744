import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { lifecycleEventSchema, type LifecycleEvent } from '#shared/session/events.js';
import { listen } from '#shared/platform/http-server.js';

/** One try of one delivery, as it arrived. */
export interface Heard {
  id: string;
  body: string;
  atMs: number;
  /** The answer that it got. */
  status: number;
  /** Why the signature does not hold; `undefined`: it does, or none was asked for. */
  signatureFault: string | undefined;
  event: LifecycleEvent | undefined;
  /** Why the body is no event. */
  schemaFault: string | undefined;
}

/** Takes the webhooks of the server under test in the watcher's place. */
export interface WebhookEar {
  url: string;
  heard: readonly Heard[];
  /** The next delivery of that session is answered 503, once. */
  refuseNext(sessionId: string): void;
  close(): Promise<void>;
}

export async function listenForWebhooks(options: {
  port: number;
  host?: string;
  secret: string | undefined;
}): Promise<WebhookEar> {
  const heard: Heard[] = [];
  const refusals = new Set<string>();
  const server = await listen(
    (request, response) => {
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        const { event, fault } = parse(body);
        const sessionId = event?.data.sessionId ?? '';
        const status = refusals.delete(sessionId) ? 503 : 202;
        heard.push({
          id: header(request, 'webhook-id'),
          body,
          atMs: Date.now(),
          status,
          event,
          schemaFault: fault,
          signatureFault: signatureFault(options.secret, body, request),
        });
        response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' }).end('{}');
      });
    },
    { host: options.host ?? '127.0.0.1', port: options.port, name: 'The conformance kit', graceMs: 100 },
  );
  return {
    url: `${server.url}/v1/events`,
    heard,
    refuseNext: (sessionId) => refusals.add(sessionId),
    close: () => server.close(),
  };
}

function parse(body: string): { event: LifecycleEvent | undefined; fault: string | undefined } {
  try {
    const parsed = lifecycleEventSchema.safeParse(JSON.parse(body));
    if (parsed.success) return { event: parsed.data, fault: undefined };
    const [issue] = parsed.error.issues;
    return { event: undefined, fault: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'does not fit'}` };
  } catch {
    return { event: undefined, fault: 'is no JSON' };
  }
}

const header = (request: IncomingMessage, name: string): string => String(request.headers[name] ?? '');

function signatureFault(secret: string | undefined, body: string, request: IncomingMessage): string | undefined {
  if (header(request, 'webhook-id') === '' || header(request, 'webhook-timestamp') === '')
    return 'webhook-id or webhook-timestamp is missing';
  if (secret === undefined) return undefined;
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
  const wanted = createHmac('sha256', key)
    .update(`${header(request, 'webhook-id')}.${header(request, 'webhook-timestamp')}.${body}`)
    .digest();
  const given = header(request, 'webhook-signature')
    .split(' ')
    .filter((item) => item.startsWith('v1,'));
  if (given.length === 0) return 'webhook-signature holds no v1 signature';
  const isRight = given.some((item) => {
    const bytes = Buffer.from(item.slice(3), 'base64');
    return bytes.length === wanted.length && timingSafeEqual(bytes, wanted);
  });
  return isRight ? undefined : 'the signature was not made with this secret over id.timestamp.body';
}
