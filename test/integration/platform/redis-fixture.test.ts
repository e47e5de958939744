import { describe, expect, test } from '../../support/redis.ts';

describe('the Redis fixture', () => {
  const tags: string[] = [];

  test('gives each test a namespace of its own', async ({ redis }) => {
    tags.push(redis.tag);
    await redis.client.set(`x:{${redis.tag}}:y`, '1');
    expect(await redis.client.get(`x:{${redis.tag}}:y`)).toBe('1');
  });

  test('and removes what the test before it wrote', async ({ redis }) => {
    expect(redis.tag).not.toBe(tags[0]);
    expect(await redis.client.get(`x:{${tags[0]}}:y`)).toBeNull();
  });
});
