import type { EffectiveSettings, RecoverySettings } from './recovery.ts';
import type { ChatServer } from './environment.ts';

/**
 * PLACEHOLDER interface that the settings room implements: recovery settings of every project, live.
 *
 * Reads the environment's and the instance file's recovery block and each project's `project.yaml` (lazily, cached), watches
 * both kinds of file, and tells when effective values change. Warnings go to the logger, once per distinct text.
 */
export interface SettingsService {
  /** Effective values for a project (an unknown project has the instance's). Never throws: bad values fall a level lower. */
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
  onChange(listener: (change: { serverId: string | undefined; slug: string | undefined }) => void): () => void;
  /** All warnings in force now, for `/readyz` details and `doctor`. */
  warnings(): string[];
  close(): Promise<void>;
}
