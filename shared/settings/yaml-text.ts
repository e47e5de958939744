import { parseDocument, type Document } from 'yaml';
import { isMap } from './precedence.ts';

/** YAML text that cannot be taken: where and why. */
export class YamlFault extends Error {
  /** 1-based. */
  readonly line: number;

  constructor(line: number, reason: string) {
    super(`line ${line}: ${reason}`);
    this.name = 'YamlFault';
    this.line = line;
  }
}

/** A settings file is a page of text; anything beyond this is not one. */
export const MAX_YAML_BYTES = 1_024 * 1_024;

/** A parsed text whose top is a map; an empty text is an empty one. */
export interface YamlMap {
  document: Document.Parsed;
  value: Record<string, unknown>;
}

/** Parses a YAML text whose top must be a map. Throws {@link YamlFault}. */
export function parseYamlMap(text: string): YamlMap {
  const document = parseDocument(text, { prettyErrors: true });
  const [error] = document.errors;
  if (error !== undefined) throw new YamlFault(error.linePos?.[0].line ?? 1, firstLine(error.message));
  const value = toValue(document);
  if (value === null || value === undefined) return { document, value: {} };
  if (!isMap(value)) throw new YamlFault(1, 'the file must be a map of settings');
  return { document, value };
}

function toValue(document: Document.Parsed): unknown {
  try {
    return document.toJS();
  } catch (error) {
    // Aliases without an anchor, and those that multiply without end.
    throw new YamlFault(1, firstLine(error instanceof Error ? error.message : String(error)));
  }
}

function firstLine(message: string): string {
  return (message.split('\n')[0] ?? message).replace(/ at line \d+, column \d+:?$/, '');
}
