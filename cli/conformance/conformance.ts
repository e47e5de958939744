import { chatServerApi } from './api.ts';
import { runChecks, type Check, type CheckResult } from './check.ts';
import { KEY_CHECKS } from './checks/keys.ts';
import { MESSAGE_CHECKS } from './checks/messages.ts';
import { STATE_CHECKS } from './checks/state.ts';
import { TRANSCRIPT_CHECKS } from './checks/transcript.ts';
import { WEBHOOK_CHECKS } from './checks/webhooks.ts';
import { stageAt, stageOf } from './stage.ts';
import type { WebhookEar } from './webhook-ear.ts';

export const CHECKS: readonly Check[] = [
  ...STATE_CHECKS,
  ...MESSAGE_CHECKS,
  ...KEY_CHECKS,
  ...TRANSCRIPT_CHECKS,
  ...WEBHOOK_CHECKS,
];

export interface ConformanceOptions {
  /** Base address of the session API. */
  url: string;
  token?: string | undefined;
  /** How sessions get into states: a URL of the server's own for tests, or one session that may be spoken to. */
  setup: { url: string } | { session: string };
  webhooks?: WebhookEar | undefined;
  /** Only checks whose id begins with one of these. */
  only?: readonly string[] | undefined;
  /** How long a turn, its end or a webhook is waited for. */
  waitMs?: number;
}

/** Runs the session API's contract against a chat server, and says of each point whether it is kept. */
export function checkConformance(options: ConformanceOptions): Promise<CheckResult[]> {
  const { url, token, setup, webhooks, only, waitMs = 10_000 } = options;
  const api = chatServerApi(url, token, waitMs);
  const stage = 'url' in setup ? stageAt(setup.url, token, api, waitMs) : stageOf(setup.session, api, waitMs);
  const checks = only === undefined ? CHECKS : CHECKS.filter(({ id }) => only.some((start) => id.startsWith(start)));
  return runChecks(checks, { api, stage, webhooks, hasToken: token !== undefined, waitMs });
}
