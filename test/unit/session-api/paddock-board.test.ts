import { describe, expect, test } from 'vitest';
import { PaddockBoard } from '#shared/session-api/paddock/board.js';
import { parseFrame, type ServerFrame } from '#shared/session-api/paddock/frames.js';

const about = { projectSlug: 'p', sessionId: 's' };
const active = (jobId: string, running: boolean, turnRunning?: boolean): ServerFrame => ({
  type: 'chat:active',
  payload: { ...about, jobId, running, ...(turnRunning === undefined ? {} : { turnRunning }) },
});
const complete = (jobId: string, success = true): ServerFrame => ({
  type: 'chat:complete',
  payload: { ...about, jobId, success },
});
const kinds = (board: PaddockBoard, frame: ServerFrame) =>
  board.apply(frame).map(({ kind, session }) => `${kind} ${session.jobId ?? ''}`);

describe('what Paddock’s frames tell', () => {
  test('a turn is told once at its start and once at its end, in whatever order the two frames come', () => {
    for (const ends of [
      [complete('1'), active('1', false, false)],
      [active('1', false, false), complete('1')],
    ]) {
      const board = new PaddockBoard();
      const told = [active('1', true, true), active('1', true, true), ...ends].flatMap((frame) => kinds(board, frame));
      expect(told).toEqual(['started 1', 'ended 1']);
    }
  });

  test('a failed turn is told as failed', () => {
    const board = new PaddockBoard();
    board.apply(active('1', true, true));
    expect(board.apply(complete('1', false))).toMatchObject([{ kind: 'ended', failed: true }]);
  });

  test('a turn that follows another without an end in between ends it', () => {
    const board = new PaddockBoard();
    board.apply(active('1', true, true));
    expect(kinds(board, active('2', true, true))).toEqual(['ended 1', 'started 2']);
  });

  test('an old server’s background work is no turn once its turn is complete', () => {
    const board = new PaddockBoard();
    const told = [active('1', true), complete('1'), active('1', true), active('1', false), active('2', true)];
    expect(told.flatMap((frame) => kinds(board, frame))).toEqual(['started 1', 'ended 1', 'started 2']);
  });

  test('after a reconnect turns that go on are not told again, and those that are gone have ended', () => {
    const board = new PaddockBoard();
    board.apply(active('1', true, true));
    board.begin();
    expect(kinds(board, active('1', true, true))).toEqual([]);
    expect(board.synced()).toEqual([]);
    board.begin();
    expect(board.synced()).toMatchObject([{ kind: 'ended', session: { jobId: '1' } }]);
    expect(board.get('s')).toBeUndefined();
  });

  test('chats at rest are forgotten when there are many, running ones never', () => {
    const board = new PaddockBoard();
    board.apply(active('1', true, true));
    for (let index = 0; index < 5_100; index += 1) {
      board.apply({ type: 'chat:queued_state', payload: { projectSlug: 'p', sessionId: `r${index}`, text: null } });
    }
    expect(board.get('s')).toMatchObject({ running: true });
    expect(board.get('r0')).toBeUndefined();
    expect(board.get('r5099')).toBeDefined();
  });

  test('unknown and broken frames say nothing', () => {
    for (const text of ['', '[]', '{"type":"chat:token","payload":{}}', '{"type":"chat:active","payload":{}}', 7]) {
      expect(parseFrame(text)).toBeUndefined();
    }
    expect(parseFrame('{"type":"pong","extra":1}')).toEqual({ type: 'pong' });
  });
});
