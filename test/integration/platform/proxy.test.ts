import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventually, eventuallyPasses } from '../../support/events.ts';
import { tcpProxy, type Tap, type TcpProxy } from '../../support/proxy.ts';

/** A server that keeps what it is told, a proxy in front of it, and one client. */
interface Wire {
  proxy: TcpProxy;
  client: Socket;
  got: () => string;
}

async function makeWire(tap?: Tap): Promise<Wire> {
  let got = '';
  const server = createServer((socket) => {
    socket.on('error', () => undefined).on('data', (chunk) => (got += chunk.toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = await tcpProxy({ port: (server.address() as AddressInfo).port }, tap);
  const client = connect(proxy.port, '127.0.0.1').setNoDelay();
  client.on('error', () => undefined);
  onTestFinished(async () => {
    client.destroy();
    await proxy.close();
    await new Promise((resolve) => server.close(resolve));
  });
  await once(client, 'connect');
  return { proxy, client, got: () => got };
}

describe('the proxy that breaks the network on purpose', () => {
  test('keeps what comes while it is frozen, and lets it go in order', async () => {
    const { proxy, client, got } = await makeWire();
    client.write('a');
    await eventually(() => got() === 'a');
    proxy.freeze();
    client.write('b');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(got()).toBe('a');
    proxy.heal();
    client.write('c');
    await eventuallyPasses(() => expect(got()).toBe('abc'));
  });

  test('lets nothing overtake what is still on its way when it heals', async () => {
    const { proxy, client, got } = await makeWire();
    proxy.delay(150);
    client.write('slow ');
    await new Promise((resolve) => setTimeout(resolve, 50));
    proxy.heal();
    client.write('quick');
    await eventuallyPasses(() => expect(got()).toBe('slow quick'));
  });

  test('cuts a connection where its tap drops a chunk', async () => {
    const { client, got } = await makeWire((chunk) => (chunk.includes('secret') ? 'drop' : 'pass'));
    client.write('known ');
    await eventually(() => got() === 'known ');
    client.write('secret');
    await eventually(() => client.closed);
    expect(got()).toBe('known ');
  });

  test('swallows a chunk and all after it, and stays open', async () => {
    const seen: string[] = [];
    const { proxy, client, got } = await makeWire((chunk) => {
      seen.push(chunk.toString());
      return chunk.includes('secret') ? 'swallow' : 'pass';
    });
    client.write('known ');
    await eventually(() => got() === 'known ');
    client.write('secret');
    await eventually(() => seen.length === 2);
    client.write(' more');
    await eventually(() => seen.length === 3);
    expect(got()).toBe('known ');
    expect(proxy.open).toBe(1);
  });
});
