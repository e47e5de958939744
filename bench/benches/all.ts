import type { Bench } from '../kit/bench.ts';
import { appends } from './appends.ts';
import { coverage } from './coverage.ts';
import { evaluations } from './evaluations.ts';
import { idle } from './idle.ts';
import { memory } from './memory.ts';
import { transcripts } from './transcripts.ts';
import { turnEnds } from './turn-ends.ts';
import { webhook } from './webhook.ts';

/** In the order in which they run. */
export const BENCHES: readonly Bench[] = [webhook, turnEnds, idle, coverage, transcripts, evaluations, memory, appends];
