import { parseArgs } from 'node:util';

/** Ways to break the deployment on purpose: each must make the run fail. */
export const SABOTAGES = ['claim', 'key', 'lookup', 'repeat'] as const;
export type Sabotage = (typeof SABOTAGES)[number];

export interface ChaosOptions {
  seed: number;
  chats: number;
  minutes: number;
  sabotage: Sabotage | undefined;
  /** Keep the folder of journal, transcripts and logs even where all is well. */
  keep: boolean;
}

export const USAGE = `npm run chaos -- [--seed N] [--chats N] [--minutes M] [--break ${SABOTAGES.join('|')}] [--keep]
npm run chaos -- --judge FOLDER      judges a kept run again`;

/** @throws a sentence for the caller where an argument is wrong. */
export function parseOptions(args: readonly string[]): ChaosOptions | { judge: string } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: '1' },
      chats: { type: 'string', default: '60' },
      minutes: { type: 'string', default: '1' },
      break: { type: 'string' },
      keep: { type: 'boolean', default: false },
      judge: { type: 'string' },
    },
  });
  if (values.judge !== undefined) return { judge: values.judge };
  return {
    seed: number('seed', values.seed, 0),
    chats: number('chats', values.chats, 10),
    minutes: number('minutes', values.minutes, 0.5),
    sabotage: sabotage(values.break),
    keep: values.keep,
  };
}

function number(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isFinite(value) && value >= least) return value;
  throw new Error(`--${name} must be a number of at least ${least}, not "${text}".`);
}

function sabotage(text: string | undefined): Sabotage | undefined {
  const found = SABOTAGES.find((name) => name === text);
  if (text !== undefined && found === undefined) throw new Error(`--break must be one of ${SABOTAGES.join(', ')}.`);
  return found;
}
