import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadSettings, type ChatServer } from '#shared/settings/environment.js';
import { createSettingsService, type SettingsChange, type SettingsService } from '#shared/settings/service.js';

const CHANGE_WITHIN_MS = 10_000;

/** A real settings service over real files in a folder of its own. */
export interface SettingsBench {
  folder: string;
  projectsDir: string;
  /** Path of a project's file; `''` is the root workspace. */
  projectFile: (slug: string) => string;
  /** Writes a file (in place), and its folder where it is missing. */
  write: (path: string, text: string) => void;
  service: SettingsService;
  server: ChatServer;
  /** Every change that was told so far. */
  changes: SettingsChange[];
  /** Every warning that was logged so far. */
  logged: string[];
  /** Does something, and waits until `count` changes more than before were told. */
  changeAfter: (act: () => void | Promise<unknown>, count?: number) => Promise<SettingsChange | undefined>;
  /** Does something, and waits until a warning that matches is logged. */
  warningAfter: (act: () => void, pattern: RegExp) => Promise<string>;
  close: () => Promise<void>;
}

export interface BenchOptions {
  /** Text of the instance file; without one there is none. */
  instance?: string;
  env?: Record<string, string>;
  /** Project files that are there before the start, by slug. */
  projects?: Record<string, string>;
  statEveryMs?: number;
  sweepEveryMs?: number;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Sets up files and service. The caller closes it. */
export function settingsBench(options: BenchOptions = {}): SettingsBench {
  const folder = mkdtempSync(join(tmpdir(), 'settings-'));
  const projectsDir = join(folder, 'projects');
  mkdirSync(projectsDir);
  const projectFile = (slug: string): string => join(projectsDir, slug, 'project.yaml');
  for (const [slug, text] of Object.entries(options.projects ?? {})) write(projectFile(slug), text);
  const env: Record<string, string> = { HOME: folder, PROJECTS_DIR: projectsDir, ...options.env };
  if (options.instance !== undefined) {
    env['CHAT_RECOVERY_CONFIG'] = join(folder, 'instance.yaml');
    write(env['CHAT_RECOVERY_CONFIG'], options.instance);
  }

  const logged: string[] = [];
  const changes: SettingsChange[] = [];
  const waiting = new Set<() => void>();
  const happened = (): void => waiting.forEach((check) => check());
  const { settings, warnings } = loadSettings(env);
  const service = createSettingsService({
    settings,
    env,
    logger: {
      warn(_fields, message) {
        logged.push(message);
        happened();
      },
      info: () => undefined,
    },
    alreadyWarned: warnings,
    // Long: what a test sees came by file events unless it asks for the other ways.
    statEveryMs: options.statEveryMs ?? 600_000,
    sweepEveryMs: options.sweepEveryMs ?? 600_000,
  });
  service.onChange((change) => {
    changes.push(change);
    happened();
  });
  const [server] = settings.chatServers;
  if (server === undefined) throw new Error('no chat server');

  const until = <T>(what: string, look: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(check);
        reject(
          new Error(`${what} did not come; changes ${JSON.stringify(changes)}, warnings ${JSON.stringify(logged)}`),
        );
      }, CHANGE_WITHIN_MS);
      const check = (): void => {
        const found = look();
        if (found === undefined) return;
        clearTimeout(timer);
        waiting.delete(check);
        resolve(found);
      };
      waiting.add(check);
      check();
    });

  return {
    folder,
    projectsDir,
    projectFile,
    write,
    service,
    server,
    changes,
    logged,
    async changeAfter(act, count = 1) {
      const wanted = changes.length + count;
      await act();
      return until('a change', () => (changes.length >= wanted ? changes[wanted - 1] : undefined));
    },
    warningAfter(act, pattern) {
      const from = logged.length;
      act();
      return until(`a warning like ${String(pattern)}`, () => logged.slice(from).find((text) => pattern.test(text)));
    },
    async close() {
      await service.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
