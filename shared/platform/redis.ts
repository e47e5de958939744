import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { collapseErrors } from './collapse.ts';
import { withDeadline } from './deadline.ts';
import { gatherWrites } from './gather-writes.ts';
import type { Logger } from './logger.ts';
import { parseRedisAddress, type RedisAddress } from './redis-address.ts';

export { shownRedisUrl } from './redis-address.ts';

/** A client of one server (or of the master that sentinels name), or of a cluster. */
export type RedisClient = Redis | Cluster;

/**
 * `fail-fast`: for whoever must answer a caller soon (the watcher). `patient`: for workers and blocking reads, which have
 * nothing better to do than to wait until Redis is back.
 */
export type RedisRole = 'fail-fast' | 'patient';

export interface CreateRedisOptions {
  /** Any form of {@link RedisAddress}. */
  url: string;
  role: RedisRole;
  /** Shown by `CLIENT LIST`; says which part of which process this is. */
  name: string;
  logger: Logger;
}

/**
 * States in which the server answers but the connection is to the wrong node or too early: a new connection helps,
 * another try on the same one does not.
 */
const RECONNECT_ON = ['READONLY', 'LOADING', 'UNBLOCKED', 'CLUSTERDOWN', 'MASTERDOWN'];

const shared = {
  // A connection attempt to a host that swallows packets would otherwise hang for the system's two minutes.
  connectTimeout: 5_000,
  // Notices a peer that vanished without a word (a pulled cable, a stopped virtual machine).
  keepAlive: 15_000,
  // How long a connection that was told to end may stay half open; ioredis keeps a timer for it.
  disconnectTimeout: 250,
  // A socket that is dead without a word (bullmq#1658): so long without the answer to anything that was asked, and a new one
  // is made. Blocking reads block for 10 s at most.
  socketTimeout: 15_000,
  // 2 resends the command that met the error after reconnecting; every script of ours is idempotent under a resend.
  reconnectOnError: (error: Error) => (RECONNECT_ON.some((word) => error.message.startsWith(word)) ? 2 : false),
} satisfies RedisOptions;

const ROLES = {
  'fail-fast': {
    ...shared,
    // Without a connection, a command fails at once (measured 2 ms) instead of waiting in a queue for one.
    enableOfflineQueue: false,
    // A command that was under way when the connection broke is tried on one more connection, then given up.
    maxRetriesPerRequest: 1,
    // A frozen server with an open socket is found only so (measured 501 ms; without it: for ever). The whole webhook has
    // about a second until its 503.
    commandTimeout: 500,
    // What each command failed on for so long is dead; a new connection may not be.
    socketTimeout: 2_000,
    // Back within half a second after Redis is.
    retryStrategy: (times: number) => Math.min(50 * 2 ** Math.min(times, 10), 500),
  },
  patient: {
    ...shared,
    // BullMQ demands it: a blocking read must outlive any number of reconnects.
    maxRetriesPerRequest: null,
    // Gentler: many workers come back at the same moment, so up to 2 s and a tenth of jitter.
    retryStrategy: (times: number) => Math.min(50 * 2 ** Math.min(times, 10), 2_000) * (1 + Math.random() / 10),
  },
} satisfies Record<RedisRole, RedisOptions>;

/** A failover makes a slot's commands fail for a while: so many tries, `retryDelayOnFailover` (100 ms) apart. */
const CLUSTER_TRIES = { 'fail-fast': 4, patient: 600 } satisfies Record<RedisRole, number>;

/**
 * The one place that makes Redis clients. It connects by itself and goes on trying until closed.
 *
 * A `fail-fast` client refuses every command until it is connected, the first time too: use {@link untilReady} at start
 * where a failure would be unfair, and {@link withDeadline} around BullMQ calls, which wait for the connection first.
 * Throws where the address is none.
 */
export function createRedis({ url, role, name, logger }: CreateRedisOptions): RedisClient {
  const address = parseRedisAddress(url);
  if (address === undefined) throw new Error('The address of Redis is none.');
  const client = connect(address, role, name);
  const log = logger.child({ component: 'redis', connection: name });
  let broken = false;
  const report = collapseErrors({
    report: (err, leftOut) => log.warn({ err, leftOut }, 'Redis connection error.'),
  });
  client.on('error', (error: Error) => {
    broken = true;
    report(error);
  });
  client.on('ready', () => {
    if (broken) log.info({}, 'Redis is back.');
    broken = false;
  });
  return client;
}

function connect(address: RedisAddress, role: RedisRole, name: string): RedisClient {
  const options = { ...ROLES[role], connectionName: name };
  switch (address.kind) {
    case 'single':
      return gathering(new Redis(address.url, options));
    case 'sentinel':
      return gathering(new Redis({ ...options, ...credentialsOf(address), ...sentinelOptions(address, role) }));
    case 'cluster':
      return new Cluster(address.nodes, clusterOptions(address, role, options));
  }
}

function gathering(client: Redis): Redis {
  gatherWrites(client);
  return client;
}

function credentialsOf({ username, password, tls }: Exclude<RedisAddress, { kind: 'single' }>) {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
  };
}

function sentinelOptions(address: Extract<RedisAddress, { kind: 'sentinel' }>, role: RedisRole) {
  return {
    sentinels: address.nodes,
    name: address.masterName,
    db: address.db,
    ...(address.sentinelPassword === undefined ? {} : { sentinelPassword: address.sentinelPassword }),
    ...(address.tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
    sentinelCommandTimeout: 1_000,
    sentinelRetryStrategy: ROLES[role].retryStrategy,
    // A master that froze keeps its sockets open: only the sentinels tell that another is master now.
    failoverDetector: true,
  };
}

function clusterOptions(
  address: Extract<RedisAddress, { kind: 'cluster' }>,
  role: RedisRole,
  { retryStrategy: _retry, ...redisOptions }: (typeof ROLES)[RedisRole] & { connectionName: string },
) {
  return {
    enableOfflineQueue: role === 'patient',
    clusterRetryStrategy: ROLES[role].retryStrategy,
    maxRedirections: CLUSTER_TRIES[role],
    // Without a redirection nothing else would tell of a promoted replica.
    slotsRefreshInterval: 5_000,
    redisOptions: { ...redisOptions, ...credentialsOf(address) },
  };
}

/** Resolves true as soon as the client can take commands, false when it cannot within `timeoutMs`. Never throws. */
export async function untilReady(client: RedisClient, timeoutMs: number): Promise<boolean> {
  if (client.status === 'ready') return true;
  return new Promise((resolve) => {
    const settle = (ready: boolean): void => {
      clearTimeout(timer);
      client.off('ready', onReady);
      resolve(ready);
    };
    const onReady = (): void => settle(true);
    const timer = setTimeout(() => settle(false), timeoutMs);
    // `error` events do not end the wait: the client goes on trying.
    client.on('ready', onReady);
  });
}

/**
 * Tells of each moment from which another server may answer: a connection made (the first one too), or a cluster whose nodes
 * changed. What was confirmed just before may be lost then: replicas lag, and a restart may read an older file.
 */
export function onReconnected(client: RedisClient, listener: () => void): void {
  client.on('ready', listener);
  if (client instanceof Cluster) client.on('+node', listener).on('-node', listener);
}

/** Says goodbye within `timeoutMs`, or cuts the connection. Never throws; closing twice is fine. */
export async function closeRedis(client: RedisClient, timeoutMs = 1_000): Promise<void> {
  if (client.status === 'end') return;
  // Between two connections there is nothing to end but the next try; ioredis tells no `end` then.
  if (client.status === 'reconnecting') return client.disconnect();
  const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
  // A broken connection has nobody to say goodbye to: whatever QUIT brings, `end` is what counts.
  if (client.status === 'ready') client.quit().catch(() => undefined);
  else client.disconnect();
  await withDeadline(ended, timeoutMs, 'Closing').catch(() => client.disconnect());
  // After QUIT too: the subscriptions at the sentinels, by which ioredis learns of a failover, end with nothing else.
  if (client instanceof Redis && (client.options.sentinels?.length ?? 0) > 0) client.disconnect();
}
