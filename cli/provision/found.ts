import type { Run } from './run.ts';

/** A Redis that was found: one that runs already, a program to start, or an image to start. */
export type RedisFound =
  | { kind: 'url'; url: string }
  | {
      kind: 'program';
      path: string;
      /** For `LD_LIBRARY_PATH`, where the program was unpacked rather than installed. */
      libraryPath: string | undefined;
    }
  | { kind: 'docker'; image: string };

export interface ProvisionContext {
  /** The process's environment. */
  env: NodeJS.ProcessEnv;
  run: Run;
  /** Told in one sentence when something that takes long begins. */
  say: (sentence: string) => void;
}

/** One way to a Redis. */
export interface Way {
  /** As the last sentence names it: `set REDIS_URL`. */
  advice: string;
  /** The Redis, or in a few words why there is none this way. Rejects only where a Redis was asked for by name. */
  find(context: ProvisionContext): Promise<RedisFound | string>;
}
