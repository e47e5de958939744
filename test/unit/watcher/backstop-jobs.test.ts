import { describe, expect, it } from 'vitest';
import { createBackstopJobs } from '../../../services/watcher/backstop-jobs.ts';
import type { JobAdder } from '../../../services/watcher/ports.ts';

interface Added {
  jobId: string;
  dueMs: number;
}

/** A queue that takes everything, or fails as often as it is told. */
function queue() {
  const state = { added: [] as Added[], fail: 0 };
  const add: JobAdder['add'] = (name, _data, { jobId, dueMs }) => {
    expect(name).toBe('backstop');
    if (state.fail > 0) {
      state.fail -= 1;
      return Promise.reject(new Error('Redis is away'));
    }
    state.added.push({ jobId, dueMs });
    return Promise.resolve();
  };
  return Object.assign(state, { add });
}

function subject() {
  const adder = queue();
  const clock = { ms: 0 };
  return { adder, clock, jobs: createBackstopJobs(adder, () => clock.ms) };
}

describe('the jobs behind the steps', () => {
  it('steps of one second share a job, due after the last of them; the next second has its own', async () => {
    const { adder, jobs } = subject();
    await jobs.expect({ dueMs: 10_001, nowMs: 1 });
    await jobs.expect({ dueMs: 10_999, nowMs: 999 });
    expect(adder.added).toHaveLength(1);
    expect(adder.added[0]?.dueMs).toBe(14_000);
    await jobs.expect({ dueMs: 11_000, nowMs: 1_000 });
    expect(adder.added.map(({ dueMs }) => dueMs)).toEqual([14_000, 15_000]);
    expect(new Set(adder.added.map(({ jobId }) => jobId)).size).toBe(2);
  });

  it('a job that could not be added fails everybody who waited for it, and is tried again by the next', async () => {
    const { adder, jobs } = subject();
    adder.fail = 1;
    const step = { dueMs: 10_001, nowMs: 1 };
    const both = await Promise.allSettled([jobs.expect(step), jobs.expect(step)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await jobs.expect(step);
    expect(adder.added).toHaveLength(1);
  });

  it('repeats of deliveries long ago share the job of this second', async () => {
    const { adder, jobs } = subject();
    for (let n = 0; n < 100; n += 1) await jobs.expect({ dueMs: n * 1_000, nowMs: 200_000 });
    expect(adder.added.map(({ dueMs }) => dueMs)).toEqual([204_000]);
  });

  it('a clock that was put back finds no job that has run already', async () => {
    const { adder, clock, jobs } = subject();
    await jobs.expect({ dueMs: 10_001, nowMs: 1 });
    clock.ms = 14_000;
    await jobs.expect({ dueMs: 10_001, nowMs: 1 });
    expect(adder.added).toHaveLength(2);
  });

  it('after a new connection nothing is taken for added', async () => {
    const { adder, jobs } = subject();
    await jobs.expect({ dueMs: 10_001, nowMs: 1 });
    jobs.forget();
    await jobs.expect({ dueMs: 10_001, nowMs: 1 });
    expect(adder.added).toHaveLength(2);
  });
});
