import { Agent } from 'undici';
import { z } from 'zod';
import { SessionApiFailure, type NudgeMessage, type SessionDriver, type SessionStatus } from '../driver.ts';
import { exchange, ExchangeError, type Exchange } from '../exchange.ts';
import { failureOfNetwork, failureOfStatus } from '../failure.ts';
import type { DriverLog } from '../log.ts';
import { busy, refused, unknownOutcome } from '../refusals.ts';
import { within } from '../within.ts';

export interface HerdctlDriverOptions {
  /** Base address of herdctl's web API. */
  url: string;
  token: string | undefined;
  /** The agent whose sessions these are; without one it is the session's project. */
  agent: string | undefined;
  /** Deadline of ordinary calls; a message without an answer by then counts as begun. */
  timeoutMs: number;
  /** After this nothing more is expected of a turn. */
  turnTimeoutMs: number;
  log: DriverLog;
}

/** Answers carry a whole reply. */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** A refusal comes at once; an answer means that the turn is over. */
const BEGUN_AFTER_MS = 5_000;

/**
 * Driver for herdctl's web API, whose one call answers when the turn has *ended*, minutes later, and knows neither keys nor
 * busy sessions.
 *
 * So: one message per session at a time; one that was written and is not answered within seconds has begun a turn; and what
 * is not known counts as sent (`idempotent` is false). A turn that somebody else began cannot be seen here at all: that a
 * session is idle rests on its transcript alone.
 */
export function createHerdctlDriver(options: HerdctlDriverOptions): SessionDriver {
  const driver = new HerdctlDriver(options);
  return {
    idempotent: false,
    canSend: true,
    state: async (sessionId) => driver.state(sessionId),
    send: (message) => driver.send(message),
    probe: (signal) => driver.probe(signal),
    close: () => driver.close(),
  };
}

const answerSchema = z.object({
  jobId: z.string().optional(),
  success: z.boolean().optional(),
  error: z.unknown().optional(),
});

class HerdctlDriver {
  readonly #options: HerdctlDriverOptions;
  readonly #base: URL;
  // Without a connection nothing was said: known well before silence is taken for a turn that runs.
  readonly #agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, pipelining: 1, connectTimeout: 3_000 });
  readonly #running = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: HerdctlDriverOptions) {
    this.#options = options;
    this.#base = new URL(options.url.endsWith('/') ? options.url : `${options.url}/`);
    if (!/^https?:$/.test(this.#base.protocol)) throw new TypeError(`not an http address: ${options.url}`);
  }

  state(sessionId: string): SessionStatus {
    const state = this.#running.has(sessionId) ? 'running' : 'idle';
    return { state, queuedFollowUp: false, project: undefined, transcriptPath: undefined };
  }

  async send({ sessionId, text, place }: NudgeMessage): Promise<{ turnId: string | undefined }> {
    if (this.#running.has(sessionId)) throw busy('turn_running', 'a nudged turn of this session still runs');
    const agent = this.#options.agent ?? place?.project ?? '';
    if (agent === '') throw refused('agent_unknown', 'no agent is set for this project');
    const call = this.#post(`api/chat/${encodeURIComponent(agent)}/messages`, { message: text, sessionId });
    const settled = call.then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error }),
    );
    const turn = settled.then((end) => this.#ended(sessionId, end));
    this.#running.set(sessionId, turn);
    const end = await within(settled, Math.min(BEGUN_AFTER_MS, this.#options.timeoutMs));
    if (end === undefined) return { turnId: undefined };
    if ('error' in end) throw networkFailure(end.error);
    return { turnId: accepted(end.answer) };
  }

  async probe(signal?: AbortSignal): Promise<void> {
    try {
      const answer = await exchange(this.#agent, this.#request('GET', 'api/agents'), {
        timeoutMs: this.#options.timeoutMs,
        maxBytes: MAX_ANSWER_BYTES,
        signal,
      });
      if (answer.status >= 400 && answer.status !== 404) throw refusalOf(answer);
    } catch (error) {
      throw error instanceof SessionApiFailure ? error : networkFailure(error);
    }
  }

  /** The turns go on in herdctl; only their answers are given up. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running.values());
    await this.#agent.destroy();
  }

  #post(path: string, body: unknown): Promise<Exchange> {
    const request = { ...this.#request('POST', path), body: JSON.stringify(body) };
    return exchange(this.#agent, request, {
      timeoutMs: this.#options.turnTimeoutMs,
      maxBytes: MAX_ANSWER_BYTES,
      signal: this.#stop.signal,
    });
  }

  #request(method: 'GET' | 'POST', path: string) {
    const url = new URL(path, this.#base);
    const { token } = this.#options;
    const headers = {
      accept: 'application/json',
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    return { origin: url.origin, path: url.pathname, method, headers };
  }

  #ended(sessionId: string, end: { answer: Exchange } | { error: unknown }): void {
    this.#running.delete(sessionId);
    if (this.#stop.signal.aborted) return;
    if ('error' in end) {
      this.#options.log.warn({ sessionId, err: end.error }, 'herdctl gave no answer to a nudge.');
      return;
    }
    const { status } = end.answer;
    const { success, jobId, error } = parse(end.answer);
    const fields = { sessionId, status, jobId, success, error };
    if (success === true) this.#options.log.info(fields, 'A nudged turn of herdctl has ended.');
    else this.#options.log.warn(fields, 'A nudged turn of herdctl has failed.');
  }
}

/** An answer that came at once. A turn that failed has all the same taken the message. */
function accepted(answer: Exchange): string | undefined {
  if (answer.status >= 200 && answer.status < 300) {
    const { success, jobId, error } = parse(answer);
    if (success === true) return jobId;
    throw unknownOutcome(
      'turn_failed',
      `herdctl says that the turn failed: ${JSON.stringify(error ?? 'no reason given')}`,
    );
  }
  throw refusalOf(answer);
}

function refusalOf(answer: Exchange): SessionApiFailure {
  const retryAfter = answer.headers['retry-after'];
  return failureOfStatus(
    {
      status: answer.status,
      retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
      body: parse(answer),
    },
    Date.now(),
  );
}

function networkFailure(error: unknown): SessionApiFailure {
  if (error instanceof ExchangeError) return failureOfNetwork(error.cause, error.begun);
  return failureOfNetwork(error, true);
}

function parse({ body }: Exchange): z.infer<typeof answerSchema> {
  try {
    return answerSchema.parse(JSON.parse(body ?? ''));
  } catch {
    return {};
  }
}
