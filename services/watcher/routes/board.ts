import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import type { Queue } from 'bullmq';
import type { Router } from 'express';

export const BOARD_PATH = '/admin/queues';

/** Bull Board over the queue, read-only: a job is looked at here, never repeated. To be mounted at {@link BOARD_PATH}. */
export function boardRoutes(queue: Queue): Router {
  const serverAdapter = new ExpressAdapter();
  serverAdapter.setBasePath(BOARD_PATH);
  createBullBoard({
    queues: [new BullMQAdapter(queue, { readOnlyMode: true })],
    serverAdapter,
    options: { uiConfig: { boardTitle: 'Chat recovery' } },
  });
  return serverAdapter.getRouter() as Router;
}
