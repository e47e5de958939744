import { describe, expect, it } from 'vitest';
import { loadSettings, SettingsError } from '#shared/settings/environment.js';
import { isLoopback } from '#shared/settings/start-rules.js';

const HOME = '/home/someone';

/** What a start is refused for: field → message. */
function refusal(env: Record<string, string>, file?: unknown): Record<string, string> {
  try {
    loadSettings({ HOME, ...env }, file);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return Object.fromEntries(error.problems.map(({ field, message }) => [field, message]));
  }
  throw new Error('the settings were accepted');
}

describe('process settings', () => {
  it('have defaults for an empty environment', () => {
    const { settings, sources, warnings } = loadSettings({ HOME });
    expect(settings).toEqual({
      redisUrl: 'redis://127.0.0.1:6379',
      redisTag: 'chat-recovery',
      host: '127.0.0.1',
      port: 8_787,
      adminToken: undefined,
      loginTtlMs: 43_200_000,
      sessionTokenTtlMs: 600_000,
      adminBoardWrite: false,
      basePath: undefined,
      trustProxy: undefined,
      webhookRateLimit: 60_000,
      noticeWebhookUrl: undefined,
      noticeWebhookSecret: undefined,
      webhookToleranceMs: 300_000,
      workerPort: 0,
      workerConcurrency: 5,
      workerReplicas: 1,
      sessionApiTimeoutMs: 10_000,
      maxNudgesPerHour: 60,
      maxConcurrent: 5,
      maxNoticeAgeMs: 21_600_000,
      settleMs: 10_000,
      dryRun: false,
      nudgeConfirmMs: 60_000,
      nudgeLabel: 'Paddock recovery',
      nudgeTemplateFile: undefined,
      wakeGraceMs: 30_000,
      sessionTtlMs: 604_800_000,
      watchMaxAgeMs: 86_400_000,
      transcriptSource: 'file',
      scanLimitBytes: 67_108_864,
      configFile: undefined,
      dataDir: './data',
      logLevel: 'info',
      traces: false,
      shutdownDeadlineMs: 8_000,
      chatServers: [
        {
          id: 'default',
          webhookSecrets: [],
          sessionApi: { driver: 'none', url: undefined, token: undefined },
          projectsDir: undefined,
          transcriptRoots: [{ theirs: `${HOME}/.claude/projects`, ours: `${HOME}/.claude/projects` }],
          claudeHome: `${HOME}/.claude`,
        },
      ],
    });
    expect(new Set(Object.values(sources))).toEqual(new Set(['default']));
    expect(warnings).toEqual([]);
  });

  it('come from the file, and from the environment over it, field by field', () => {
    const file = { port: 1_234, logLevel: 'debug', sessionTtlMs: '2d', scanLimitBytes: '1MB', dryRun: true };
    const { settings, sources } = loadSettings({ HOME, PORT: '0', RECOVERY_DRY_RUN: 'no' }, file);
    expect(settings).toMatchObject({
      port: 0,
      logLevel: 'debug',
      sessionTtlMs: 172_800_000,
      scanLimitBytes: 1_048_576,
      dryRun: false,
    });
    expect(sources).toMatchObject({
      port: 'environment',
      logLevel: 'file',
      sessionTtlMs: 'file',
      dryRun: 'environment',
      host: 'default',
    });
  });

  it('fall a level lower where a value is bad, and say so', () => {
    const { settings, sources, warnings } = loadSettings(
      { HOME, LOG_LEVEL: 'loud', WORKER_CONCURRENCY: '0', PADDOCK_RECOVERY_LIMBO_MS: 'never' },
      { logLevel: 'warn', maxConcurrent: [], recovery: { maxRetries: 'x' } },
    );
    expect(settings).toMatchObject({ logLevel: 'warn', workerConcurrency: 5, maxConcurrent: 5 });
    expect(sources).toMatchObject({ logLevel: 'file', workerConcurrency: 'default' });
    expect(warnings.map((warning) => warning.split(' ')[0])).toEqual([
      'maxConcurrent',
      'WORKER_CONCURRENCY',
      'LOG_LEVEL',
      'recovery.maxRetries',
      'PADDOCK_RECOVERY_LIMBO_MS',
    ]);
  });

  it('name keys of the file that mean nothing', () => {
    expect(loadSettings({ HOME }, { Port: 1, recoveri: {} }).warnings).toEqual([
      'The instance file has unknown keys that are ignored: Port, recoveri',
    ]);
  });

  it('take secrets in the file by reference', () => {
    const file = { adminToken: '${TOKEN}', redisUrl: 'redis://:${PASS}@10.0.0.1:6379', nudgeLabel: '${TOKEN}' };
    const { settings } = loadSettings({ HOME, TOKEN: 'abc', PASS: 'xyz' }, file);
    expect(settings).toMatchObject({
      adminToken: 'abc',
      redisUrl: 'redis://:xyz@10.0.0.1:6379',
      nudgeLabel: '${TOKEN}',
    });
    expect(refusal({}, file)).toMatchObject({
      adminToken: 'refers to ${TOKEN}, which is not set',
      redisUrl: 'refers to ${PASS}, which is not set',
    });
  });
});

describe('a start is refused', () => {
  it('for an open address without secrets, naming everything that is missing', () => {
    expect(Object.keys(refusal({ HOST: '0.0.0.0' }))).toEqual(['ADMIN_TOKEN', 'WEBHOOK_SECRETS']);
    expect(Object.keys(refusal({ HOST: '0.0.0.0', ADMIN_TOKEN: 'x' }))).toEqual(['WEBHOOK_SECRETS']);
    expect(Object.keys(refusal({ HOST: '::', WEBHOOK_SECRETS: 'x' }))).toEqual(['ADMIN_TOKEN']);
    const file = { chatServers: [{ id: 'a', webhookSecrets: 'aaaa' }, { id: 'b' }] };
    expect(refusal({ HOST: '10.1.2.3', ADMIN_TOKEN: 'x' }, file)['WEBHOOK_SECRETS']).toContain('chat server b');
    expect(loadSettings({ HOME, HOST: '0.0.0.0', ADMIN_TOKEN: 'x', WEBHOOK_SECRETS: 'y' }).settings.host).toBe(
      '0.0.0.0',
    );
  });

  it('for what nothing can stand in for, all at once', () => {
    const env = { REDIS_URL: 'localhost:6379', PORT: '80a', SESSION_API_DRIVER: 'http', SESSION_API_URL: 'nowhere' };
    expect(Object.keys(refusal(env))).toEqual(['REDIS_URL', 'PORT', 'SESSION_API_URL']);
    expect(() => loadSettings(env)).toThrow(/REDIS_URL must[^]*PORT must[^]*SESSION_API_URL must/);
  });

  it('for a file that is no map, or is not there', () => {
    expect(() => loadSettings({ HOME }, ['port'])).toThrow(SettingsError);
    expect(refusal({ CHAT_RECOVERY_CONFIG: '/nowhere/at/all.yaml' })['CHAT_RECOVERY_CONFIG']).toMatch(
      /\/nowhere\/at\/all\.yaml cannot be read: ENOENT/,
    );
  });

  it('without ever showing a secret', () => {
    const env = {
      HOST: '0.0.0.0',
      WEBHOOK_SECRETS: 's3cr3t',
      REDIS_URL: 'http://s3cr3t@x',
      SESSION_API_TOKEN: 's3cr3t',
    };
    expect(JSON.stringify(refusal(env))).not.toContain('s3cr3t');
    expect(JSON.stringify(refusal({ SESSION_API_URL: 'ftp://me:s3cr3t@x' }))).not.toContain('s3cr3t');
  });
});

it.each([
  ['127.0.0.1', true],
  ['127.8.9.1', true],
  ['localhost', true],
  ['LOCALHOST', true],
  ['::1', true],
  ['[::1]', true],
  ['::ffff:127.0.0.1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['127.0.0.1.example.com', false],
  ['localhost.example.com', false],
  ['', false],
])('%j as an address is loopback: %j', (host, loopback) => expect(isLoopback(host)).toBe(loopback));

describe('tokens and notices', () => {
  const problems = (env: Record<string, string>, file?: unknown): string[] => {
    try {
      loadSettings({ HOME, ...env }, file);
      return [];
    } catch (error) {
      return error instanceof SettingsError
        ? error.problems.map(({ field, message }) => `${field} ${message}`)
        : [String(error)];
    }
  };

  it('no two parties share a token', () => {
    expect(problems({ ADMIN_TOKEN: 'one', CHAT_SERVER_TOKEN: 'one' })).toEqual([
      'accessToken of chat server default is that of ADMIN_TOKEN too',
    ]);
    const chatServers = ['a', 'b'].map((id) => ({ id, accessToken: 'one' }));
    expect(problems({}, { chatServers })).toEqual(['accessToken of chat server b is that of chat server a too']);
  });

  it('notices are signed or not sent', () => {
    expect(problems({ NOTICE_WEBHOOK_URL: 'http://127.0.0.1/hook' })).toEqual([
      'NOTICE_WEBHOOK_SECRET is needed to sign what goes to NOTICE_WEBHOOK_URL',
    ]);
  });
});
