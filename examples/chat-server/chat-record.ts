import { join } from 'node:path';
import { z } from 'zod';
import { CLOSE_REASONS } from '../../shared/session/events.ts';
import { readAllJson, writeWhole } from './files.ts';

const recordSchema = z.object({
  sessionId: z.string(),
  project: z.string(),
  cwd: z.string(),
  transcriptPath: z.string(),
  script: z.string().optional(),
  timings: z.record(z.string(), z.number()),
  /** The runtime has had a turn of it: opening it again means to resume. */
  hadTurn: z.boolean(),
  /** Turns under way; one that is still here at start was cut by a crash. */
  turns: z.array(z.object({ turnId: z.string(), cause: z.enum(['human', 'recovery', 'wake', 'queue', 'schedule']) })),
  waiting: z.boolean(),
  queued: z.object({ text: z.string(), hold: z.boolean() }).optional(),
  closed: z.enum(CLOSE_REASONS).optional(),
});

/** What is known of a chat beside its transcript; outlives the process. */
export type ChatRecord = z.infer<typeof recordSchema>;
export type CloseReason = (typeof CLOSE_REASONS)[number];

/** One small file for each chat. */
export class ChatRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  load(): ChatRecord[] {
    return readAllJson(this.#folder).flatMap(({ value }) => {
      const record = recordSchema.safeParse(value);
      return record.success ? [record.data] : [];
    });
  }

  save(record: ChatRecord): void {
    writeWhole(join(this.#folder, `${record.sessionId}.json`), JSON.stringify(record));
  }
}
