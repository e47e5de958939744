import { readFileSync, statSync } from 'node:fs';
import { MAX_YAML_BYTES, parseYamlMap, YamlFault } from './yaml-text.ts';

/** The instance file cannot be used. The message names the file, and the line where there is one. */
export class InstanceFileError extends Error {
  override readonly name = 'InstanceFileError';
}

/**
 * Reads the YAML instance file. Reading it is synchronous on purpose: it happens at start, before anything else runs, and
 * after an edit, once. Throws {@link InstanceFileError}.
 */
export function readInstanceFile(path: string): Record<string, unknown> {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) throw new InstanceFileError(`${path} is not a file`);
    if (stats.size > MAX_YAML_BYTES) throw new InstanceFileError(`${path} is larger than ${MAX_YAML_BYTES} bytes`);
    return parseYamlMap(readFileSync(path, 'utf8')).value;
  } catch (error) {
    if (error instanceof InstanceFileError) throw error;
    if (error instanceof YamlFault) throw new InstanceFileError(`${path}, ${error.message}`, { cause: error });
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new InstanceFileError(`${path} cannot be read: ${code}`, { cause: error });
  }
}
