import { glance } from '#shared/transcript/glance.js';
import { confineOrRefuse, defaultPath, locate } from '#shared/transcript/locate.js';
import { confinedFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import type { TranscriptReader } from './ports.ts';

/** Transcripts as local files. */
export function localReader(): TranscriptReader {
  return {
    read: (path, context) => readFinding(confinedFiles, path, context),
    glance: (path, since) => glance(confinedFiles, path, since),
    confine: (server, theirs, known) => confineOrRefuse(theirs, server.transcriptRoots, known),
    defaultPath: (server, cwd, sessionId) => defaultPath(server.claudeHome, cwd, sessionId),
    locate: (server, sessionId) => locate(sessionId, server.transcriptRoots),
  };
}
