import { describe, expect, test } from 'vitest';
import { isTerminated, parseNotifications } from '#shared/transcript/notification.js';

const one = (children: string): ReturnType<typeof parseNotifications>[number] | undefined =>
  parseNotifications(`<task-notification>${children}</task-notification>`)[0];

describe('a notification’s payload', () => {
  test('children by name, trimmed, in any case and order', () => {
    const padded = one('\n<SUMMARY> it ended </SUMMARY>\n<Status>\n Killed </status >\n<task-id> b1 </task-id>');
    expect(padded).toEqual({ taskId: 'b1', toolUseId: undefined, status: 'killed', summary: 'it ended' });
  });

  test('every block, also where the first was cut off', () => {
    const blocks = parseNotifications(
      '<task-notification><task-id>a</task-id><status>completed</status></task-notification> and\n' +
        '<task-notification><task-id>b</task-id><task-notification><task-id>c</task-id><status>stopped</status>',
    );
    expect(blocks.map(({ taskId, status }) => [taskId, status])).toEqual([
      ['a', 'completed'],
      ['b', undefined],
      ['c', 'stopped'],
    ]);
  });

  test('what a child’s text says is text, however much it looks like a child', () => {
    const block = one(
      '<task-id>b1</task-id><summary>ran "<status>killed</status>"</summary><status>completed</status>',
    );
    expect(block?.status).toBe('completed');
    const event = one('<task-id>m1</task-id><event>it was <status>killed</status></event>');
    expect(event?.status).toBeUndefined();
  });

  test('of two children with one name the first counts; an unclosed one has no content', () => {
    expect(one('<status>completed</status><status>killed</status>')?.status).toBe('completed');
    expect(one('<summary>open <status>killed</status>')).toMatchObject({ status: 'killed', summary: '' });
  });

  test('odd brackets and attributes', () => {
    expect(one('< <<x <status kind="s">killed</status> <task-id></task-id>')).toMatchObject({
      status: 'killed',
      taskId: undefined,
    });
    expect(
      parseNotifications('<task-notification version="2"><status>killed</status></task-notification>'),
    ).toHaveLength(1);
    expect(parseNotifications('nothing here')).toEqual([]);
  });

  test('a payload of a million brackets is read in no time', () => {
    const start = performance.now();
    for (const piece of ['<a>', '<', '<a', '</task-notification><task-notification>', '<task-notification>']) {
      parseNotifications(`<task-notification>${piece.repeat(1_000_000)}`);
    }
    expect(performance.now() - start).toBeLessThan(3_000);
  });

  test('terminated is killed or stopped, nothing else', () => {
    const statuses = ['killed', 'stopped', 'completed', 'failed', 'timed out', ''];
    const terminated = statuses.filter((status) =>
      isTerminated({ taskId: 'x', toolUseId: undefined, status, summary: '' }),
    );
    expect(terminated).toEqual(['killed', 'stopped']);
    expect(isTerminated({ taskId: 'x', toolUseId: undefined, status: undefined, summary: '' })).toBe(false);
  });
});
