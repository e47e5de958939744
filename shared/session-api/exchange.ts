import type { Agent, Dispatcher } from 'undici';

/**
 * One HTTP exchange with everything bounded: one deadline over connecting, headers and body, and a greatest answer size.
 *
 * Written on undici's dispatch and not on `request`, because only there one learns whether the request had begun to be
 * written: the one fact that tells "never arrived" from "may have arrived".
 */
export interface ExchangeRequest {
  origin: string;
  path: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
}

export interface Exchange {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** `undefined`: the headers came, the whole body did not (cut, too slow or too long; `bodyError` says which). */
  body: string | undefined;
  bodyError: Error | undefined;
}

export interface ExchangeLimits {
  timeoutMs: number;
  maxBytes: number;
  signal?: AbortSignal | undefined;
}

/** The exchange ended before the headers came. */
export class ExchangeError extends Error {
  /** The request had begun to be written to a connection. */
  readonly begun: boolean;

  constructor(cause: unknown, begun: boolean) {
    super('The exchange failed', { cause });
    this.begun = begun;
  }
}

/** An error of our own making, with a code like the ones that Node gives. */
export class CodedError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Resolves as soon as a status is known and the body is read or lost; throws {@link ExchangeError} and nothing else. */
export function exchange(agent: Agent, request: ExchangeRequest, limits: ExchangeLimits): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const reader = new AnswerReader(limits, (outcome) => {
      clearTimeout(timer);
      limits.signal?.removeEventListener('abort', aborted);
      if (outcome instanceof ExchangeError) reject(outcome);
      else resolve(outcome);
    });
    const timer = setTimeout(
      () => reader.cancel(new CodedError('timeout', `no complete answer within ${limits.timeoutMs} ms`)),
      limits.timeoutMs,
    );
    const aborted = (): void => reader.cancel(new CodedError('aborted', 'the call was cancelled'));
    if (limits.signal?.aborted === true) return aborted();
    limits.signal?.addEventListener('abort', aborted, { once: true });
    try {
      agent.dispatch({ ...request, body: request.body ?? null }, reader);
    } catch (error) {
      reader.onResponseError(undefined, error);
    }
    return undefined;
  });
}

/** Collects one answer; says its outcome exactly once, however many callbacks follow. */
class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits;
  readonly #done: (outcome: Exchange | ExchangeError) => void;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #head: Pick<Exchange, 'status' | 'headers'> | undefined;
  #cancelled: Error | undefined;
  #settled = false;

  constructor(limits: ExchangeLimits, done: (outcome: Exchange | ExchangeError) => void) {
    this.#limits = limits;
    this.#done = done;
  }

  /** Ends the exchange now. A request that is still waiting for its connection is never written afterwards. */
  cancel(why: Error): void {
    this.#cancelled ??= why;
    this.#fail(why);
    this.#controller?.abort(why);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#cancelled !== undefined) return controller.abort(this.#cancelled);
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Exchange['headers']): void {
    if (status >= 200) this.#head = { status, headers };
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#limits.maxBytes) {
      this.cancel(new CodedError('answer_too_long', `the answer is longer than ${this.#limits.maxBytes} bytes`));
    } else {
      this.#chunks.push(chunk);
    }
  }

  onResponseEnd(): void {
    if (this.#head === undefined) return this.#fail(new CodedError('no_answer', 'the answer had no status'));
    this.#settle({ ...this.#head, body: Buffer.concat(this.#chunks).toString('utf8'), bodyError: undefined });
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: unknown): void {
    this.#fail(error instanceof Error ? error : new CodedError('network_error', String(error)));
  }

  #fail(error: Error): void {
    if (this.#head !== undefined) this.#settle({ ...this.#head, body: undefined, bodyError: error });
    else this.#settle(new ExchangeError(error, this.#controller !== undefined));
  }

  #settle(outcome: Exchange | ExchangeError): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#done(outcome);
  }
}
