import type { PaddockLinks } from '#shared/session-api/paddock/links.js';
import type { DeliveryParts } from '../deliveries.ts';
import { createPaddockSource, type EventSource } from './paddock.ts';

/** The sources of events that this process listens to by itself: one for each chat server that is a Paddock. */
export function createSources(delivery: DeliveryParts, paddock: PaddockLinks): EventSource[] {
  return delivery.core.settings.chatServers.flatMap((server) => {
    const { driver, url, token } = server.sessionApi;
    if (driver !== 'paddock' || url === undefined) return [];
    return [createPaddockSource({ delivery, server, link: paddock.to(url, token) })];
  });
}
