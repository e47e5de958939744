import { SessionApiFailure, type NudgeMessage, type SessionDriver } from '#shared/session-api/driver.js';
import { createHttpDriver } from '#shared/session-api/http-driver.js';
import { describe, expect, test as base } from '../../support/leaks.ts';
import { httpServer, json, nobodyThere, tcpServer, type TestServer } from './servers.ts';

const ID = '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11';
const NUDGE: NudgeMessage = {
  sessionId: ID,
  text: '[Paddock recovery] Go on, ünïcode included.',
  label: 'Paddock recovery',
  idempotencyKey: 'attempt-1',
};
/** Long, so that a busy machine is not taken for a slow server; short where slowness is what is tested. */
const TIMEOUT_MS = 10_000;
const SHORT_MS = 300;

/** What a test made, ended with it: servers and drivers. */
const test = base.extend<{ ends: { close(): Promise<void> }[] }>({
  ends: async ({ leaks: _leaks }, use) => {
    const ends: { close(): Promise<void> }[] = [];
    await use(ends);
    for (const end of ends.toReversed()) await end.close();
  },
});

type Ends = { close(): Promise<void> }[];
function driverOf(ends: Ends, url: string, more: { token?: string; timeoutMs?: number } = {}): SessionDriver {
  const driver = createHttpDriver({ url, timeoutMs: TIMEOUT_MS, ...more });
  ends.push(driver);
  return driver;
}
function kept(ends: Ends, server: TestServer): TestServer {
  ends.push(server);
  return server;
}

async function failureOf(call: Promise<unknown>): Promise<SessionApiFailure> {
  try {
    await call;
  } catch (error) {
    expect(error).toBeInstanceOf(SessionApiFailure);
    if (error instanceof SessionApiFailure) return error;
  }
  throw new Error('the call succeeded');
}

/** Failure of a call, and how long it took. */
async function timed(call: Promise<unknown>): Promise<{ failure: SessionApiFailure; tookMs: number }> {
  const startMs = performance.now();
  return { failure: await failureOf(call), tookMs: performance.now() - startMs };
}

describe('a server that keeps the contract', () => {
  test('gets the nudge as the contract has it and its turn id comes back', async ({ ends }) => {
    const server = kept(ends, await httpServer(json(202, { turnId: 't1', more: 'ignored' })));
    const driver = driverOf(ends, `${server.url}/api`, { token: 'geheim' });
    expect(await driver.send(NUDGE)).toEqual({ turnId: 't1' });
    const [request] = server.arrived;
    expect(request).toMatchObject({
      method: 'POST',
      url: `/api/sessions/${ID}/messages`,
      headers: {
        'idempotency-key': 'attempt-1',
        authorization: 'Bearer geheim',
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(request?.body ?? '')),
      },
    });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      text: NUDGE.text,
      sender: { kind: 'recovery', label: 'Paddock recovery' },
      onlyIfIdle: true,
    });
  });

  test('a 202 without a turn id is a 202', async ({ ends }) => {
    const server = kept(ends, await httpServer(json(202, {})));
    expect(await driverOf(ends, server.url).send(NUDGE)).toEqual({ turnId: undefined });
  });

  test('a state is read, absent fields and nulls are undefined', async ({ ends }) => {
    const server = kept(ends, await httpServer(json(200, { state: 'idle', queuedFollowUp: true, project: null })));
    expect(await driverOf(ends, server.url).state(ID)).toEqual({
      state: 'idle',
      queuedFollowUp: true,
      project: undefined,
      transcriptPath: undefined,
    });
  });

  test.for([404, 410])('a state answered %i is an unknown session', async (status, { ends }) => {
    const server = kept(ends, await httpServer(json(status, { code: 'session_gone' })));
    expect(await driverOf(ends, server.url).state(ID)).toBeUndefined();
  });

  test('calls share a connection', async ({ ends }) => {
    const server = kept(ends, await httpServer(json(200, { state: 'idle', queuedFollowUp: false })));
    const driver = driverOf(ends, server.url);
    for (let call = 0; call < 5; call += 1) await driver.state(ID);
    // The second call may leave in the very moment in which the first connection becomes free.
    expect(server.connections()).toBeLessThanOrEqual(2);
  });

  test('a probe is content with an unknown session, and with nothing less', async ({ ends }) => {
    const unknown = kept(ends, await httpServer(json(404, { code: 'session_unknown' })));
    await driverOf(ends, unknown.url).probe();
    const closed = kept(ends, await httpServer(json(401, { code: 'unauthorized' })));
    expect(await failureOf(driverOf(ends, closed.url).probe())).toMatchObject({
      class: 'refused',
      code: 'unauthorized',
    });
    const failure = await failureOf(driverOf(ends, await nobodyThere()).probe());
    expect(failure).toMatchObject({ class: 'network', code: 'ECONNREFUSED' });
  });
});

describe('a server that refuses', () => {
  test.for([
    [409, { code: 'turn_running' }, { class: 'busy', code: 'turn_running' }],
    [409, { code: 'waiting' }, { class: 'busy', code: 'waiting' }],
    [409, 'no object', { class: 'busy', code: 'http_409' }],
    [404, {}, { class: 'gone', code: 'http_404' }],
    [410, { code: 'session_gone' }, { class: 'gone', code: 'session_gone' }],
    [401, {}, { class: 'refused', code: 'http_401' }],
    [422, { code: 'invalid_request' }, { class: 'refused', code: 'invalid_request' }],
  ] as const)('%i is definite', async ([status, body, expected], { ends }) => {
    const server = kept(ends, await httpServer(json(status, body)));
    const failure = await failureOf(driverOf(ends, server.url).send(NUDGE));
    expect(failure).toMatchObject({ ...expected, status, mayHaveArrived: false });
  });

  test('a redirect is not followed: a nudge must not wander', async ({ ends }) => {
    const other = kept(ends, await httpServer(json(202, { turnId: 'wrong' })));
    const server = kept(ends, await httpServer(json(307, {}, { location: other.url })));
    expect(await failureOf(driverOf(ends, server.url).send(NUDGE))).toMatchObject({
      class: 'refused',
      code: 'http_307',
    });
    expect(other.arrived).toEqual([]);
  });

  test('a definite refusal stays definite when its body is cut', async ({ ends }) => {
    const server = kept(
      ends,
      await httpServer((response, _request, socket) => {
        response.writeHead(409, { 'content-length': '1000' });
        response.write('{"code":"turn_', () => socket.destroy());
      }),
    );
    const failure = await failureOf(driverOf(ends, server.url).send(NUDGE));
    expect(failure).toMatchObject({ class: 'busy', code: 'http_409', mayHaveArrived: false });
  });

  test('429 with seconds and with a date', async ({ ends }) => {
    const seconds = kept(ends, await httpServer(json(429, {}, { 'retry-after': '3' })));
    expect(await failureOf(driverOf(ends, seconds.url).send(NUDGE))).toMatchObject({
      class: 'rate-limited',
      retryAfterMs: 3_000,
      mayHaveArrived: false,
    });
    const date = new Date(Date.now() + 20_000).toUTCString();
    const dated = kept(ends, await httpServer(json(429, {}, { 'retry-after': date })));
    const { retryAfterMs } = await failureOf(driverOf(ends, dated.url).send(NUDGE));
    expect(retryAfterMs).toBeGreaterThan(18_000);
    expect(retryAfterMs).toBeLessThanOrEqual(20_000);
  });

  test('a 5xx is transient and may have arrived', async ({ ends }) => {
    const server = kept(ends, await httpServer(json(503, {}, { 'retry-after': '1' })));
    expect(await failureOf(driverOf(ends, server.url).send(NUDGE))).toMatchObject({
      class: 'transient',
      code: 'http_503',
      retryAfterMs: 1_000,
      mayHaveArrived: true,
    });
  });
});

describe('a server that lies', () => {
  const page = '<html><body>Welcome to the proxy</body></html>';
  test.for([
    ['an HTML page with 200', 200, page],
    ['200 where 202 is due', 200, '{"turnId":"t1"}'],
    ['201', 201, '{"turnId":"t1"}'],
    ['204 without a body', 204, ''],
    ['an HTML page with 202', 202, page],
    ['an empty body', 202, ''],
    ['a turn id that is a number', 202, '{"turnId":5}'],
    ['a list', 202, '[]'],
    ['null', 202, 'null'],
    ['more than any answer needs', 202, JSON.stringify({ turnId: 't1', junk: 'x'.repeat(100_000) })],
  ] as const)('about a message, with %s: the outcome is unknown', async ([, status, body], { ends }) => {
    const server = kept(ends, await httpServer((response) => void response.writeHead(status).end(body)));
    expect(await failureOf(driverOf(ends, server.url).send(NUDGE))).toMatchObject({
      class: 'transient',
      code: 'invalid_answer',
      status,
      mayHaveArrived: true,
    });
  });

  test.for([
    ['an HTML page', 200, page],
    ['an unknown state', 200, '{"state":"sleeping","queuedFollowUp":false}'],
    ['no queue', 200, '{"state":"idle"}'],
    ['202', 202, '{"state":"idle","queuedFollowUp":false}'],
  ] as const)('about a state, with %s: transient, never taken for idle', async ([, status, body], { ends }) => {
    const server = kept(ends, await httpServer((response) => void response.writeHead(status).end(body)));
    const failure = await failureOf(driverOf(ends, server.url).state(ID));
    expect(failure).toMatchObject({ class: 'transient', code: 'invalid_answer' });
  });

  test('with bytes that are no HTTP', async ({ ends }) => {
    const server = kept(ends, await tcpServer((socket) => void socket.end('220 smtp ready\r\n')));
    const failure = await failureOf(driverOf(ends, server.url).send(NUDGE));
    expect(failure).toMatchObject({ class: 'network', mayHaveArrived: true });
  });
});

describe('a connection that fails', () => {
  test('nobody listens: certainly not arrived', async ({ ends }) => {
    const failure = await failureOf(driverOf(ends, await nobodyThere()).send(NUDGE));
    expect(failure).toMatchObject({ class: 'network', code: 'ECONNREFUSED', mayHaveArrived: false });
  });

  test('a name that does not resolve: certainly not arrived', async ({ ends }) => {
    const failure = await failureOf(driverOf(ends, 'http://nowhere.invalid', { timeoutMs: 5_000 }).send(NUDGE));
    expect(failure).toMatchObject({ class: 'network', mayHaveArrived: false });
    expect(failure.code).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/);
  });

  test('closed before any byte of an answer: may have arrived', async ({ ends }) => {
    const server = kept(ends, await httpServer((_response, _request, socket) => void socket.destroy()));
    const failure = await failureOf(driverOf(ends, server.url).send(NUDGE));
    expect(failure).toMatchObject({ class: 'network', mayHaveArrived: true });
    expect(server.arrived).toHaveLength(1);
  });

  test('reset with RST: may have arrived', async ({ ends }) => {
    const server = kept(ends, await httpServer((_response, _request, socket) => void socket.resetAndDestroy()));
    const failure = await failureOf(driverOf(ends, server.url).send(NUDGE));
    expect(failure).toMatchObject({ class: 'network', mayHaveArrived: true });
  });

  test.for([1, 9, 16, 40, 60])('cut after %i bytes of the answer: may have arrived', async (bytes, { ends }) => {
    const whole = 'HTTP/1.1 202 Accepted\r\ncontent-length: 15\r\n\r\n{"turnId":"t1"}';
    const server = kept(
      ends,
      await tcpServer((socket) => {
        socket.once('data', () => socket.end(whole.slice(0, bytes)));
      }),
    );
    const call = driverOf(ends, server.url).send(NUDGE);
    if (bytes >= whole.length) return expect(await call).toEqual({ turnId: 't1' });
    expect(await failureOf(call)).toMatchObject({ class: 'network', mayHaveArrived: true });
    return undefined;
  });

  test('a kept connection that the server drops while idle does not fail the next call', async ({ ends }) => {
    const sockets: { destroy(): void }[] = [];
    const server = kept(
      ends,
      await httpServer((response, request, socket) => {
        sockets.push(socket);
        json(200, { state: 'idle', queuedFollowUp: false })(response, request, socket);
      }),
    );
    const driver = driverOf(ends, server.url);
    await driver.state(ID);
    sockets[0]?.destroy();
    const outcome = await driver.state(ID).catch(async (error: unknown) => {
      // The drop and the call crossed on the wire: sorted as such, and the next one is well.
      expect(error).toMatchObject({ class: 'network', mayHaveArrived: true });
      return driver.state(ID);
    });
    expect(outcome).toMatchObject({ state: 'idle' });
  });
});

/** One deadline, and not much more on a busy machine. */
function bounded(tookMs: number): void {
  expect(tookMs).toBeGreaterThanOrEqual(SHORT_MS - 5);
  expect(tookMs).toBeLessThan(SHORT_MS + 2_000);
}

describe('a server that is slow', () => {
  test('never answers: one deadline, may have arrived', async ({ ends }) => {
    const server = kept(ends, await httpServer(() => undefined));
    const { failure, tookMs } = await timed(driverOf(ends, server.url, { timeoutMs: SHORT_MS }).send(NUDGE));
    expect(failure).toMatchObject({ class: 'network', code: 'timeout', mayHaveArrived: true });
    bounded(tookMs);
  });

  test('takes the connection and reads nothing: the same', async ({ ends }) => {
    const server = kept(ends, await tcpServer((socket) => socket.pause()));
    const { failure, tookMs } = await timed(driverOf(ends, server.url, { timeoutMs: SHORT_MS }).state(ID));
    expect(failure).toMatchObject({ class: 'network', code: 'timeout' });
    bounded(tookMs);
  });

  test('drips its body byte by byte: the deadline holds for the body too', async ({ ends }) => {
    const timers: NodeJS.Timeout[] = [];
    const server = kept(
      ends,
      await httpServer((response) => {
        response.writeHead(202);
        timers.push(setInterval(() => response.write(' '), 20));
      }),
    );
    const { failure, tookMs } = await timed(driverOf(ends, server.url, { timeoutMs: SHORT_MS }).send(NUDGE));
    timers.forEach((timer) => clearInterval(timer));
    expect(failure).toMatchObject({ class: 'network', code: 'timeout', mayHaveArrived: true });
    bounded(tookMs);
  });

  test('is slow within the deadline: no failure', async ({ ends }) => {
    const server = kept(
      ends,
      await httpServer((...call) => void setTimeout(() => json(202, { turnId: 'late' })(...call), 100)),
    );
    expect(await driverOf(ends, server.url).send(NUDGE)).toEqual({ turnId: 'late' });
  });

  test('a call that its caller cancels ends at once', async ({ ends }) => {
    const server = kept(ends, await httpServer(() => controller.abort()));
    const controller = new AbortController();
    const driver = driverOf(ends, server.url, { timeoutMs: 60_000 });
    const { failure, tookMs } = await timed(driver.send(NUDGE, controller.signal));
    expect(failure).toMatchObject({ class: 'network', code: 'aborted', mayHaveArrived: true });
    expect(tookMs).toBeLessThan(2_000);
  });

  test('a call that was cancelled before it began never leaves', async ({ ends }) => {
    const server = kept(ends, await httpServer(json(202, { turnId: 't1' })));
    const failure = await failureOf(driverOf(ends, server.url).send(NUDGE, AbortSignal.abort()));
    expect(failure).toMatchObject({ code: 'aborted', mayHaveArrived: false });
    expect(server.connections()).toBe(0);
  });
});

test('a token that no header can carry is refused, not retried for ever', async ({ ends }) => {
  const server = kept(ends, await httpServer(json(202, { turnId: 't1' })));
  const failure = await failureOf(driverOf(ends, server.url, { token: 'line\nbreak' }).send(NUDGE));
  expect(failure).toMatchObject({ class: 'refused', mayHaveArrived: false });
  expect(server.arrived).toEqual([]);
});

test('after close a call fails as a network error that never left', async ({ ends }) => {
  const server = kept(ends, await httpServer(json(202, { turnId: 't1' })));
  const driver = driverOf(ends, server.url);
  await driver.close();
  expect(await failureOf(driver.send(NUDGE))).toMatchObject({ class: 'network', mayHaveArrived: false });
});
