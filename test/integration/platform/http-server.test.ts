import { listen } from '#shared/platform/http-server.js';
import { latch } from '../../support/events.ts';
import { describe, expect, test } from '../../support/leaks.ts';

const here = { host: '127.0.0.1', port: 0, name: 'The watcher' };

describe('listening', () => {
  test('tells the real address where any free port was asked for', async () => {
    const server = await listen((_, response) => response.end('hello'), here);
    expect(server.port).toBeGreaterThan(0);
    expect(await (await fetch(server.url)).text()).toBe('hello');
    await server.close();
  });

  test('says in a sentence what to do where the port is taken', async () => {
    const first = await listen((_, response) => response.end(), here);
    await expect(listen((_, response) => response.end(), { ...here, port: first.port })).rejects.toThrow(
      `The watcher cannot listen on 127.0.0.1:${first.port}: another program does. Stop it, or set PORT to a free one.`,
    );
    await first.close();
  });

  test('says in a sentence where the address is not this machine’s', async () => {
    const elsewhere = { ...here, host: '192.0.2.1' };
    await expect(listen((_, response) => response.end(), elsewhere)).rejects.toThrow('no such address');
  });
});

describe('closing', () => {
  test('lets a request under way end and may be asked for twice', async () => {
    const arrived = latch();
    const answer = latch();
    const server = await listen((_, response) => {
      arrived.open();
      void answer.opened.then(() => response.end('late but whole'));
    }, here);
    const reply = fetch(server.url).then((response) => response.text());
    await arrived.opened;
    const closed = Promise.all([server.close(), server.close()]);
    answer.open();
    expect(await reply).toBe('late but whole');
    await closed;
  });

  test('cuts a stream that never ends after the grace', async () => {
    const server = await listen(
      (_, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n'),
      { ...here, graceMs: 50 },
    );
    const response = await fetch(server.url);
    const read = response.text().catch(() => 'cut');
    await server.close();
    expect(await read).toBe('cut');
  });
});
