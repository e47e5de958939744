import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request on its way to the real chat server, and the ways to break it. */
interface Passage {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** Asks the real server. */
  forward(change?: Partial<Pick<Passage, 'method' | 'path' | 'headers' | 'body'>>): Promise<Reply>;
}

interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Breaks one thing; everything else goes through. `undefined`: this request too. */
type Break = (passage: Passage) => Promise<Reply | undefined>;

const reply = (status: number, body: object): Reply => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(body)),
});
const json = ({ body }: Reply): Record<string, unknown> => JSON.parse(body.toString('utf8')) as Record<string, unknown>;
const isSend = ({ method, path }: Passage): boolean => method === 'POST' && /^\/sessions\/[^/]+\/messages$/.test(path);
const isState = ({ method, path }: Passage): boolean => method === 'GET' && /^\/sessions\/[^/]+$/.test(path);
const sessionOf = ({ path }: Passage): string => path.split('/')[2] ?? '';
const keyOf = ({ headers }: Passage): string => headers['idempotency-key'] ?? '';

/** A fault, the checks that must name it, and those that it spoils by the way. */
interface Variant<Made> {
  faults: readonly string[];
  also?: readonly string[];
  make: () => Made;
}

/** Faults that a chat server's author is likely to make. */
export const BROKEN: Record<string, Variant<Break>> = {
  'asks whether the chat is busy before it looks the key up': {
    faults: ['key-before-busy'],
    also: ['same-key-together'],
    make: () => async (passage) => {
      if (!isSend(passage)) return undefined;
      const status = json(await passage.forward({ method: 'GET', path: `/sessions/${sessionOf(passage)}`, body: '' }));
      return status['state'] === 'running' ? reply(409, { code: 'turn_running' }) : undefined;
    },
  },
  'forgets keys when their turn is over': {
    faults: ['key-remembered'],
    also: ['bad-request', 'same-key-together'],
    make: () => {
      const keys = new Map<string, string>();
      return async (passage) => {
        if (!isSend(passage)) return undefined;
        const status = json(
          await passage.forward({ method: 'GET', path: `/sessions/${sessionOf(passage)}`, body: '' }),
        );
        const known = `${sessionOf(passage)} ${keyOf(passage)}`;
        if (status['state'] === 'idle' || !keys.has(known)) keys.set(known, randomUUID());
        return passage.forward({ headers: { ...passage.headers, 'idempotency-key': keys.get(known) ?? '' } });
      };
    },
  },
  'remembers a refusal under its key': {
    faults: ['refusal-not-remembered'],
    make: () => {
      const refused = new Map<string, Reply>();
      return async (passage) => {
        if (!isSend(passage)) return undefined;
        const name = `${sessionOf(passage)} ${keyOf(passage)}`;
        const answer = refused.get(name) ?? (await passage.forward());
        if (answer.status === 409) refused.set(name, answer);
        return answer;
      };
    },
  },
  'answers a repeat well, and begins a second turn behind the first': {
    faults: ['one-turn-per-key'],
    also: ['key-remembered'],
    make: () => {
      const seen = new Set<string>();
      return async (passage) => {
        if (!isSend(passage)) return undefined;
        const name = `${sessionOf(passage)} ${keyOf(passage)}`;
        const isRepeat = seen.has(name);
        const answer = await passage.forward();
        if (answer.status === 202) seen.add(name);
        if (isRepeat && answer.status === 202) {
          const path = `/chats/${sessionOf(passage)}/queue`;
          await passage.forward({ path, body: JSON.stringify({ text: 'the same again' }) });
        }
        return answer;
      };
    },
  },
  'checks for idle, waits, then begins: two at once both pass': {
    faults: ['different-keys-together'],
    make: () => async (passage) => {
      if (!isSend(passage)) return undefined;
      const status = json(await passage.forward({ method: 'GET', path: `/sessions/${sessionOf(passage)}`, body: '' }));
      if (status['state'] !== 'idle' || status['queuedFollowUp'] === true) return undefined;
      await new Promise((resolve) => setTimeout(resolve, 60));
      const answer = await passage.forward();
      return answer.status === 409 ? reply(202, { turnId: randomUUID() }) : answer;
    },
  },
  'answers 200 for 202': {
    faults: ['accepted'],
    also: ['refusal-not-remembered', 'same-key-together', 'different-keys-together'],
    make: () => async (passage) => {
      if (!isSend(passage)) return undefined;
      const answer = await passage.forward();
      return answer.status === 202 ? { ...answer, status: 200 } : answer;
    },
  },
  'says idle while the chat waits for its user, and lets the nudge answer': {
    faults: ['state-waiting', 'busy-waiting'],
    make: () => async (passage) => {
      const answer = await passage.forward();
      if (isSend(passage) && answer.status === 409 && json(answer)['code'] === 'waiting') {
        return reply(202, { turnId: randomUUID() });
      }
      if (!isState(passage) || json(answer)['state'] !== 'waiting') return answer;
      return reply(200, { ...json(answer), state: 'idle' });
    },
  },
  'does not tell of a message that waits': {
    faults: ['state-queued', 'busy-queued'],
    make: () => async (passage) => {
      const answer = await passage.forward();
      if (isSend(passage) && answer.status === 409 && json(answer)['code'] === 'queued_follow_up') {
        return reply(202, { turnId: randomUUID() });
      }
      return isState(passage) && answer.status === 200
        ? reply(200, { ...json(answer), queuedFollowUp: false })
        : answer;
    },
  },
  'answers 409 for a session that is over, and 200 for one that never was': {
    faults: ['state-unknown', 'message-unknown', 'message-closed'],
    make: () => async (passage) => {
      const answer = await passage.forward();
      if (![404, 410].includes(answer.status)) return answer;
      if (isSend(passage)) return reply(409, { code: 'turn_running' });
      return isState(passage) ? reply(200, { state: 'closed', queuedFollowUp: false }) : answer;
    },
  },
  'interrupts a running turn to take the nudge': {
    faults: ['busy-running'],
    also: ['different-keys-together'],
    make: () => async (passage) => {
      if (!isSend(passage)) return undefined;
      const answer = await passage.forward();
      return answer.status === 409 && json(answer)['code'] === 'turn_running'
        ? reply(202, { turnId: randomUUID() })
        : answer;
    },
  },
  'ignores Range and sends the whole transcript': {
    faults: ['transcript-tail'],
    make: () => async (passage) =>
      passage.path.endsWith('/transcript')
        ? passage.forward({
            headers: Object.fromEntries(Object.entries(passage.headers).filter(([name]) => name !== 'range')),
          })
        : undefined,
  },
  'takes any token': {
    faults: ['token'],
    make: () => async (passage) =>
      passage.headers['authorization'] === undefined
        ? undefined
        : passage.forward({ headers: { ...passage.headers, authorization: 'Bearer right' } }),
  },
  'promises a turn and begins none': {
    faults: ['turn-begins'],
    also: ['bad-request', 'key-before-busy', 'key-remembered', 'same-key-together', 'different-keys-together'],
    make: () => async (passage) => {
      if (!isSend(passage)) return undefined;
      const status = json(await passage.forward({ method: 'GET', path: `/sessions/${sessionOf(passage)}`, body: '' }));
      return status['state'] === 'idle' && status['queuedFollowUp'] === false
        ? reply(202, { turnId: randomUUID() })
        : undefined;
    },
  },
};

/** Faults in what is told: a delivery on its way, and what becomes of it. */
export interface Letter {
  headers: Record<string, string>;
  body: string;
  event: { type: string; data: Record<string, unknown> };
}

export const BROKEN_WEBHOOKS: Record<string, Variant<(letter: Letter) => Letter | 'lost' | 'once'>> = {
  'never tells that a turn has ended': {
    faults: ['webhook-turn'],
    make: () => (letter) => (letter.event.type === 'turn.ended' ? 'lost' : letter),
  },
  'calls every turn a person’s': {
    faults: ['webhook-turn'],
    also: ['webhook-signed'],
    make: () => (letter) => ({ ...letter, body: letter.body.replace('"cause":"recovery"', '"cause":"human"') }),
  },
  'signs another rendering than it sends': {
    faults: ['webhook-signed'],
    make: () => (letter) => ({ ...letter, body: JSON.stringify(JSON.parse(letter.body), undefined, 1) }),
  },
  'tells once, whatever the answer': {
    faults: ['webhook-retry'],
    make: () => () => 'once',
  },
  'stamps by the second': {
    faults: ['webhook-order'],
    also: ['webhook-signed'],
    make: () => (letter) => ({ ...letter, body: letter.body.replace(/(\d\d:\d\d:\d\d)\.\d+Z/, '$1.000Z') }),
  },
};

/** A proxy that breaks the session API behind it in one way. */
export async function brokenApi(target: string, how: Break): Promise<{ url: string; close(): Promise<void> }> {
  return serve(async (request, body) => {
    const passage: Passage = {
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: headersOf(request),
      body,
      forward: (change = {}) => ask(target, { ...passage, ...change }),
    };
    return (await how(passage)) ?? (await passage.forward());
  });
}

/** A proxy that breaks the webhooks on their way to the ear in one way. */
export async function brokenPost(
  target: string,
  how: (letter: Letter) => Letter | 'lost' | 'once',
): Promise<{ url: string; close(): Promise<void> }> {
  return serve(async (request, body) => {
    const letter = { headers: headersOf(request), body, event: JSON.parse(body) as Letter['event'] };
    const changed = how(letter);
    if (changed === 'lost') return reply(202, {});
    const answer = await ask(target, {
      method: 'POST',
      path: '/v1/events',
      ...(changed === 'once' ? letter : changed),
    });
    return changed === 'once' ? reply(202, {}) : answer;
  });
}

async function serve(handle: (request: IncomingMessage, body: string) => Promise<Reply>) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      void handle(request, Buffer.concat(chunks).toString('utf8')).then(({ status, headers, body }) =>
        response.writeHead(status, headers).end(body),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const OWN_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'keep-alive',
]);

const headersOf = (request: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) =>
      OWN_HEADERS.has(name) || value === undefined ? [] : [[name, String(value)]],
    ),
  );

async function ask(
  target: string,
  { method, path, headers, body }: { method: string; path: string; headers: Record<string, string>; body: string },
): Promise<Reply> {
  const response = await fetch(`${target}${path}`, {
    method,
    headers,
    ...(method === 'GET' || method === 'DELETE' ? {} : { body }),
  });
  const kept = [...response.headers].filter(([name]) => !OWN_HEADERS.has(name) && name !== 'content-encoding');
  return {
    status: response.status,
    headers: Object.fromEntries(kept),
    body: Buffer.from(await response.arrayBuffer()),
  };
}
