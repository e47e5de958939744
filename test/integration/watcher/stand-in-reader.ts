import { readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { ReadOutcome } from '#shared/transcript/finding.js';
import type { TranscriptReader } from '../../../services/watcher/ports.ts';

export function standInReader(): TranscriptReader {
  return {
    async read(path) {
      let text: string;
      let mark;
      try {
        mark = await stat(path);
        text = await readFile(path, 'utf8');
      } catch {
        return { kind: 'missing' };
      }
      const all = text
        .split('\n')
        .filter((l) => l !== '')
        .map((l) => JSON.parse(l) as Record<string, any>);
      const kill = all.findLastIndex((e) => e['type'] === 'queue-operation');
      const reply = all.findLastIndex((e) => e['type'] === 'assistant');
      const id = kill < 0 ? '' : (/<task-id>(\w+)/.exec(String(all[kill]?.['content']))?.[1] ?? '');
      const facts = {
        evidence: [],
        answeredTaskIds: kill >= 0 && reply > kill ? [id] : [],
        nudgesSinceHuman: 0,
        lastHuman: undefined,
        observations: [],
      };
      const file = { size: mark.size, mtimeMs: mark.mtimeMs, ino: mark.ino };
      const finding =
        kill > reply
          ? {
              ...facts,
              kind: 'pending' as const,
              reason: 'killed-unanswered' as const,
              tasks: [{ id, status: 'killed', summary: 's', toolUseId: undefined, stamp: '' }],
              noticeId: `n-${id}`,
              noticeKey: `k-${id}`,
              wakeKey: undefined,
              noticeStampMs: undefined,
              wakeStampMs: undefined,
            }
          : {
              ...facts,
              kind: 'settled' as const,
              verdict: 'not-hung' as const,
              reason: kill >= 0 ? ('answered' as const) : ('no-notification' as const),
              tasks: [],
              noticeId: undefined,
              errorClass: undefined,
            };
      return { kind: 'read', finding, file, bytesRead: text.length, skippedLines: 0 } satisfies ReadOutcome;
    },
    async confine(server, theirs) {
      for (const root of server.transcriptRoots) {
        try {
          const real = await realpath(theirs);
          if (real.startsWith((await realpath(root.ours)) + sep)) return real;
        } catch {
          if (theirs.startsWith(root.ours + sep) && !theirs.includes('..')) return theirs;
        }
      }
      return undefined;
    },
    defaultPath: (server, cwd, sessionId) =>
      join(server.claudeHome, 'projects', cwd.replace(/[^a-zA-Z0-9]/g, '-'), `${sessionId}.jsonl`),
    locate: async () => undefined,
  };
}
