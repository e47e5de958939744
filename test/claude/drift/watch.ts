import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Judgement, ReadOutcome } from '#shared/transcript/finding.js';
import { judge } from '#shared/transcript/signature.js';
import { localFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import { startFakeMessagesApi } from '../../support/fake-messages-api.ts';
import { installClaude, type InstalledClaude } from './install.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { knownShapes, newIn, shapesOf, type Shapes } from './shapes.ts';

const FIXTURES = fileURLToPath(new URL('../../fixtures/transcripts/', import.meta.url));
const TEN_MINUTES_MS = 600_000;

interface Played {
  scenario: Scenario;
  told: string;
  wrong: boolean;
}

/**
 * Records the main scenarios with one version of Claude Code and holds verdicts and entry shapes against what the detector
 * knows. Prints a line for each and what is new; resolves to true where every verdict is right.
 */
export async function watchDrift(wanted: string): Promise<boolean> {
  const claude = installClaude(wanted);
  console.log(`Claude Code ${claude.version}, against a fake model API.\n`);
  const seen: Shapes = new Map();
  const played: Played[] = [];
  for (const scenario of SCENARIOS) {
    const result = await play(claude, scenario, seen);
    played.push(result);
    console.log(`${result.wrong ? '✗' : '✓'} ${scenario.name.padEnd(20)} ${result.told}`);
  }
  const news = newIn(seen, knownShapes(FIXTURES));
  console.log(
    news.length === 0
      ? '\nNo entry or field that the recordings do not have.'
      : `\nNew in this version:\n  ${news.join('\n  ')}`,
  );
  return played.every(({ wrong }) => !wrong);
}

async function play(claude: InstalledClaude, scenario: Scenario, seen: Shapes): Promise<Played> {
  const dir = mkdtempSync(join(tmpdir(), 'claude-drift-'));
  const model = await startFakeMessagesApi(scenario.rules ?? []);
  try {
    const session = await scenario.play(claude, { dir, modelUrl: model.url });
    const path = session.transcript();
    if (path === undefined) return { scenario, told: 'no transcript was written', wrong: true };
    shapesOf(path, seen);
    return { scenario, ...(await verdictOf(path, session.sessionId, scenario)) };
  } catch (error) {
    return {
      scenario,
      told: `could not be played: ${error instanceof Error ? error.message : String(error)}`,
      wrong: true,
    };
  } finally {
    await model.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

async function verdictOf(
  path: string,
  sessionId: string,
  { expected }: Scenario,
): Promise<{ told: string; wrong: boolean }> {
  const read = await readFinding(localFiles, path, {
    sessionId,
    answeredTaskIds: new Set(),
    senderLabels: [],
    scanLimitBytes: 64 * 1024 * 1024,
  });
  if (read.kind !== 'read') return { told: `not read: ${read.kind}`, wrong: true };
  const { verdict, reason } = tenMinutesLater(read);
  const invisible = expected === 'hung' && reason === 'no-notification';
  const told = `${verdict} (${reason})${invisible ? ': this version writes nothing about the kill' : ''}`;
  return { told, wrong: verdict !== expected && !invisible };
}

function tenMinutesLater({ finding }: Extract<ReadOutcome, { kind: 'read' }>): Judgement {
  const nowMs = Date.now() + TEN_MINUTES_MS;
  const seenMs = Date.now();
  return judge(finding, { nowMs, noticeSeenMs: seenMs, wakeSeenMs: seenMs, debounceMs: 5_000, wakeGraceMs: 30_000 });
}
