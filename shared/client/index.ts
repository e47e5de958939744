/**
 * `import { createLifecycleClient } from 'chat-recovery/client'`: a chat server's side of the webhooks. See `docs/client.md`.
 *
 * Node 20 or later; nothing else is loaded.
 */
export {
  createLifecycleClient,
  type LifecycleClient,
  type LifecycleClientOptions,
  type LifecycleReport,
} from './client.ts';
export type { BackgroundTask, Cause, LifecycleData, LifecycleEvent, LifecycleType } from './events.ts';
export { signedHeaders } from './signature.ts';
export type { WebhookTarget } from './target.ts';
