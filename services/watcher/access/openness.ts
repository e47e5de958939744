import type { ProcessSettings } from '#shared/settings/environment.js';

/** Shorter ones can be guessed in spite of the limits. */
const SHORTEST = 16;

/** What stands open, in sentences for the log and `/readyz`. (Any other address than loopback refuses to start so.) */
export function openness({ adminToken, chatServers }: Pick<ProcessSettings, 'adminToken' | 'chatServers'>): string[] {
  const unsigned = chatServers.filter(({ webhookSecrets }) => webhookSecrets.length === 0).map(({ id }) => id);
  return [
    ...(adminToken === undefined
      ? ['Open: without ADMIN_TOKEN everybody on this machine is the operator. Right for a demo only.']
      : []),
    ...(adminToken !== undefined && adminToken.length < SHORTEST
      ? [`ADMIN_TOKEN has fewer than ${SHORTEST} characters: take a longer one, it can be guessed.`]
      : []),
    ...(unsigned.length > 0
      ? [`Open: deliveries of ${unsigned.join(', ')} are not signed. Right for a demo only; set WEBHOOK_SECRETS.`]
      : []),
  ];
}
