import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { effectiveRecovery, resolveRecovery, type RecoveryLevels } from '#shared/settings/precedence.js';
import { RECOVERY_DEFAULTS, type RecoverySettings, type SettingSource } from '#shared/settings/recovery.js';

const FIELDS = ['surfaceKilledTask', 'autoReDrive', 'debounceMs', 'maxRetries', 'limboTimeoutMs'] as const;

const level = fc.record(
  {
    surfaceKilledTask: fc.boolean(),
    autoReDrive: fc.boolean(),
    debounceMs: fc.nat(),
    maxRetries: fc.nat(),
    limboTimeoutMs: fc.nat(),
  },
  { requiredKeys: [] },
);
const levels = fc.record({ file: level, environment: level, project: level }, { requiredKeys: [] });

/** The rule said again in the plainest way: look from the top. */
function expected(given: RecoveryLevels, field: keyof RecoverySettings): { value: unknown; source: SettingSource } {
  for (const source of ['project', 'environment', 'file'] as const) {
    const value = given[source]?.[field];
    if (value !== undefined) return { value, source };
  }
  return { value: RECOVERY_DEFAULTS[field], source: 'default' };
}

describe('precedence of the recovery settings', () => {
  it('takes each field from the highest level that has it, and says which that was', () => {
    fc.assert(
      fc.property(levels, (given) => {
        const effective = effectiveRecovery(given);
        for (const field of FIELDS) {
          const { value, source } = expected(given, field);
          expect(effective.values[field]).toBe(value);
          expect(effective.sources[field]).toBe(source);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('gives the built-in values where no level says anything', () => {
    expect(effectiveRecovery({})).toEqual({
      values: { surfaceKilledTask: true, autoReDrive: false, debounceMs: 5_000, maxRetries: 1, limboTimeoutMs: 0 },
      sources: {
        surfaceKilledTask: 'default',
        autoReDrive: 'default',
        debounceMs: 'default',
        maxRetries: 'default',
        limboTimeoutMs: 'default',
      },
    });
  });

  it('never throws and always ends in valid values, whatever stands in the blocks', () => {
    const environment = fc.dictionary(
      fc.constantFrom('PADDOCK_RECOVERY_SURFACE', 'PADDOCK_RECOVERY_DEBOUNCE_MS', 'PADDOCK_RECOVERY_MAX_RETRIES'),
      fc.string(),
    );
    const block = fc.oneof(fc.anything(), fc.dictionary(fc.constantFrom(...FIELDS), fc.anything()));
    fc.assert(
      fc.property(block, environment, block, (file, env, project) => {
        const { values } = resolveRecovery({ file, environment: env, project }).effective;
        expect(typeof values.surfaceKilledTask).toBe('boolean');
        expect(typeof values.autoReDrive).toBe('boolean');
        for (const field of ['debounceMs', 'maxRetries', 'limboTimeoutMs'] as const) {
          expect(Number.isSafeInteger(values[field]) && values[field] >= 0).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('lets a bad value fall to the next lower level, and names it in a warning', () => {
    const { effective, warnings } = resolveRecovery({
      file: { debounceMs: 700 },
      environment: { PADDOCK_RECOVERY_DEBOUNCE_MS: 'soon', PADDOCK_RECOVERY_MAX_RETRIES: '2' },
      project: { debounceMs: -1, maxRetries: 1.5 },
    });
    expect(effective.values).toMatchObject({ debounceMs: 700, maxRetries: 2 });
    expect(effective.sources).toMatchObject({ debounceMs: 'file', maxRetries: 'environment' });
    expect(warnings).toEqual([
      expect.stringMatching(/^PADDOCK_RECOVERY_DEBOUNCE_MS must be .*, not "soon"; it is ignored$/),
      expect.stringMatching(/^project\.yaml: recovery\.debounceMs must be .*, not -1; it is ignored$/),
      expect.stringMatching(/^project\.yaml: recovery\.maxRetries must be .*, not 1\.5; it is ignored$/),
    ]);
  });

  it('inherits through null and through a block that is none', () => {
    expect(
      resolveRecovery({ file: { maxRetries: 4 }, project: { maxRetries: null } }).effective.values.maxRetries,
    ).toBe(4);
    expect(resolveRecovery({ file: null, project: undefined }).warnings).toEqual([]);
    const { effective, warnings } = resolveRecovery({ file: { maxRetries: 4 }, project: ['maxRetries'] });
    expect(effective.values.maxRetries).toBe(4);
    expect(warnings).toEqual(['project.yaml: recovery must be a map of settings; it is ignored']);
  });

  it('names a key that is no setting', () => {
    const { warnings } = resolveRecovery({ project: { autoRedrive: true } });
    expect(warnings).toEqual(['project.yaml: recovery.autoRedrive is no recovery setting; it is ignored']);
  });
});

/** What comes of a variable's text. */
function read(text: string) {
  const { effective, warnings } = resolveRecovery({ environment: { PADDOCK_RECOVERY_AUTODRIVE: text } });
  return { on: effective.values.autoReDrive, source: effective.sources.autoReDrive, warnings };
}

describe('switches', () => {
  it.each(['1', 'true', 'TRUE', 'yes', 'Yes', ' true '])('%j is on', (text) => {
    expect(read(text)).toEqual({ on: true, source: 'environment', warnings: [] });
  });

  it.each(['0', 'false', 'no', 'off', 'OFF'])('%j is off', (text) => {
    expect(read(text)).toEqual({ on: false, source: 'environment', warnings: [] });
  });

  it.each(['on', 'y', '2', 'enabled', 'truee'])('%j is off too, but surely not meant so', (text) => {
    expect(read(text)).toEqual({
      on: false,
      source: 'environment',
      warnings: [
        `PADDOCK_RECOVERY_AUTODRIVE is read as off: it must be 1, true or yes to be on, not ${JSON.stringify(text)}`,
      ],
    });
  });

  it.each(['', '  '])('%j is unset', (text) => {
    expect(read(text)).toEqual({ on: false, source: 'default', warnings: [] });
  });

  it.each([
    [true, true],
    [false, false],
    ['yes', true],
    ['true', true],
    ['no', false],
  ])('in YAML %j is %j', (value, on) => {
    const { effective, warnings } = resolveRecovery({ file: { autoReDrive: value, surfaceKilledTask: value } });
    expect(effective.values).toMatchObject({ autoReDrive: on, surfaceKilledTask: on });
    expect(warnings).toEqual([]);
  });

  it.each([1, 0, [], {}, 3.5])('in YAML %j is invalid', (value) => {
    const { effective, warnings } = resolveRecovery({ file: { surfaceKilledTask: value } });
    expect(effective.sources.surfaceKilledTask).toBe('default');
    expect(warnings).toHaveLength(1);
  });
});
