import type { TrailKind } from '#shared/trail/reasons.js';
import type { SeedChat } from './seed.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A plausible morning of a team's chats; nothing of it is random, so that pictures can be compared. */
export function storyChats(): SeedChat[] {
  return [...hung(), ...underWay(), ...recovered(), ...calm()];
}

function hung(): SeedChat[] {
  return [
    {
      project: 'checkout-service',
      state: 'killed',
      ageMs: 3 * MINUTE,
      summary: 'Background command "Run the integration tests" was stopped',
      trail: [
        { kind: 'shown-only', agoMs: 3 * MINUTE - 5_200, reason: 'auto-off', detail: { verdict: 'killed-unanswered' } },
      ],
    },
    {
      project: 'data-pipeline',
      state: 'exhausted',
      ageMs: 26 * MINUTE,
      summary: 'Background command "Backfill orders 2026-10" was stopped',
      reason: 'cap-reached',
      trail: [
        { kind: 'claimed', agoMs: 41 * MINUTE, detail: { kind: 'auto', try: 1, maxRetries: 1, attempt: 'a-51f0c2' } },
        { kind: 'nudged', agoMs: 41 * MINUTE - 900, detail: { kind: 'auto', try: 1, attempt: 'a-51f0c2' } },
        { kind: 'recovered', agoMs: 40 * MINUTE, detail: { afterMs: 9_400, attempt: 'a-51f0c2' } },
        { kind: 'exhausted', agoMs: 26 * MINUTE, reason: 'cap-reached' },
      ],
    },
    {
      project: 'mobile-app',
      state: 'killed',
      ageMs: 48 * MINUTE,
      summary: 'Background command "npm run build:ios" was stopped',
      trail: [{ kind: 'deferred', agoMs: 47 * MINUTE, reason: 'budget-hour' }],
    },
    {
      project: 'search',
      state: 'unconfirmed',
      ageMs: 74 * MINUTE,
      summary: 'Agent "Compare the rankers" was stopped',
      reason: 'no-effect',
    },
    {
      project: 'infra',
      state: 'error',
      ageMs: 2 * HOUR,
      summary: 'Background command "terraform plan" was stopped',
      reason: 'verdict-error',
    },
  ];
}

function underWay(): SeedChat[] {
  return [
    {
      project: 'checkout-service',
      state: 'nudged',
      ageMs: 12_000,
      summary: 'Background command "docker build ." was stopped',
    },
    { project: 'docs-site', state: 'nudging', ageMs: 4_000, summary: 'Background command "Link check" was stopped' },
  ];
}

function recovered(): SeedChat[] {
  const projects = ['data-pipeline', 'search', 'web', 'mobile-app', 'web', 'infra', 'docs-site', 'web', 'search'];
  return projects.map((project, at) => ({ project, state: 'recovered', ageMs: (9 + at * 31) * MINUTE }));
}

function calm(): SeedChat[] {
  const projects = ['web', 'checkout-service', 'infra', 'search', 'mobile-app', 'data-pipeline', 'docs-site', ''];
  const states = ['watching', 'watching', 'watching', 'idle', 'watching', 'closed'] as const;
  return Array.from({ length: 120 }, (_, at) => ({
    project: projects[(at * 5) % projects.length] ?? '',
    state: states[at % states.length] ?? 'watching',
    ageMs: (1 + at * 2.3) * MINUTE,
  }));
}

/** A day of hangs, most of them nudged and recovered. */
export function storyTrail(): { kind: TrailKind; agoMs: number }[] {
  return Array.from({ length: 96 }, (_, at) => at).flatMap((at) => {
    const busy = Math.max(0, Math.round(2.4 + 2.6 * Math.sin(at / 9) + 1.4 * Math.sin(at / 2.3)));
    const lines: { kind: TrailKind; agoMs: number }[] = [];
    for (let each = 0; each < busy; each += 1) {
      const agoMs = (96 - at) * 15 * MINUTE - each * 67_000;
      lines.push({ kind: 'killed-task', agoMs });
      if ((at + each) % 6 !== 0) lines.push({ kind: 'nudged', agoMs: agoMs - 6_000 });
      if ((at + each) % 6 !== 0 && (at + each) % 11 !== 0) lines.push({ kind: 'recovered', agoMs: agoMs - 15_000 });
    }
    return lines.filter(({ agoMs }) => agoMs > 0);
  });
}
