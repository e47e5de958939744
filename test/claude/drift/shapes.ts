import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

type Entry = Record<string, unknown> & { type?: string; attachment?: { type?: string } };

/** What an entry is called here: its type with operation, sub-type or attachment type. */
function nameOf(entry: Entry): string {
  const kind = entry['operation'] ?? entry['subtype'] ?? entry.attachment?.type;
  return typeof kind === 'string' ? `${String(entry.type)}/${kind}` : String(entry.type);
}

/** Names of entries with the fields seen in each. */
export type Shapes = Map<string, Set<string>>;

/** The shapes of one transcript; lines that do not parse are left out. */
export function shapesOf(path: string, shapes: Shapes = new Map()): Shapes {
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    let entry: Entry;
    try {
      entry = JSON.parse(line) as Entry;
    } catch {
      continue;
    }
    const name = nameOf(entry);
    const fields = shapes.get(name) ?? new Set<string>();
    for (const field of Object.keys(entry)) fields.add(field);
    shapes.set(name, fields);
  }
  return shapes;
}

/** Every shape in the recorded transcripts of all versions: what the detector was built on. */
export function knownShapes(folder: string): Shapes {
  const shapes: Shapes = new Map();
  for (const version of readdirSync(folder)) {
    for (const file of readdirSync(join(folder, version))) {
      if (file.endsWith('.jsonl')) shapesOf(join(folder, version, file), shapes);
    }
  }
  return shapes;
}

/** What is in `seen` and not in `known`, in words. */
export function newIn(seen: Shapes, known: Shapes): string[] {
  return [...seen].flatMap(([name, fields]) => {
    const before = known.get(name);
    if (before === undefined) return [`new entry: ${name} (${[...fields].join(', ')})`];
    const added = [...fields].filter((field) => !before.has(field));
    return added.length === 0 ? [] : [`new fields of ${name}: ${added.join(', ')}`];
  });
}
