import type { Environment } from './precedence.ts';
import type { StartProblem } from './start-rules.ts';

/** A parsed YAML value with every `${VARIABLE}` in its texts replaced. */
export interface Expanded<T> {
  value: T;
  /** Variables that were referred to. */
  used: Set<string>;
  /** References to variables that are not set. */
  problems: StartProblem[];
}

/** Replaces `${VARIABLE}` in every text of `value`, which keeps its shape. `at` names the value in problems, as a JSON path. */
export function expandReferences<T>(value: T, env: Environment, at: string): Expanded<T>;
export function expandReferences(value: unknown, env: Environment, at: string): Expanded<unknown> {
  const used = new Set<string>();
  const problems: StartProblem[] = [];
  const expandText = (text: string, field: string): string =>
    text.replaceAll(/\$\{(\w+)\}/g, (reference, name: string) => {
      used.add(name);
      const found = env[name];
      if (found === undefined || found.trim() === '') {
        problems.push({ field, message: `refers to ${reference}, which is not set` });
        return reference;
      }
      return found;
    });
  const walk = (node: unknown, field: string): unknown => {
    if (typeof node === 'string') return expandText(node, field);
    if (Array.isArray(node)) return node.map((item, index) => walk(item, `${field}[${index}]`));
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, walk(item, `${field}.${key}`)]));
  };
  return { value: walk(value, at), used, problems };
}
