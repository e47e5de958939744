import type { Bench } from '../kit/bench.ts';
import { evaluations } from './evaluations.ts';
import { memory } from './memory.ts';
import { turnEnds } from './turn-ends.ts';
import { webhook } from './webhook.ts';

/** In the order in which they run. */
export const BENCHES: readonly Bench[] = [webhook, turnEnds, evaluations, memory];
