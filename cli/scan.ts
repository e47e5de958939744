import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { isoTime, since } from './inspect/arguments.ts';
import { type Classified, classify } from './inspect/classify.ts';
import { type ChatFile, findChats } from './inspect/find-chats.ts';
import { DEFAULT_DEBOUNCE_MS, type Inspection, inspect } from './inspect/inspect.ts';
import { painterFor, printable } from './inspect/paint.ts';
import { print } from './inspect/print.ts';
import { createProgress } from './inspect/progress.ts';
import { tableOf } from './inspect/table.ts';

interface ScanOptions {
  json?: true;
  all?: true;
  since?: number;
  now?: number;
}

/** A chat that was looked at, as the table and the JSON lines show it. */
export interface ScannedChat extends Classified {
  file: string;
  project: string;
  sessionId: string;
  verdict: string;
  reason: string;
  tasks: { id: string; status: string; summary: string }[];
  /** The newest of the entries that decided, else the file's own time. */
  lastMs: number;
}

/** `chat-recovery scan [DIR…]`: every chat below a directory that hangs, ended in an error or is dead in another way. */
export function registerScan(program: Command): void {
  program
    .command('scan')
    .description('judge every chat below a directory and list those that hang or are dead in another way')
    .argument('[dirs...]', 'directories (default: projects in the Claude home)')
    .option('--json', 'print one JSON object a line')
    .option('--all', 'list healthy chats too')
    .option(
      '--since <time>',
      'only chats with something new since then (an ISO time, or 90m, 12h, 7d)',
      since(Date.now),
    )
    .option('--now <iso>', 'judge as of this time (default: the current time)', isoTime)
    .action(async (dirs: string[], options: ScanOptions) => {
      process.exitCode = await scan(dirs.length > 0 ? dirs : [defaultDirectory(process.env)], options);
    });
}

/** Where Claude Code keeps its chats, as the settings and Claude Code itself name it. */
const defaultDirectory = (env: NodeJS.ProcessEnv): string => {
  const home = env['CLAUDE_HOME'] || env['CLAUDE_CONFIG_DIR'] || join(homedir(), '.claude');
  return join(home, 'projects');
};

const scan = async (dirs: readonly string[], options: ScanOptions): Promise<number> => {
  for (const dir of dirs) {
    const trouble = await directoryTrouble(dir);
    if (trouble === undefined) continue;
    console.error(`chat-recovery: cannot scan ${printable(dir, 1_000)}: ${trouble}.`);
    return 2;
  }
  const nowMs = options.now ?? Date.now();
  const { chats, troubles } = await lookAtAll(dirs, nowMs, options);
  const shown = chats
    .filter(({ group }) => options.all === true || (group !== 'healthy' && group !== 'waiting'))
    .toSorted((a, b) => b.lastMs - a.lastMs);
  if (options.json === true) for (const chat of shown) print(JSON.stringify(asJson(chat, nowMs)));
  else print(tableOf(shown, { nowMs, looked: chats.length, paint: painterFor(process.stdout, process.env) }));
  for (const trouble of troubles) console.error(`passed over ${printable(trouble, 1_000)}`);
  return 0;
};

const directoryTrouble = async (dir: string): Promise<string | undefined> => {
  try {
    return (await stat(dir)).isDirectory() ? undefined : 'it is no directory';
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT'
      ? 'there is no such directory'
      : String(error);
  }
};

const lookAtAll = async (
  dirs: readonly string[],
  nowMs: number,
  options: ScanOptions,
): Promise<{ chats: ScannedChat[]; troubles: string[] }> => {
  const troubles: string[] = [];
  const files = await allFiles(dirs, options.since, (path, error) => troubles.push(`${path}: ${error.message}`));
  const progress = createProgress(process.stderr, files.length);
  const chats: ScannedChat[] = [];
  for (const file of files) {
    const inspection = await inspect(file.path, {
      sessionId: undefined,
      nowMs,
      debounceMs: DEFAULT_DEBOUNCE_MS,
      firstSeenMs: undefined,
      deliveredSeenMs: undefined,
      history: 'whole',
    });
    progress.step(basename(file.path));
    if (inspection.kind === 'unreadable') {
      troubles.push(`${file.path}: ${inspection.why}`);
      continue;
    }
    const chat = scannedChat(file, inspection, nowMs);
    if (options.since === undefined || chat.lastMs >= options.since) chats.push(chat);
  }
  progress.end();
  return { chats, troubles };
};

const allFiles = async (
  dirs: readonly string[],
  sinceMs: number | undefined,
  onTrouble: (path: string, error: Error) => void,
): Promise<ChatFile[]> => {
  const found = new Map<string, ChatFile>();
  for (const dir of dirs) {
    for await (const file of findChats(dir, onTrouble)) {
      if (sinceMs === undefined || file.mtimeMs >= sinceMs) found.set(file.path, file);
    }
  }
  return [...found.values()];
};

const scannedChat = (file: ChatFile, judged: Extract<Inspection, { kind: 'judged' }>, nowMs: number): ScannedChat => {
  const { judgement, sessionId } = judged;
  const stamps = judgement.evidence
    .map(({ timestamp }) => Date.parse(timestamp ?? ''))
    .filter((ms) => !Number.isNaN(ms));
  const lastMs = stamps.length > 0 ? Math.max(...stamps) : file.mtimeMs;
  return {
    ...classify(judged, nowMs - lastMs),
    file: file.path,
    project: file.project,
    sessionId,
    verdict: judgement.verdict,
    reason: judgement.reason,
    tasks: judgement.tasks.map(({ id, status, summary }) => ({ id, status, summary })),
    lastMs,
  };
};

const asJson = ({ lastMs, ...chat }: ScannedChat, nowMs: number): object => ({
  ...chat,
  lastAt: new Date(lastMs).toISOString(),
  ageMs: Math.max(0, Math.round(nowMs - lastMs)),
});
