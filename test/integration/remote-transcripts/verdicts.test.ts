import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRangeClient, type RangeClient } from '#shared/session-api/transcript/range-client.js';
import { remoteTranscript } from '#shared/session-api/transcript/remote-source.js';
import type { ReadContext, ReadOutcome } from '#shared/transcript/finding.js';
import { localFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import { describe, expect, test as base } from '../../support/leaks.ts';
import { startRangeServer, type RangeServer } from '../../support/range-server.ts';

const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url));
const ID = '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11';

const test = base.extend<{ server: RangeServer; client: RangeClient }>({
  server: async ({ leaks: _leaks }, use) => {
    const server = await startRangeServer();
    await use(server);
    await server.close();
  },
  client: async ({ server }, use) => {
    const client = createRangeClient({ url: server.url, token: undefined, timeoutMs: 1_000 });
    await use(client);
    await client.close();
  },
});

const contextOf = (sessionId: string): ReadContext => ({
  sessionId,
  answeredTaskIds: new Set(),
  senderLabels: [],
  scanLimitBytes: 64 * 1024 * 1024,
});

/** Everything but what tells two copies of a file apart. */
const essence = (outcome: ReadOutcome): object =>
  'file' in outcome ? { ...outcome, file: { size: outcome.file.size } } : outcome;

const transcripts = (folder: string): string[] =>
  readdirSync(join(FIXTURES, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => join(FIXTURES, folder, name));

const sessionOf = (path: string): string =>
  /"sessionId":"([0-9a-f-]{36})"/.exec(readFileSync(path, 'utf8'))?.[1] ?? basename(path, '.jsonl');

describe('a transcript that is read in ranges', () => {
  test('gives the same outcome as the file for every recorded and reported chat, with bounded bytes', async ({
    server,
    client,
  }) => {
    const paths = [...transcripts('transcripts'), ...transcripts('cases')];
    expect(paths.length).toBeGreaterThan(150);
    const wrong: string[] = [];
    let worstExtra = 0;
    for (const path of paths) {
      const session = sessionOf(path);
      server.files.set(session, readFileSync(path));
      const before = server.sentBytes;
      const remote = await readFinding(remoteTranscript(client, session), 'no path', contextOf(session));
      const local = await readFinding(localFiles, path, contextOf(session));
      if (JSON.stringify(essence(remote)) !== JSON.stringify(essence(local))) wrong.push(path);
      const read = 'bytesRead' in local ? local.bytesRead : 0;
      worstExtra = Math.max(worstExtra, server.sentBytes - before - read);
    }
    expect(wrong).toEqual([]);
    // The seams of at most a few blocks, and the look at the end.
    expect(worstExtra).toBeLessThan(20 * 1024);
  });
});

/** A chat that is decided only far before its end: nothing but bookkeeping follows the kill. */
function longHang(fillBytes: number, mark = 'x'): Buffer {
  const task =
    '<task-notification>\n<task-id>b1</task-id>\n<status>killed</status>\n<summary>It was stopped</summary>\n</task-notification>';
  const lines = [
    { type: 'user', uuid: 'u1', sessionId: ID, message: { role: 'user', content: 'Go.' } },
    {
      type: 'assistant',
      uuid: 'a1',
      sessionId: ID,
      message: { role: 'assistant', model: 'm', stop_reason: 'end_turn', content: [{ type: 'text', text: 'Done.' }] },
    },
    {
      type: 'queue-operation',
      operation: 'enqueue',
      sessionId: ID,
      timestamp: '2026-01-01T00:00:00.000Z',
      content: task,
    },
  ].map((line) => JSON.stringify(line));
  const filler = Array.from({ length: Math.ceil(fillBytes / 1_000) }, (_, index) =>
    JSON.stringify({ type: 'last-prompt', sessionId: ID, n: `${mark}${index}`, pad: mark.repeat(950) }),
  );
  return Buffer.from(`${[...lines, ...filler].join('\n')}\n`);
}

const read = (client: RangeClient) => readFinding(remoteTranscript(client, ID), '', contextOf(ID));

const reasonOf = (outcome: ReadOutcome) => (outcome.kind === 'read' ? outcome.finding.reason : outcome.kind);

describe('a transcript that changes while it is read', () => {
  test('by growing: what was there at the start is judged', async ({ server, client }) => {
    server.files.set(ID, longHang(200_000));
    server.before = () =>
      server.files.set(ID, Buffer.concat([server.files.get(ID) ?? Buffer.alloc(0), Buffer.from('{"type":"mode"}\n')]));
    expect(reasonOf(await read(client))).toBe('killed-unanswered');
  });

  test.each([
    ['shrinks', (file: Buffer) => file.subarray(0, 100_000)],
    ['is replaced by another of the same length', (file: Buffer) => longHang(200_000, 'y').subarray(0, file.length)],
    ['is replaced by a longer one', () => longHang(400_000, 'z')],
  ])('that %s is read anew, and never a mixture', async (_what, change) => {
    const server = await startRangeServer();
    const client = createRangeClient({ url: server.url, token: undefined, timeoutMs: 1_000 });
    const before = longHang(200_000);
    const after = change(before);
    server.files.set(ID, before);
    server.before = (index) => void (index === 3 && server.files.set(ID, after));
    const outcome = await read(client);
    expect(reasonOf(outcome)).toBe('killed-unanswered');
    expect(outcome).toMatchObject({ file: { size: after.length } });
    expect(server.ranges.filter((range) => range.startsWith('bytes=-'))).toHaveLength(2);
    await client.close();
    await server.close();
  });

  test('only after its last part was read is found by a look at its end', async ({ server, client }) => {
    server.files.set(ID, longHang(40_000));
    let parts = 0;
    server.before = () => {
      parts += 1;
      if (parts === 3) server.files.set(ID, longHang(40_000, 'q'));
    };
    expect(reasonOf(await read(client))).toBe('killed-unanswered');
    expect(server.ranges.filter((range) => range.startsWith('bytes=-'))).toHaveLength(2);
  });

  test('again and again is given up', async ({ server, client }) => {
    server.before = (index) => server.files.set(ID, longHang(200_000, 'abcdefghij'[index % 10]));
    expect(await read(client)).toEqual({ kind: 'unreadable', code: 'ECHANGING' });
  });

  test('by going away is missing', async ({ server, client }) => {
    server.files.set(ID, longHang(200_000));
    server.before = (index) => void (index === 2 && server.files.delete(ID));
    expect(await read(client)).toEqual({ kind: 'missing' });
  });
});

describe('a server that does not keep the contract', () => {
  test('and ignores ranges is read whole while that is short', async ({ server, client }) => {
    const whole = longHang(100_000);
    server.instead = (_request, response) => {
      response.writeHead(200).end(whole);
      return true;
    };
    expect(await read(client)).toMatchObject({ kind: 'read', finding: { reason: 'killed-unanswered' } });
  });

  test('and ignores ranges of a long file is left after 1 MB', async ({ server, client }) => {
    let sent = 0;
    const block = Buffer.alloc(64 * 1024);
    server.instead = (_request, response) => {
      response.writeHead(200);
      const more = (): void => {
        sent += block.length;
        if (!response.destroyed && sent < 200 * 1024 * 1024) response.write(block, () => setImmediate(more));
      };
      more();
      return true;
    };
    expect(await read(client)).toEqual({ kind: 'unreadable', code: 'range_unsupported' });
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  test.each([
    [401, 'http_401'],
    [429, 'http_429'],
    [503, 'http_503'],
  ])('and answers %i is unreadable as %s', async (status, code) => {
    const server = await startRangeServer();
    const client = createRangeClient({ url: server.url, token: undefined, timeoutMs: 1_000 });
    server.instead = (_request, response) => {
      response.writeHead(status).end();
      return true;
    };
    expect(await read(client)).toEqual({ kind: 'unreadable', code });
    await client.close();
    await server.close();
  });

  test('and hangs is left at the deadline', async ({ server }) => {
    const client = createRangeClient({ url: server.url, token: undefined, timeoutMs: 100 });
    server.instead = () => true;
    expect(await read(client)).toEqual({ kind: 'unreadable', code: 'timeout' });
    await client.close();
  });

  test('and sends less than it says', async ({ server, client }) => {
    server.instead = (_request, response) => {
      response.writeHead(206, { 'content-range': 'bytes 0-99/100' }).end('short');
      return true;
    };
    expect(await read(client)).toEqual({ kind: 'unreadable', code: 'invalid_answer' });
  });

  test('an empty transcript is one without a notification', async ({ server, client }) => {
    server.files.set(ID, Buffer.alloc(0));
    expect(await read(client)).toMatchObject({ kind: 'read', finding: { reason: 'no-notification' } });
  });

  test('and is not there at all is unreadable with the system’s code', async ({ server }) => {
    const client = createRangeClient({ url: 'http://127.0.0.1:1', token: undefined, timeoutMs: 1_000 });
    expect(await read(client)).toEqual({ kind: 'unreadable', code: 'ECONNREFUSED' });
    expect(server.ranges).toEqual([]);
    await client.close();
  });
});
