import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import type { Queue } from 'bullmq';
import type { RequestHandler, Router } from 'express';
import { prefixOf } from '../base-path.ts';

export const BOARD_PATH = '/admin/queues';
/** Prefixes that a trusted proxy names; a board is made for each, and there is seldom more than one. */
const MAX_PREFIXES = 16;

/**
 * Bull Board over the queue, to be mounted at {@link BOARD_PATH}. Read-only unless `write`: jobs are looked at, not repeated.
 * A job that is repeated all the same meets every guard of the worker again.
 */
export function boardRoutes(queueNow: () => Queue, { write }: { write: boolean }): RequestHandler {
  let shown: Queue | undefined;
  const boards = new Map<string, Router>();
  return (req, res, next) => {
    const queue = queueNow();
    if (queue !== shown) boards.clear();
    shown = queue;
    const prefix = prefixOf(req);
    const board = boards.get(prefix) ?? createBoard(queue, `${prefix}${BOARD_PATH}`, write);
    if (boards.size < MAX_PREFIXES) boards.set(prefix, board);
    board(req, res, next);
  };
}

/** Its page names its own address, as the browser knows it. */
function createBoard(queue: Queue, basePath: string, write: boolean): Router {
  const serverAdapter = new ExpressAdapter();
  serverAdapter.setBasePath(basePath);
  createBullBoard({
    queues: [new BullMQAdapter(queue, { readOnlyMode: !write })],
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Chat recovery' } },
  });
  return serverAdapter.getRouter() as Router;
}
