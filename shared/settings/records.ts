/**
 * Objects whose keys come from a schema. The one place in this room where a type is taken on trust: the caller vouches that
 * `valueOf` gives each key a value of its type.
 */
export function recordFrom<R extends object>(keys: Iterable<keyof R>, valueOf: (key: keyof R) => unknown): R;
export function recordFrom(keys: Iterable<PropertyKey>, valueOf: (key: PropertyKey) => unknown): object {
  return Object.fromEntries(Array.from(keys, (key) => [key, valueOf(key)]));
}

/** `Object.keys` of an object that has no others than its type names. */
export function keysOf<R extends object>(record: R): (keyof R & string)[];
export function keysOf(record: object): string[] {
  return Object.keys(record);
}
