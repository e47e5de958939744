import type { ChatServerApi } from './api.ts';
import type { Stage } from './stage.ts';
import type { WebhookEar } from './webhook-ear.ts';

/** One thing that the contract asks, and what comes of breaking it. */
export interface Check {
  /** Stable name, for scripts. */
  id: string;
  /** What is kept, as a sentence. */
  title: string;
  /** What happens to chats where it is not kept. */
  consequence: string;
  /** Resolves where it is kept; throws {@link Broken}, or {@link NotChecked}. */
  run(kit: Kit): Promise<void>;
}

/** What checks work with. */
export interface Kit {
  api: ChatServerApi;
  stage: Stage;
  webhooks: WebhookEar | undefined;
  hasToken: boolean;
  /** How long a turn, its end or a webhook is waited for. */
  waitMs: number;
}

export interface CheckResult {
  id: string;
  title: string;
  consequence: string;
  verdict: 'kept' | 'broken' | 'not-checked';
  /** What was seen instead, or why it was not checked. */
  detail?: string;
}

/** The contract is broken: says what was seen. */
export class Broken extends Error {}

/** It could not be seen, and why. */
export class NotChecked extends Error {}

export function demand(holds: boolean, seen: string): asserts holds {
  if (!holds) throw new Broken(seen);
}

/** Runs checks one after the other; what a server does to one must not spoil the next. */
export async function runChecks(checks: readonly Check[], kit: Kit): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of checks) results.push(await runOne(check, kit));
  return results;
}

async function runOne(check: Check, kit: Kit): Promise<CheckResult> {
  const { id, title, consequence } = check;
  const about = { id, title, consequence };
  try {
    await check.run(kit);
    return { ...about, verdict: 'kept' };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { ...about, verdict: error instanceof NotChecked ? 'not-checked' : 'broken', detail };
  }
}
