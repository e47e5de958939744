import type { ProcessSettings } from '#shared/settings/environment.js';
import type { TranscriptSource } from '#shared/transcript/finding.js';
import { confinedFiles } from '#shared/transcript/source.js';
import { createRangeClient, type RangeClient } from './range-client.ts';
import { remoteTranscript } from './remote-source.ts';

/** Where each session's transcript is read, as `TRANSCRIPT_SOURCE` says. */
export interface TranscriptSources {
  /** Files, or the session API of the session's chat server where it has one. */
  of(work: { server: string; sessionId: string }): TranscriptSource;
  /** Whether the file itself is here, so that it may be looked for under the roots. */
  isLocal(server: string): boolean;
  close(): Promise<void>;
}

export function createTranscriptSources(
  settings: Pick<ProcessSettings, 'chatServers' | 'transcriptSource' | 'sessionApiTimeoutMs'>,
): TranscriptSources {
  const clients = new Map<string, RangeClient>();
  for (const { id, sessionApi } of settings.chatServers) {
    const { driver, url, token } = sessionApi;
    if (settings.transcriptSource !== 'http' || driver !== 'http' || url === undefined) continue;
    clients.set(id, createRangeClient({ url, token, timeoutMs: settings.sessionApiTimeoutMs }));
  }
  return {
    of({ server, sessionId }) {
      const client = clients.get(server);
      return client === undefined ? confinedFiles : remoteTranscript(client, sessionId);
    },
    isLocal: (server) => !clients.has(server),
    async close() {
      await Promise.all([...clients.values()].map((client) => client.close()));
    },
  };
}
