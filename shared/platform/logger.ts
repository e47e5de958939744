import { pino, type DestinationStream, type Logger as PinoLogger, type LevelWithSilent } from 'pino';

/** Where every log line goes: object first, message second, `logger.warn({ sessionId }, 'The file is gone.')`. */
export type Logger = PinoLogger;

/** Names whose values never reach a log, wherever they stand in the first four levels of a logged object. */
const SECRET_NAMES = [
  'authorization',
  'cookie',
  'token',
  'adminToken',
  'secret',
  'secrets',
  'webhookSecret',
  'webhookSecrets',
  'password',
  'apiKey',
];
/** The same for names that are no identifiers. */
const QUOTED_SECRET_NAMES = ['set-cookie', 'webhook-signature', 'x-api-key'];
const LEVELS_DEEP = 4;

function redactedPaths(): string[] {
  const above = Array.from({ length: LEVELS_DEEP }, (_, depth) => Array.from({ length: depth }, () => '*').join('.'));
  return above.flatMap((prefix) => [
    ...SECRET_NAMES.map((name) => (prefix === '' ? name : `${prefix}.${name}`)),
    ...QUOTED_SECRET_NAMES.map((name) => `${prefix}["${name}"]`),
  ]);
}

export interface LoggerOptions {
  level: LevelWithSilent;
  /** Which process or part is speaking: `watcher`, `worker`. */
  name: string;
  /** Defaults to standard output. */
  destination?: DestinationStream;
}

/**
 * Makes the process's logger; parts take a child of it with their own ids.
 *
 * Secrets are replaced by path, and a Redis error's command arguments are left out: they may hold whole payloads.
 */
export function createLogger({ level, name, destination }: LoggerOptions): Logger {
  const options = {
    level,
    name,
    redact: { paths: [...redactedPaths(), 'err.command.args', 'error.command.args'], censor: '[hidden]' },
  };
  return pino(options, destination ?? standardOutput());
}

/**
 * Written line by line: an asynchronous destination loses order at the end of a process and, where the reader is gone
 * (a killed supervisor), its flush at exit tries the broken pipe again for ever.
 */
function standardOutput(): DestinationStream {
  return pino.destination({ fd: 1, sync: true });
}

/** A logger that says nothing: the default of parts that are used as a library. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
