import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { plannedPackages, withoutServers } from '../../../cli/provision/by-debian.ts';
import { byDocker } from '../../../cli/provision/by-docker.ts';
import { byPathAnd } from '../../../cli/provision/by-path.ts';
import { findRedis } from '../../../cli/provision/find.ts';
import type { ProvisionContext, Way } from '../../../cli/provision/found.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chat-recovery-find-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A context in which programs end as `codes` says, by their first arguments; others are not there. */
function context(
  codes: Record<string, number> = {},
  env: NodeJS.ProcessEnv = {},
): ProvisionContext & { said: string[] } {
  const said: string[] = [];
  return {
    env,
    said,
    say: (sentence) => said.push(sentence),
    run: async (file, args) => {
      const line = [file, ...args].join(' ');
      const match = Object.entries(codes).find(([start]) => line.startsWith(start));
      return { code: match?.[1] ?? 127, stdout: '', stderr: '' };
    },
  };
}

async function program(name: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, '#!/bin/sh\n');
  await chmod(path, 0o755);
  return path;
}

const none = (words: string): Way => ({ advice: `do ${words}`, find: async () => words });

describe('finding a Redis', () => {
  test('takes the first way that leads to one', async () => {
    const url: Way = { advice: '', find: async () => ({ kind: 'url', url: 'redis://one' }) };
    const never: Way = { advice: '', find: () => Promise.reject(new Error('must not be asked')) };
    expect(await findRedis(context(), [none('a'), url, never])).toEqual({ kind: 'url', url: 'redis://one' });
  });

  test('says in one sentence why there is none and how to have one', async () => {
    await expect(findRedis(context(), [none('a'), none('b')])).rejects.toThrow(
      'No Redis was found (a; b). To have one: do a, or do b.',
    );
  });
});

describe('on PATH', () => {
  const byPath = byPathAnd([]);

  test('redis-server is found, and preferred to valkey-server', async () => {
    await program('valkey-server');
    const path = await program('redis-server');
    expect(await byPath.find(context({}, { PATH: `/nowhere:${folder}` }))).toMatchObject({ kind: 'program', path });
  });

  test('valkey-server is as good', async () => {
    const path = await program('valkey-server');
    expect(await byPath.find(context({}, { PATH: folder }))).toMatchObject({ kind: 'program', path });
  });

  test('a file that cannot be run is none', async () => {
    await writeFile(join(folder, 'redis-server'), '');
    expect(await byPath.find(context({}, { PATH: folder }))).toContain('on PATH');
  });

  test('the folders where packages put it are looked at as well', async () => {
    const path = await program('redis-server');
    expect(await byPathAnd([folder]).find(context({}, { PATH: '' }))).toMatchObject({ path });
  });
});

describe('with Docker', () => {
  test('no program and no daemon are told apart', async () => {
    expect(await byDocker.find(context())).toBe('docker is not installed');
    expect(await byDocker.find(context({ 'docker version': 1 }))).toBe('no Docker daemon answers');
  });

  test('an image that is there is taken without a pull', async () => {
    const found = context({ 'docker version': 0, 'docker image inspect': 0 }, { REDIS_IMAGE: 'local/redis:1' });
    expect(await byDocker.find(found)).toEqual({ kind: 'docker', image: 'local/redis:1' });
    expect(found.said).toEqual([]);
  });

  test('an image that is not there is pulled, which is said', async () => {
    const found = context({ 'docker version': 0, 'docker image inspect': 1, 'docker pull': 0 });
    expect(await byDocker.find(found)).toEqual({ kind: 'docker', image: 'redis:7-alpine' });
    expect(found.said).toEqual([expect.stringContaining('Pulling')]);
  });

  test('an image that cannot be had is no way', async () => {
    const found = context({ 'docker version': 0, 'docker image inspect': 1, 'docker pull': 1 });
    expect(await byDocker.find(found)).toBe('Docker cannot get the image redis:7-alpine');
  });
});

describe('from Debian’s package', () => {
  test('apt’s plan gives the package names', () => {
    const plan = [
      "'http://deb.debian.org/debian/pool/main/r/redis/redis-tools_7.0.15-1_amd64.deb' redis-tools_5%3a7.0.15-1_amd64.deb 991 MD5Sum:a",
      "'http://deb.debian.org/debian/pool/main/l/lib.deb' liblua5.1-0_5.1.5-9_amd64.deb 108 SHA256:b",
      'Reading package lists...',
    ].join('\n');
    expect(plannedPackages(plan)).toEqual(['redis-tools', 'liblua5.1-0']);
  });

  test('an installed server is left out of the status, so that apt plans it again', () => {
    const status = 'Package: libc6\nStatus: x\n\nPackage: redis-server\nStatus: x\n\nPackage: zlib1g\nStatus: x\n';
    expect(withoutServers(status)).toBe('Package: libc6\nStatus: x\n\nPackage: zlib1g\nStatus: x\n');
  });
});
