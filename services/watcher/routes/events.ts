import { createHash } from 'node:crypto';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { LIFECYCLE_TYPES, lifecycleEventSchema, type LifecycleEvent } from '#shared/session/events.js';
import { Problem } from '#shared/platform/problem.js';
import type { ChatServer } from '#shared/settings/environment.js';
import { refuseForeignPages } from '../access/foreign.ts';
import { limitDeliveries } from '../access/rates.ts';
import { acceptDelivery, type DeliveryAnswer, type DeliveryParts } from '../deliveries.ts';
import { onlyMethods, problemOf } from '../problems.ts';
import { needsRedis } from '../redis-away.ts';
import { parseSignedTime, signingKeys, verifySender, type SigningKey } from '../signature.ts';

/** SPEC §6: larger bodies are refused. */
export const MAX_BODY_BYTES = 256 * 1024;

/**
 * `POST /v1/events`: lifecycle webhooks.
 *
 * Refusals come in a fixed order, each with its own status and code: method 405, rate 429, content type and encoding 415, size 413,
 * headers 400, signature 401, signed time 401, JSON 400, type 422, schema 422, stamp 422, path 422, owner 409; then
 * Redis 503. Nothing is parsed or read before the signature holds.
 */
export function eventRoutes(app: Express, parts: DeliveryParts): void {
  const { chatServers, webhookToleranceMs, webhookRateLimit } = parts.core.settings;
  const keys = signingKeys(chatServers);
  const identify =
    keys.length > 0
      ? signedSender(keys, chatServers, webhookToleranceMs)
      : unsignedSender(parts.core.settings.chatServers);

  const handle: RequestHandler = async (req, res) => {
    const body = rawBody(req);
    const sender = identify(req, body);
    const event = parseEvent(body);
    res.locals['type'] = event.type;
    const cid = String(res.locals['cid']);
    const answer = await needsRedis(() => acceptDelivery(parts, { ...sender, event, source: 'webhook', cid }));
    accept(res, answer);
    const outcome = answer.duplicate === true ? 'duplicate' : answer.reason === 'stale-event' ? 'stale' : 'applied';
    parts.core.count('webhooks_total', { type: event.type, outcome });
  };

  // On the app itself: a router of its own is one more walk for each delivery.
  app
    .route('/v1/events')
    .post(
      limitDeliveries(webhookRateLimit),
      ...(keys.length > 0 ? [] : [refuseForeignPages]),
      jsonOnly,
      express.raw({ type: () => true, limit: MAX_BODY_BYTES, inflate: false }),
      handle,
      countRefused(parts),
    )
    .all(onlyMethods('POST'));
}

/** As `res.json`, without what only a browser asks for (an entity tag): it was a tenth of a delivery's cost. */
function accept(res: Response, answer: DeliveryAnswer): void {
  const body = JSON.stringify(answer);
  res
    .writeHead(202, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(body) })
    .end(body);
}

/** Counts what is not accepted; the answer is written behind it. */
function countRefused({ core }: DeliveryParts): ErrorRequestHandler {
  return (error: unknown, _req, res, next) => {
    const { status } = problemOf(error).fields;
    const outcome = status === 429 ? 'limited' : status >= 500 ? 'unavailable' : 'refused';
    core.count('webhooks_total', { type: String(res.locals['type'] ?? 'unknown'), outcome });
    next(error);
  };
}

const jsonOnly: RequestHandler = (req, _res, next) => {
  const type = (req.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new Problem({
      status: 415,
      code: 'unsupported_media_type',
      field: 'content-type',
      detail: 'The body must be application/json.',
    });
  }
  next();
};

function rawBody(req: Request): Buffer {
  const body: unknown = req.body;
  // Without any body the parser leaves it undefined.
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

interface Sender {
  deliveryId: string;
  server: ChatServer;
  signedMs: number;
}
type Identify = (req: Request, body: Buffer) => Sender;

/** Sender, id and time of a signed delivery. */
function signedSender(keys: readonly SigningKey[], servers: readonly ChatServer[], toleranceMs: number): Identify {
  return (req, body) => {
    const id = deliveryId(requiredHeader(req, 'webhook-id'));
    const timestamp = requiredHeader(req, 'webhook-timestamp');
    const signature = requiredHeader(req, 'webhook-signature');
    const signedMs = parseSignedTime(timestamp);
    if (signedMs === undefined) throw badHeader('webhook-timestamp', 'must be whole seconds since the epoch');
    const sender = verifySender(keys, { id, timestamp, signature }, body);
    const server = servers.find((candidate) => candidate.id === sender);
    if (server === undefined) {
      throw new Problem({
        status: 401,
        code: 'invalid_signature',
        field: 'webhook-signature',
        detail: 'No signature in "webhook-signature" was made with a known secret over this id, timestamp and body.',
      });
    }
    refuseOutOfTime(signedMs, toleranceMs);
    return { deliveryId: id, server, signedMs };
  };
}

function refuseOutOfTime(signedMs: number, toleranceMs: number): void {
  const ageMs = Date.now() - signedMs;
  if (Math.abs(ageMs) <= toleranceMs) return;
  throw new Problem({
    status: 401,
    code: 'timestamp_out_of_tolerance',
    field: 'webhook-timestamp',
    detail: `The delivery was signed ${ageMs > 0 ? 'too long ago' : 'in the future'}; ${toleranceMs / 1_000} s are allowed.`,
  });
}

/** Without secrets (loopback only): who sent it is known only where there is one chat server. */
function unsignedSender(servers: readonly ChatServer[]): Identify {
  return (req, body) => {
    const [server, ...others] = servers;
    if (server === undefined || others.length > 0) {
      throw new Problem({
        status: 401,
        code: 'signature_required',
        field: 'webhook-signature',
        detail:
          'Several chat servers are served here: only a signature tells which one sent a delivery. Give each a secret.',
      });
    }
    const given = req.headers['webhook-id'];
    const id =
      typeof given === 'string' ? deliveryId(given) : `sha256-${createHash('sha256').update(body).digest('hex')}`;
    return { deliveryId: id, server, signedMs: Date.now() };
  };
}

function requiredHeader(req: Request, name: string): string {
  const value = req.headers[name];
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw badHeader(name, 'is required');
}

/** Part of a Redis key: printable, without spaces, of bounded length. */
function deliveryId(value: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(value)) return value;
  throw badHeader('webhook-id', 'must be 1 to 255 printable characters without spaces');
}

function badHeader(field: string, what: string): Problem {
  return new Problem({ status: 400, code: 'invalid_header', field, detail: `The header "${field}" ${what}.` });
}

/** The delivery's event, or the first thing that is wrong with it. */
function parseEvent(body: Buffer): LifecycleEvent {
  const json = parseJson(body);
  const type = typeof json === 'object' && json !== null && 'type' in json ? json.type : undefined;
  if (!LIFECYCLE_TYPES.some((known) => known === type)) {
    throw new Problem({
      status: 422,
      code: 'unknown_type',
      field: 'type',
      detail: `"type" must be one of ${LIFECYCLE_TYPES.join(', ')}.`,
    });
  }
  const parsed = lifecycleEventSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => ({ field: path.map(String).join('.'), message }));
  const [first = { field: '', message: 'does not fit the schema' }] = issues;
  throw new Problem({
    status: 422,
    code: 'invalid_event',
    field: first.field,
    detail: `"${first.field}": ${first.message}.`,
    ...(issues.length > 1 ? { extra: { issues: issues.slice(0, 20) } } : {}),
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body));
  } catch {
    throw new Problem({ status: 400, code: 'invalid_json', detail: 'The body is not valid JSON in UTF-8.' });
  }
}
