import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ProvisionContext, RedisFound, Way } from './found.ts';

const UPDATE_WITHIN_MS = 120_000;
const DOWNLOAD_WITHIN_MS = 120_000;
const STEP_WITHIN_MS = 30_000;
const PROGRAMS = ['redis-server', 'valkey-server'];

/**
 * Debian's or Ubuntu's own package, unpacked into a cache folder. Nothing is installed and no root is needed: apt works
 * on lists, cache and status file of our own (measured: 6 s, 8 MB).
 */
export const byDebian: Way = {
  advice: 'run on Debian or Ubuntu, where the package can be fetched',
  async find(context) {
    const release = await debianRelease();
    if (release === undefined) return 'this is no Debian or Ubuntu';
    const cache = join(cacheHome(context.env), `redis-${release}-${process.arch}`);
    const cached = await unpacked(cache);
    if (cached !== undefined) return cached;

    context.say('Fetching the redis-server package into a cache folder; this takes some seconds.');
    await mkdir(dirname(cache), { recursive: true });
    const work = await mkdtemp(`${cache}-`);
    try {
      const problem = await fetchInto(work, context);
      if (problem !== undefined) return problem;
      // Somebody else may have been faster: theirs is as good.
      await rename(join(work, 'root'), cache).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
      });
    } finally {
      await rm(work, { recursive: true, force: true });
    }
    return (await unpacked(cache)) ?? 'the package holds no server program';
  },
};

function cacheHome(env: NodeJS.ProcessEnv): string {
  const xdg = env['XDG_CACHE_HOME'];
  const base = xdg === undefined || xdg === '' ? join(homedir(), '.cache') : xdg;
  return join(base, 'chat-recovery');
}

/** `debian12`, `ubuntu24.04`; `undefined` elsewhere. */
async function debianRelease(): Promise<string | undefined> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const value = (key: string): string => new RegExp(`^${key}="?([^"\\n]*)`, 'm').exec(text)?.[1] ?? '';
  const family = `${value('ID')} ${value('ID_LIKE')}`.split(' ');
  const isDebian = family.includes('debian') || family.includes('ubuntu');
  return isDebian && existsSync('/usr/bin/apt-get') ? `${value('ID')}${value('VERSION_ID')}` : undefined;
}

/** Downloads and unpacks into `<work>/root`; returns in a few words what went wrong, if anything did. */
async function fetchInto(work: string, { run }: ProvisionContext): Promise<string | undefined> {
  const options = await aptOptions(work);
  const debs = join(work, 'debs');
  await mkdir(debs);

  const update = await run('apt-get', [...options, 'update'], { timeoutMs: UPDATE_WITHIN_MS });
  if (update.code !== 0) return 'apt-get update failed (no package mirror?)';
  const packages = await neededPackages(run, options);
  if (packages.length === 0) return 'apt knows no package redis-server';
  const download = await run('apt-get', [...options, 'download', ...packages], {
    timeoutMs: DOWNLOAD_WITHIN_MS,
    cwd: debs,
  });
  if (download.code !== 0) return 'apt-get download failed';
  for (const deb of await readdir(debs)) {
    const unpack = await run('dpkg-deb', ['-x', join(debs, deb), join(work, 'root')], { timeoutMs: STEP_WITHIN_MS });
    if (unpack.code !== 0) return `${deb} cannot be unpacked`;
  }
  return undefined;
}

/** Everything that apt would lock or write, moved into `work`; the machine's own sources and keys stay in use. */
async function aptOptions(work: string): Promise<string[]> {
  await mkdir(join(work, 'lists', 'partial'), { recursive: true });
  await mkdir(join(work, 'cache', 'archives', 'partial'), { recursive: true });
  const status = await readFile('/var/lib/dpkg/status', 'utf8').catch(() => '');
  await writeFile(join(work, 'status'), withoutServers(status));
  const settings = {
    'Dir::State': work,
    'Dir::State::Lists': join(work, 'lists'),
    'Dir::State::status': join(work, 'status'),
    'Dir::Cache': join(work, 'cache'),
    // As root, apt would fetch as the user _apt, who may not write here.
    'APT::Sandbox::User': 'root',
    'Debug::NoLocking': 'true',
  };
  return Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
}

/** What is installed, without any Redis: apt then names the server and just those libraries that are missing. */
export function withoutServers(status: string): string {
  return status
    .split(/\n\n+/)
    .filter((paragraph) => !/^Package: (redis|valkey)\b/m.test(paragraph))
    .join('\n\n');
}

/** The server and its missing libraries, asked of apt: names differ between releases. */
async function neededPackages(run: ProvisionContext['run'], options: string[]): Promise<string[]> {
  for (const program of PROGRAMS) {
    const plan = await run(
      'apt-get',
      [...options, 'install', '--print-uris', '--no-install-recommends', '-y', '-qq', program],
      { timeoutMs: STEP_WITHIN_MS },
    );
    const names = plannedPackages(plan.stdout);
    if (plan.code === 0 && names.length > 0) return names;
  }
  return [];
}

/** Package names from `'http://…' redis-server_5%3a7.0.15-1_amd64.deb 53264 SHA256:…` lines. */
export function plannedPackages(printUris: string): string[] {
  return printUris
    .split('\n')
    .map((line) => /^'[^']+' ([^_\s]+)_/.exec(line)?.[1])
    .filter((name) => name !== undefined);
}

/** The program in an unpacked package, with its libraries' folders. */
async function unpacked(root: string): Promise<RedisFound | undefined> {
  const path = PROGRAMS.map((program) => join(root, 'usr', 'bin', program)).find((candidate) => existsSync(candidate));
  if (path === undefined) return undefined;
  const libraries = await libraryFolders(root);
  // Empty where every library was installed already; an empty LD_LIBRARY_PATH would mean the current folder.
  return { kind: 'program', path, libraryPath: libraries.length === 0 ? undefined : libraries.join(':') };
}

async function libraryFolders(root: string): Promise<string[]> {
  const found: string[] = [];
  for (const base of [join(root, 'usr', 'lib'), join(root, 'lib')]) {
    const entries = await readdir(base, { withFileTypes: true }).catch(() => []);
    const folders = [base, ...entries.filter((entry) => entry.isDirectory()).map((entry) => join(base, entry.name))];
    for (const folder of folders) {
      const names = await readdir(folder).catch(() => []);
      if (names.some((name) => name.includes('.so'))) found.push(folder);
    }
  }
  return found;
}
