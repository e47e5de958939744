import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { SETTINGS_CATALOGUE } from '#shared/settings/catalogue.js';

const root = new URL('../../../', import.meta.url);
const compose = z
  .object({
    'x-settings': z.record(z.string(), z.unknown()),
    services: z.record(z.string(), z.looseObject({})),
  })
  .parse(parse(readFileSync(new URL('docker-compose.yml', root), 'utf8'), { merge: true }));

const variables = SETTINGS_CATALOGUE.map(({ variable }) => variable);

test('compose passes every setting on, and none that there is not', () => {
  // WORKER_REPLICAS is how many workers compose itself starts.
  const expected = variables.filter((name) => name !== 'WORKER_REPLICAS');
  expect(Object.keys(compose['x-settings']).toSorted()).toEqual(expected.toSorted());
});

test('watcher and worker may only read the transcripts, and nobody is root', () => {
  for (const name of ['watcher', 'worker']) {
    expect(compose.services[name]).toMatchObject({
      user: '${RUN_AS:-1000:1000}',
      read_only: true,
      volumes: [expect.stringMatching(/:\/transcripts:ro$/)],
    });
  }
});

test('every service has a health check but the demo’s', () => {
  const without = Object.entries(compose.services).filter(([, service]) => service['healthcheck'] === undefined);
  expect(without.map(([name]) => name)).toEqual(['chat-server']);
});

test('no base image is fixed in the Dockerfile', () => {
  const froms = readFileSync(new URL('Dockerfile', root), 'utf8').match(/^FROM .*/gm);
  expect(froms?.every((line) => /^FROM \$\{\w+\}/.test(line))).toBe(true);
});
