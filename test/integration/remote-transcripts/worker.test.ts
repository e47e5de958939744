import { readFileSync } from 'node:fs';
import { eventually } from '../../support/events.ts';
import { brokenApi } from '../../support/broken-chat-servers.ts';
import { describe, expect, test } from '../worker/support.ts';

describe('a worker that reads transcripts through the session API', () => {
  test('waits while they cannot be had, says so once, and nudges when they can', async ({ bench }) => {
    const hung = await bench.hungChat({ autoReDrive: true });
    let asked = 0;
    const proxy = await brokenApi(bench.api.url, async ({ path }) => {
      if (!path.endsWith('/transcript')) return undefined;
      asked += 1;
      if (asked <= 3) return { status: 503, headers: {}, body: Buffer.from('') };
      return { status: 200, headers: {}, body: readFileSync(hung.transcript.path) };
    });
    await bench.worker({ SESSION_API_URL: proxy.url, TRANSCRIPT_SOURCE: 'http', TRANSCRIPT_ROOTS: '/nowhere' });
    await bench.look(hung);
    await eventually(async () => (await bench.state(hung)) === 'nudged', { what: 'the nudge', timeoutMs: 15_000 });
    expect(bench.api.turns(hung.chat.id)).toHaveLength(1);
    const trail = await bench.trail(hung);
    expect(trail.filter((line) => line === 'deferred: transcript-unreadable')).toHaveLength(1);
    await proxy.close();
  });

  test('shows a transcript that the chat server does not have as missing, and looks for no file', async ({ bench }) => {
    const hung = await bench.hungChat({ autoReDrive: true });
    await bench.worker({ TRANSCRIPT_SOURCE: 'http' });
    bench.api.sessions.delete(hung.chat.id);
    await bench.look(hung);
    await eventually(async () => (await bench.state(hung)) === 'transcript-missing');
    expect(bench.api.received).toEqual([]);
  });
});
