/**
 * A JSON Schema in words that a programmer reads at once, close to TypeScript. Pure.
 *
 * @typedef {{
 *   $ref?: string, type?: string | string[], description?: string, enum?: unknown[], const?: unknown, format?: string,
 *   properties?: Record<string, Schema>, required?: string[], items?: Schema, additionalProperties?: boolean | Schema,
 *   anyOf?: Schema[], oneOf?: Schema[], allOf?: Schema[], default?: unknown, pattern?: string,
 * }} Schema
 */

const DEEPEST = 6;

/**
 * @param {Schema | undefined} schema
 * @param {Record<string, Schema>} named `components.schemas`
 * @param {number} [depth]
 * @returns {string}
 */
export function written(schema, named, depth = 0) {
  if (schema === undefined) return 'anything';
  if (depth > DEEPEST) return '…';
  if (schema.$ref !== undefined) return written(named[schema.$ref.split('/').at(-1) ?? ''], named, depth);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) return [...new Set(either.map((each) => written(each, named, depth)))].join(' | ');
  if (schema.allOf !== undefined) return schema.allOf.map((each) => written(each, named, depth)).join(' & ');
  if (schema.items !== undefined) return listOf(written(schema.items, named, depth));
  if (schema.properties !== undefined) return objectOf(schema, named, depth);
  if (typeof schema.additionalProperties === 'object') {
    return `{ [name]: ${written(schema.additionalProperties, named, depth + 1)} }`;
  }
  const type = Array.isArray(schema.type) ? schema.type.join(' | ') : (schema.type ?? 'anything');
  return schema.format === undefined ? type : `${type} (${schema.format})`;
}

/** @param {string} item */
const listOf = (item) => (item.includes(' | ') && !item.startsWith('{') ? `(${item})[]` : `${item}[]`);

/**
 * @param {Schema} schema
 * @param {Record<string, Schema>} named
 * @param {number} depth
 */
function objectOf({ properties = {}, required = [] }, named, depth) {
  const indent = '  '.repeat(depth + 1);
  const lines = Object.entries(properties).map(([name, each]) => {
    const optional = required.includes(name) ? '' : '?';
    const words = each.description === undefined ? '' : `  // ${each.description}`;
    return `${indent}${name}${optional}: ${written(each, named, depth + 1)}${words}`;
  });
  return `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`;
}
