import * as fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { describe, expect, it } from 'vitest';
import { editBlock, removeBlock } from '#shared/settings/yaml-edit.js';
import { YamlFault } from '#shared/settings/yaml-text.js';

const edit = (text: string, change: Record<string, boolean | number | null>): string =>
  editBlock(text, 'recovery', change);
const remove = (text: string): string => removeBlock(text, 'recovery');

const COMMENTED = `# head
name:   "Payments"   # odd   spacing

recovery:    # ours
    autoReDrive:   true   # on since May
    # maxRetries: 9
    debounceMs: 5000

# tail
list: [ 1,2,   3 ]
folded: >-
   some
   text
long: this is a line that is a good deal longer than eighty columns, which a careless writer would fold into two
`;

describe('a change of single fields', () => {
  it('touches only the characters of the value', () => {
    expect(edit(COMMENTED, { autoReDrive: false })).toBe(COMMENTED.replace('true   # on', 'false   # on'));
  });

  it('puts a new field behind the last one, at its indent', () => {
    expect(edit(COMMENTED, { maxRetries: 3 })).toBe(
      COMMENTED.replace('debounceMs: 5000\n', 'debounceMs: 5000\n    maxRetries: 3\n'),
    );
  });

  it('takes a field away with its line', () => {
    expect(edit(COMMENTED, { autoReDrive: null })).toBe(COMMENTED.replace(/ +autoReDrive.*\n/, ''));
    expect(edit(COMMENTED, { debounceMs: null, limboTimeoutMs: 7 })).toBe(
      COMMENTED.replace('debounceMs: 5000', 'limboTimeoutMs: 7'),
    );
  });

  it('leaves the text alone where it already says so', () => {
    expect(edit(COMMENTED, { autoReDrive: true, maxRetries: null })).toBe(COMMENTED);
    expect(edit('a: 1', { maxRetries: null })).toBe('a: 1');
  });

  it.each([
    ['an empty file', '', 'recovery:\n  maxRetries: 2\n'],
    ['a file of comments', '# only\n', '# only\nrecovery:\n  maxRetries: 2\n'],
    ['no line break at the end', 'a: 1', 'a: 1\nrecovery:\n  maxRetries: 2\n'],
    ['Windows line breaks', 'a: 1\r\n', 'a: 1\r\nrecovery:\r\n  maxRetries: 2\r\n'],
    ['an empty block', 'recovery:\na: 1\n', 'recovery:\n  maxRetries: 2\na: 1\n'],
    ['an empty block with a comment', 'recovery: # x\na: 1\n', 'recovery: # x\n  maxRetries: 2\na: 1\n'],
    ['a field without a value', 'recovery:\n  maxRetries:\n', 'recovery:\n  maxRetries: 2\n'],
    ['a field with a bad value', 'recovery:\n  maxRetries: "x" # y\n', 'recovery:\n  maxRetries: 2 # y\n'],
    ['an empty map', '{}\n', 'recovery:\n  maxRetries: 2\n'],
    ['a byte-order mark', '\uFEFFa: 1\n', '\uFEFFa: 1\nrecovery:\n  maxRetries: 2\n'],
  ])('works on %s', (_what, before, after) => expect(edit(before, { maxRetries: 2 })).toBe(after));

  it.each([
    ['flow style', '# c\nrecovery: { autoReDrive: true } # d\na: 1\n'],
    ['flow style at the top', '{ a: 1, recovery: { autoReDrive: true } }\n'],
    ['an alias', 'x: &x\n  autoReDrive: true\nrecovery: *x\na: 1\n'],
    ['a block that is none', 'recovery: yes\na: 1\n'],
    ['an end mark', 'a: 1\n...\n'],
    ['a text that keeps its last line break', 'a: |+\n  text\n\n'],
    ['a text that ends without one', 'a: |\n  text'],
  ])('keeps every other value in %s', (_what, before) => {
    const was = parse(before) as Record<string, unknown>;
    const is = parse(edit(before, { maxRetries: 2 })) as Record<string, unknown>;
    expect(is).toEqual({ ...was, recovery: expect.objectContaining({ maxRetries: 2 }) });
    for (const comment of before.match(/# \w/g) ?? []) expect(edit(before, { maxRetries: 2 })).toContain(comment);
  });

  it.each([
    ['a: [1\nb: 2\n', 2],
    ['a: 1\nb:\n  - x\n c: 3\n', 4],
    ['a: 1\na: 2\n', 2],
    ['- a\n- b\n', 1],
    ['just text\n', 1],
    ['a: *nobody\n', 1],
  ])('refuses %j and names the line', (text, line) => {
    for (const change of [() => edit(text, { maxRetries: 2 }), () => remove(text)]) {
      expect(change).toThrow(YamlFault);
      expect(change).toThrow(expect.objectContaining({ line }));
    }
  });
});

describe('removing the block', () => {
  it('takes its lines and nothing else', () => {
    expect(remove(COMMENTED)).toBe(COMMENTED.replace(/recovery:[^]*debounceMs: 5000\n/, ''));
    expect(remove('a: 1\nrecovery:\n  x: 1')).toBe('a: 1\n');
    expect(remove('a: 1\n')).toBe('a: 1\n');
  });

  it('leaves an empty map where nothing else was', () => {
    expect(remove('# c\nrecovery:\n  maxRetries: 1\n')).toBe('# c\n{}\n');
  });
});

describe('for any map', () => {
  const key = fc.stringMatching(/^[a-z]{1,6}$/).filter((name) => name !== 'recovery');
  const value = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.array(fc.string()),
    fc.dictionary(key, fc.string()),
  );
  const block = fc.dictionary(
    fc.constantFrom('autoReDrive', 'maxRetries', 'debounceMs'),
    fc.oneof(fc.boolean(), fc.nat()),
  );
  const change = fc.dictionary(
    fc.constantFrom('autoReDrive', 'maxRetries', 'limboTimeoutMs'),
    fc.oneof(fc.boolean(), fc.nat(), fc.constant(null)),
    { minKeys: 1 },
  );
  const layout = fc.record({ indent: fc.constantFrom(2, 4), collectionStyle: fc.constantFrom('any', 'block', 'flow') });

  it('an edit changes what it should and nothing else', () => {
    fc.assert(
      fc.property(
        fc.dictionary(key, value),
        fc.option(block),
        fc.dictionary(key, value),
        change,
        layout,
        (a, b, c, fields, how) => {
          const before = { ...a, ...(b === null ? {} : { recovery: b }), ...c };
          const text = stringify(before, { indent: how.indent, collectionStyle: how.collectionStyle as 'any' });
          const kept = Object.entries({ ...b, ...fields }).filter(([, wanted]) => wanted !== null);
          const { recovery = null, ...others } = parse(edit(text, fields)) as Record<string, unknown>;
          expect(recovery ?? {}).toEqual(Object.fromEntries(kept));
          expect(others).toEqual({ ...a, ...c });
          expect(parse(remove(text))).toEqual({ ...a, ...c });
        },
      ),
      { numRuns: 500 },
    );
  });
});
