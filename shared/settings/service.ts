import type { ChatServer, Environment, ProcessSettings } from './environment.ts';
import { createFileWatch } from './file-watch.ts';
import { createInstanceLevels } from './instance-levels.ts';
import { effectiveRecovery, type RecoveryLevels } from './precedence.ts';
import { createProjectCache } from './project-cache.ts';
import { createProjectWriter } from './project-writer.ts';
import type { EffectiveSettings, RecoverySettings } from './recovery.ts';

/**
 * Recovery settings of every project, live.
 *
 * Holds the environment's and the instance file's recovery block and each project's `project.yaml` (read when first asked for,
 * cached), watches both kinds of file, and tells when effective values change. Warnings go to the logger when they come up.
 */
export interface SettingsService {
  /**
   * Effective values for a project (an unknown project has the instance's). Never throws: bad values fall a level lower. What it
   * gives is shared: not to be changed.
   */
  effective(server: ChatServer, slug: string): Promise<EffectiveSettings>;
  /** The project's own block as it stands (valid fields only), and whether the project exists at all. */
  override(server: ChatServer, slug: string): Promise<{ exists: boolean; override: Partial<RecoverySettings> }>;
  /**
   * Merges valid fields into the project's block (null removes a field), atomically, comments and other keys kept.
   * Throws {@link Problem} 404 `project_unknown`, 422 `invalid_setting` (names the field), 409 `project_file_invalid`.
   */
  patch(server: ChatServer, slug: string, change: Record<string, unknown>): Promise<EffectiveSettings>;
  /** Removes the whole block. Same errors. */
  clear(server: ChatServer, slug: string): Promise<EffectiveSettings>;
  /** Called after any change on disk or through `patch`/`clear`; `slug` undefined: the instance's defaults changed. Returns its own remover. */
  onChange(listener: (change: SettingsChange) => void): () => void;
  /** All warnings in force now, for `/readyz` details and `doctor`. */
  warnings(): string[];
  close(): Promise<void>;
}

/** Whose effective values changed; both undefined: the instance's, so possibly everybody's. */
export interface SettingsChange {
  serverId: string | undefined;
  slug: string | undefined;
}

/** The part of a pino logger that is used here. */
export interface SettingsLogger {
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
}

export interface SettingsServiceParts {
  settings: ProcessSettings;
  env: Environment;
  logger: SettingsLogger;
  /** Warnings that were logged already, at start: `loadSettings(…).warnings`. */
  alreadyWarned?: readonly string[];
  /** A project's file is looked at again when it is asked for, at most this often: where file events do not arrive. 5 s. */
  statEveryMs?: number;
  /** And all of them this often without being asked. 30 s. */
  sweepEveryMs?: number;
}

/** Starts watching at once; `close` ends it. */
export function createSettingsService(parts: SettingsServiceParts): SettingsService {
  const { settings, env, logger, statEveryMs = 5_000, sweepEveryMs = 30_000 } = parts;
  const listeners = new Set<(change: SettingsChange) => void>();

  const warned = (before: readonly string[], after: readonly string[]): void => {
    for (const text of after) if (!before.includes(text)) logger.warn({ component: 'settings' }, text);
  };
  const changed = (serverId: string | undefined, slug: string | undefined): void => {
    logger.info({ component: 'settings', server: serverId, project: slug }, 'Recovery settings changed.');
    for (const listener of listeners) callSafely(listener, { serverId, slug }, logger);
  };
  let watchTrouble: string[] = [];
  const watch = createFileWatch((error) => {
    const next = [
      `Settings files cannot all be watched (${codeOf(error)}): changes are noticed within ${sweepEveryMs} ms`,
    ];
    warned(watchTrouble, next);
    watchTrouble = next;
  });

  const instance = createInstanceLevels(settings, env);
  warned(parts.alreadyWarned ?? [], instance.warnings());
  const reloadInstance = (): void => {
    if (settings.configFile !== undefined) watch.add(settings.configFile, reloadInstance);
    const before = instance.warnings();
    const isChanged = instance.reload();
    warned(before, instance.warnings());
    if (isChanged) changed(undefined, undefined);
  };
  if (settings.configFile !== undefined) watch.add(settings.configFile, reloadInstance);

  const projects = createProjectCache({ watch, statEveryMs, now: () => performance.now(), changed, warned });
  const writer = createProjectWriter();
  // The same levels have the same values; each turn end asks.
  const resolved = new WeakMap<object, { levels: RecoveryLevels; effective: EffectiveSettings }>();
  const resolve = (override: Partial<RecoverySettings>): EffectiveSettings => {
    const levels = instance.current();
    const known = resolved.get(override);
    if (known?.levels === levels) return known.effective;
    const effective = effectiveRecovery({ ...levels, project: override });
    resolved.set(override, { levels, effective });
    return effective;
  };

  let sweeping = Promise.resolve();
  const sweep = setInterval(() => {
    reloadInstance();
    sweeping = sweeping.then(() => projects.sweep());
  }, sweepEveryMs);

  return {
    effective: async (server, slug) => resolve((await projects.get(server, slug)).override),
    async override(server, slug) {
      const { exists, override } = await projects.get(server, slug);
      return { exists, override: { ...override } };
    },
    async patch(server, slug, change) {
      await projects.get(server, slug);
      await writer.patch(server, slug, change);
      return resolve((await projects.refresh(server, slug)).override);
    },
    async clear(server, slug) {
      await projects.get(server, slug);
      await writer.clear(server, slug);
      return resolve((await projects.refresh(server, slug)).override);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    warnings: () => [...new Set([...instance.warnings(), ...projects.warnings(), ...watchTrouble])],
    async close() {
      clearInterval(sweep);
      listeners.clear();
      await watch.close();
      await sweeping;
    },
  };
}

/** A listener that throws must not keep the others from hearing. */
function callSafely(listener: (change: SettingsChange) => void, change: SettingsChange, logger: SettingsLogger): void {
  try {
    listener(change);
  } catch (error) {
    logger.warn({ component: 'settings', err: error }, 'A listener for settings failed.');
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
