import { Queue } from 'bullmq';
import express from 'express';
import { lifecycleEventSchema } from '#shared/session/events.js';
import { answer } from '../kit/stand-in.ts';

/** What a webhook receiver costs at least: Express 5, a zod schema, one delayed job. */
const DELAY_MS = 3_600_000;
const app = express();
let queue: Queue | undefined;

app.use(express.json({ limit: '256kb' }));
app.post('/v1/events', async (req, res) => {
  const event = lifecycleEventSchema.parse(req.body);
  await queue?.add('evaluate', event.data, { delay: DELAY_MS });
  res.status(202).json({ armed: true });
});

answer((question: { redisPort: number; port: number }) => {
  queue = new Queue('bare', { connection: { port: question.redisPort, host: '127.0.0.1' } });
  return new Promise<void>((resolve) => app.listen(question.port, '127.0.0.1', () => resolve()));
});
