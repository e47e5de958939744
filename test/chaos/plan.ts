import { planFaults, type Fault } from './plan-faults.ts';
import { planChat, type ChatPlan } from './plan-chat.ts';
import { Random } from './random.ts';
import { phasesOf, type Phases } from './scale.ts';

/** All that a run does on purpose, settled before it begins: a failing seed plays the same again. */
export interface Plan {
  phases: Phases;
  chats: ChatPlan[];
  faults: Fault[];
  /** Chats of the last act, in which no watcher ever comes back; further ones where the machine was too slow for it. */
  lastAct: ChatPlan[][];
}

const LAST_ACT_TRIES = 4;

export function makePlan({ seed, chats, minutes }: { seed: number; chats: number; minutes: number }): Plan {
  const phases = phasesOf(minutes);
  const random = new Random(`chaos ${seed} ${chats} ${minutes}`);
  const last = Math.max(3, Math.round(chats * 0.02));
  return {
    phases,
    chats: Array.from({ length: chats - last }, (_, index) =>
      planChat(random.fork(`chat ${index}`), { index, phases, minutes }),
    ),
    faults: planFaults(random.fork('faults'), phases, minutes),
    lastAct: Array.from({ length: LAST_ACT_TRIES }, (__, nth) =>
      Array.from({ length: last }, (_, index) =>
        planChat(random.fork(`last ${nth} ${index}`), { index: chats - last + index, phases, minutes, kind: 'late' }),
      ),
    ),
  };
}
