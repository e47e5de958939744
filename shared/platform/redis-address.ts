/**
 * Where Redis is, as one address names it. Besides `redis://`, `rediss://` (TLS) and `unix://` for one server:
 *
 * - `redis+sentinel://host:port,host:port/master-name`: the sentinels that know the master;
 * - `redis+cluster://host:port,host:port`: any nodes of a cluster, which names the others.
 *
 * Both take `user:password@` for the servers, `rediss+…` for TLS; sentinels with a password of their own take it from
 * `?sentinelPassword=`. A database number follows the master's name: `/mymaster/2`.
 */
export type RedisAddress =
  | { kind: 'single'; url: string }
  | ({ kind: 'sentinel'; masterName: string; db: number; sentinelPassword: string | undefined } & Nodes)
  | ({ kind: 'cluster' } & Nodes);

interface Nodes {
  nodes: { host: string; port: number }[];
  username: string | undefined;
  password: string | undefined;
  tls: boolean;
}

const DEFAULT_PORTS = { sentinel: 26_379, cluster: 6_379 };
const SINGLE = /^(rediss?|unix):$/;
const MANY = /^(rediss?)\+(sentinel|cluster):\/\/(?:([^@/]*)@)?([^@/?#]+)(\/[^?#]*)?(?:\?([^#]*))?$/;

/** Reads an address; `undefined` where it is none of the forms. */
export function parseRedisAddress(text: string): RedisAddress | undefined {
  const match = MANY.exec(text);
  if (match === null) return isSingle(text) ? { kind: 'single', url: text } : undefined;
  const [, scheme, kind, credentials, hosts = '', path = '', query = ''] = match;
  const nodes = kind === 'sentinel' || kind === 'cluster' ? parseNodes(hosts, DEFAULT_PORTS[kind]) : undefined;
  if (nodes === undefined) return undefined;
  const common = { nodes, ...parseCredentials(credentials), tls: scheme === 'rediss' };
  if (kind === 'cluster') return path.replace('/', '') === '' ? { kind, ...common } : undefined;
  const [masterName = '', db = '0', ...rest] = path.slice(1).split('/').map(decodeURIComponent);
  if (masterName === '' || !/^\d+$/.test(db) || rest.length > 0) return undefined;
  const sentinelPassword = new URLSearchParams(query).get('sentinelPassword') ?? undefined;
  return { kind: 'sentinel', ...common, masterName, db: Number(db), sentinelPassword };
}

function isSingle(text: string): boolean {
  return URL.canParse(text) && SINGLE.test(new URL(text).protocol);
}

function parseNodes(hosts: string, defaultPort: number): Nodes['nodes'] | undefined {
  const nodes = hosts.split(',').map((text) => {
    const [, six, name, port] = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i.exec(text.trim()) ?? [];
    const host = six ?? name;
    return host === undefined ? undefined : { host, port: port === undefined ? defaultPort : Number(port) };
  });
  const valid = nodes.filter((node) => node !== undefined).filter(({ port }) => port > 0 && port < 65_536);
  return valid.length === nodes.length ? valid : undefined;
}

function parseCredentials(text: string | undefined): Pick<Nodes, 'username' | 'password'> {
  if (text === undefined || text === '') return { username: undefined, password: undefined };
  const at = text.indexOf(':');
  const [username, password] = at === -1 ? ['', text] : [text.slice(0, at), text.slice(at + 1)];
  return { username: username === '' ? undefined : decode(username), password: decode(password) };
}

/** A password with a bare `%` is meant as it stands. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A Redis address as it may be shown: without its passwords. */
export function shownRedisUrl(url: string): string {
  if (parseRedisAddress(url) === undefined) return '(not a Redis address)';
  return url.replace(CREDENTIALS, hideCredentials).replace(/([?&]sentinelPassword=)[^&#]*/, '$1***');
}

const CREDENTIALS = /(?<=:\/\/)[^@/?#]*(?=@)/;

/** `user:secret` keeps its user. */
function hideCredentials(text: string): string {
  const at = text.indexOf(':');
  return at === -1 ? '***' : `${text.slice(0, at)}:***`;
}
