import { open } from 'node:fs/promises';
import { answer, tell } from '../kit/stand-in.ts';

/**
 * In the place of an engine that polls in the chat server's own process: after each turn's end it looks at the file each
 * 750 ms, for the debounce and 12 s more, and nudges a chat whose notice has stood for the debounce. `forever`: it never
 * ends by itself.
 */

const POLL_MS = 750;
const AFTER_MS = 12_000;
/** It reads this much of the end and parses each line of it: so that a poll costs what it costs the engine (80 to 90 µs). */
const TAIL_BYTES = 24_000;

interface Setup {
  debounceMs: number;
  forever: boolean;
}
type Question = Setup | { watch: string; path: string } | { report: true };

let setup: Setup = { debounceMs: 5_000, forever: false };
let polls = 0;

interface Entry {
  type?: string;
  operation?: string;
  content?: unknown;
}

/** Whether the newest entry that counts is a killed task's notice. */
async function hangs(path: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const length = Math.min(TAIL_BYTES, size);
    const { buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, size - length);
    const lines = buffer
      .toString('utf8')
      .split('\n')
      .slice(length < size ? 1 : 0, -1);
    const entries = lines.map((line) => JSON.parse(line) as Entry);
    const newest = entries.findLast(
      ({ type }) => type === 'user' || type === 'assistant' || type === 'queue-operation',
    );
    return newest?.operation === 'enqueue' && String(newest.content).includes('<status>killed</status>');
  } finally {
    await file.close();
  }
}

function watch(id: string, path: string): void {
  const startMs = performance.now();
  let seenMs: number | undefined;
  const poll = async (): Promise<void> => {
    polls += 1;
    const isHung = await hangs(path);
    const nowMs = performance.now();
    seenMs = isHung ? (seenMs ?? nowMs) : undefined;
    if (seenMs !== undefined && nowMs - seenMs >= setup.debounceMs) return tell({ nudge: id, atMs: Date.now() });
    if (!setup.forever && nowMs - startMs > setup.debounceMs + AFTER_MS) return undefined;
    setTimeout(() => void poll(), POLL_MS);
    return undefined;
  };
  setTimeout(() => void poll(), POLL_MS);
}

answer((question: Question) => {
  if ('debounceMs' in question) setup = question;
  else if ('watch' in question) watch(question.watch, question.path);
  else {
    const { user, system } = process.cpuUsage();
    return { polls, cpuMs: (user + system) / 1_000 };
  }
  return undefined;
});
