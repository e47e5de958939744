import { Agent, request } from 'undici';

/** What a chat server answered to one range. */
export type RangeAnswer =
  | { kind: 'part'; start: number; bytes: Buffer; total: number; modifiedMs: number }
  /** It knows no ranges, and the whole was short enough to take. */
  | { kind: 'whole'; bytes: Buffer; modifiedMs: number }
  /** The range lies outside of what is there now. */
  | { kind: 'outside'; total: number | undefined }
  | { kind: 'missing' }
  | { kind: 'failed'; code: string };

export interface RangeClientOptions {
  /** Base address of the session API. */
  url: string;
  token: string | undefined;
  timeoutMs: number;
}

/** Asks one chat server for parts of transcripts: `GET /sessions/{id}/transcript` with `Range`. */
export interface RangeClient {
  /** @param range as in the header: `-16384` or `100-199`. @param maxBytes more than this is never read. Never rejects. */
  get(sessionId: string, range: string, maxBytes: number): Promise<RangeAnswer>;
  close(): Promise<void>;
}

export function createRangeClient({ url, token, timeoutMs }: RangeClientOptions): RangeClient {
  const base = url.endsWith('/') ? url : `${url}/`;
  const agent = new Agent({ connections: 16, headersTimeout: 0, bodyTimeout: 0, connectTimeout: timeoutMs });
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    async get(sessionId, range, maxBytes) {
      const cut = new AbortController();
      const timer = setTimeout(() => cut.abort(Object.assign(new Error('timeout'), { code: 'timeout' })), timeoutMs);
      try {
        const answer = await request(new URL(`sessions/${encodeURIComponent(sessionId)}/transcript`, base), {
          dispatcher: agent,
          headers: {
            accept: 'application/x-ndjson',
            'accept-encoding': 'identity',
            range: `bytes=${range}`,
            ...authorization,
          },
          signal: cut.signal,
        });
        return await understand(answer, maxBytes);
      } catch (error) {
        return { kind: 'failed', code: codeOf(error) };
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => agent.destroy(),
  };
}

type Answer = Awaited<ReturnType<typeof request>>;

async function understand(answer: Answer, maxBytes: number): Promise<RangeAnswer> {
  const { statusCode } = answer;
  if (statusCode === 206) return part(answer, maxBytes);
  if (statusCode === 200) return whole(answer, maxBytes);
  leave(answer.body);
  if (statusCode === 404 || statusCode === 410) return { kind: 'missing' };
  if (statusCode !== 416) return { kind: 'failed', code: `http_${statusCode}` };
  const total = /^bytes \*\/(\d+)$/.exec(headerOf(answer, 'content-range'))?.[1];
  return { kind: 'outside', total: total === undefined ? undefined : Number(total) };
}

async function part(answer: Answer, maxBytes: number): Promise<RangeAnswer> {
  const [, from, to, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headerOf(answer, 'content-range')) ?? [];
  if (from === undefined || to === undefined || size === undefined) {
    leave(answer.body);
    return { kind: 'failed', code: 'invalid_answer' };
  }
  const bytes = await readAtMost(answer.body, maxBytes);
  if (bytes?.length !== Number(to) - Number(from) + 1) return { kind: 'failed', code: 'invalid_answer' };
  return { kind: 'part', start: Number(from), bytes, total: Number(size), modifiedMs: modifiedOf(answer) };
}

async function whole(answer: Answer, maxBytes: number): Promise<RangeAnswer> {
  const bytes = await readAtMost(answer.body, maxBytes);
  if (bytes === undefined) return { kind: 'failed', code: 'range_unsupported' };
  return { kind: 'whole', bytes, modifiedMs: modifiedOf(answer) };
}

/** `undefined` where there was more; the rest is not fetched. */
async function readAtMost(body: Answer['body'], maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) {
      leave(body);
      return undefined;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** What is not read is not fetched. To a body that is an error; it is our own doing, so nobody needs to hear of it. */
function leave(body: Answer['body']): void {
  body.on('error', () => undefined);
  body.destroy();
}

function headerOf({ headers }: Answer, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value)?.trim() ?? '';
}

const modifiedOf = (answer: Answer): number => Date.parse(headerOf(answer, 'last-modified')) || 0;

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'network_error';
}
