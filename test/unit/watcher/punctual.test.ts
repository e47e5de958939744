import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { planBackstop, planEvaluation, planNotice } from '#shared/queue/plan.js';
import { punctual } from '../../../services/watcher/punctual.ts';

const work = { sessionId: 's', server: 'default', project: '', generation: 1, path: '/t/s.jsonl', cid: 'c' };
const at = { dueMs: 6_000, nowMs: 1_000 };
const notice = planNotice(work, { noticeId: 'n', nowMs: 1_000, noticeSeenMs: 1_000 }, 5_000);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a punctual queue', () => {
  const added: string[] = [];
  const queue = {
    add: (_name: string, _data: unknown, { jobId }: { jobId: string }) => Promise.resolve(added.push(jobId)),
  };
  let spoken = 0;
  const speak = (): Promise<unknown> => {
    spoken += 1;
    return Promise.reject(new Error('Redis is away'));
  };
  beforeEach(() => {
    added.length = 0;
    spoken = 0;
  });

  it('speaks to Redis just after a seen kill is due, and not before', async () => {
    const subject = punctual(queue, speak);
    await subject.add(notice.name, notice.data, notice.options);
    expect(added).toEqual([notice.options.jobId]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(spoken).toBe(0);
    await vi.advanceTimersByTimeAsync(10);
    expect(spoken).toBe(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('leaves every other job to the queue, and a kill that is due already', async () => {
    const subject = punctual(queue, speak);
    const backstop = planBackstop('j', at);
    const sweep = planEvaluation(work, 'sweep', 'n', at);
    await subject.add(backstop.name, backstop.data, backstop.options);
    await subject.add(sweep.name, sweep.data, sweep.options);
    await subject.add(notice.name, notice.data, { ...notice.options, dueMs: notice.options.nowMs });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('says nothing after its end', async () => {
    const subject = punctual(queue, speak);
    await subject.add(notice.name, notice.data, notice.options);
    subject.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
