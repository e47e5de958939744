import { Agent } from 'undici';
import { acceptedSchema, IDEMPOTENCY_HEADER, sessionStatusSchema, type MessageRequest } from './contract.ts';
import { SessionApiFailure, type NudgeMessage, type SessionDriver, type SessionStatus } from './driver.ts';
import { exchange, ExchangeError, type Exchange, type ExchangeRequest } from './exchange.ts';
import { failureOfLie, failureOfNetwork, failureOfStatus } from './failure.ts';

export interface HttpDriverOptions {
  /** Base address of the session API; a path is kept (`https://host/api` → `https://host/api/sessions/…`). */
  url: string;
  /** Sent as `Authorization: Bearer …`. */
  token?: string | undefined;
  /** Deadline of one whole call, body included. */
  timeoutMs: number;
  /** System clock; for `Retry-After` dates. */
  now?: () => number;
}

/** The contract's answers are a few hundred bytes; more is no answer. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** No session has this id: asking for it shows that the server answers and takes the token. */
const PROBE_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Driver for a chat server that offers the session API over HTTP. One keep-alive pool; no redirects are followed, since a
 * nudge must not wander to another server. Throws a plain `TypeError` at once for an address that is none.
 */
export function createHttpDriver(options: HttpDriverOptions): SessionDriver {
  const caller = new Caller(options);
  return {
    idempotent: true,
    canSend: true,
    state: (sessionId, signal) => readState(caller, sessionId, signal),
    send: (message, signal) => sendMessage(caller, message, signal),
    probe: (signal) => probe(caller, signal),
    close: () => caller.close(),
  };
}

async function readState(caller: Caller, sessionId: string, signal?: AbortSignal): Promise<SessionStatus | undefined> {
  const answer = await caller.call({ method: 'GET', path: sessionPath(sessionId) }, signal);
  if (answer.status === 404 || answer.status === 410) return undefined;
  if (!isSuccess(answer)) throw caller.refusal(answer);
  if (answer.status !== 200) throw failureOfLie(answer.status, 'something else than a session’s state');
  const parsed = sessionStatusSchema.safeParse(bodyOf(answer));
  if (!parsed.success) throw failureOfLie(answer.status, 'a body that is no session state');
  const { state, queuedFollowUp, project, transcriptPath } = parsed.data;
  return { state, queuedFollowUp, project, transcriptPath };
}

/** A 202 without a turn id is still a 202; everything else about it must be right. */
const acceptedAnswer = acceptedSchema.partial();

async function sendMessage(
  caller: Caller,
  message: NudgeMessage,
  signal?: AbortSignal,
): Promise<{ turnId: string | undefined }> {
  const body: MessageRequest = {
    text: message.text,
    sender: { kind: 'recovery', label: message.label },
    onlyIfIdle: true,
  };
  const answer = await caller.call(
    {
      method: 'POST',
      path: `${sessionPath(message.sessionId)}/messages`,
      headers: { 'content-type': 'application/json', [IDEMPOTENCY_HEADER]: message.idempotencyKey },
      body: JSON.stringify(body),
    },
    signal,
  );
  if (!isSuccess(answer)) throw caller.refusal(answer);
  if (answer.status !== 202) throw failureOfLie(answer.status, 'a success that is not 202');
  const parsed = acceptedAnswer.safeParse(bodyOf(answer));
  if (!parsed.success) throw failureOfLie(answer.status, 'a body that is no acceptance');
  return { turnId: parsed.data.turnId };
}

/** Reachable and willing: an unknown session is the expected answer. */
async function probe(caller: Caller, signal?: AbortSignal): Promise<void> {
  const answer = await caller.call({ method: 'GET', path: sessionPath(PROBE_ID) }, signal);
  if (answer.status === 404 || answer.status === 410) return;
  if (!isSuccess(answer)) throw caller.refusal(answer);
}

const sessionPath = (sessionId: string): string => `sessions/${encodeURIComponent(sessionId)}`;
const isSuccess = (answer: Exchange): boolean => answer.status >= 200 && answer.status < 300;

/** The parsed body. Throws where a success was cut short: what it would have said is unknown. */
function bodyOf(answer: Exchange): unknown {
  if (answer.bodyError !== undefined) throw failureOfNetworkBody(answer);
  return parseJson(answer.body);
}

function failureOfNetworkBody(answer: Exchange): SessionApiFailure {
  const failure = failureOfNetwork(answer.bodyError, true);
  return failure.code === 'answer_too_long' ? failureOfLie(answer.status, 'far too much') : failure;
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** Base address, token, pool and limits of one chat server. */
class Caller {
  readonly #base: URL;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #now: () => number;
  readonly #agent: Agent;

  constructor({ url, token, timeoutMs, now = Date.now }: HttpDriverOptions) {
    this.#base = new URL(url.endsWith('/') ? url : `${url}/`);
    if (!/^https?:$/.test(this.#base.protocol)) throw new TypeError(`not an http address: ${url}`);
    this.#headers = {
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    this.#timeoutMs = timeoutMs;
    this.#now = now;
    // Deadlines are ours alone: undici's own ones are per phase, and coarse to a second.
    this.#agent = new Agent({
      connections: 32,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: timeoutMs,
      keepAliveTimeout: 4_000,
    });
  }

  async call(
    request: { method: 'GET' | 'POST'; path: string; headers?: Record<string, string>; body?: string },
    signal?: AbortSignal,
  ): Promise<Exchange> {
    const url = new URL(request.path, this.#base);
    const whole: ExchangeRequest = {
      origin: url.origin,
      path: url.pathname,
      method: request.method,
      headers: { ...this.#headers, ...request.headers },
      ...(request.body === undefined ? {} : { body: request.body }),
    };
    try {
      return await exchange(this.#agent, whole, { timeoutMs: this.#timeoutMs, maxBytes: MAX_ANSWER_BYTES, signal });
    } catch (error) {
      const begun = error instanceof ExchangeError && error.begun;
      throw failureOfNetwork(error instanceof ExchangeError ? error.cause : error, begun);
    }
  }

  refusal(answer: Exchange): SessionApiFailure {
    const retryAfter = answer.headers['retry-after'];
    return failureOfStatus(
      {
        status: answer.status,
        retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
        body: parseJson(answer.body),
      },
      this.#now(),
    );
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
