import type { LifecycleEvent } from '#shared/session/events.js';
import type { DeliveryResult, Delivery } from '#shared/session/store.js';
import type { ChatServer } from '#shared/settings/environment.js';
import { Problem } from '#shared/platform/problem.js';
import type { FileMark } from '#shared/transcript/finding.js';
import type { Refusal } from '#shared/transcript/locate.js';
import { arming, type Arming } from './arming.ts';
import type { BackstopJobs } from './backstop-jobs.ts';
import type { WatcherCore } from './ports.ts';
import type { Published } from './published.ts';
import type { Recent } from './recent.ts';
import type { Transcripts } from './transcripts.ts';

/** A delivery whose sender is known and whose body fits the schema. */
export interface Accepted {
  deliveryId: string;
  server: ChatServer;
  source: Delivery['source'];
  event: LifecycleEvent;
  /** When the sender signed it, epoch milliseconds; where nothing is signed, when it came. */
  signedMs: number;
  /** Correlation id for logs, jobs and trail. */
  cid: string;
  /** The chat hung already when it was first seen, so nobody watched it hang: shown, never nudged by itself. */
  foundHung?: boolean;
}

/** Body of the 202. */
export interface DeliveryAnswer {
  armed: boolean;
  reason: DeliveryResult['reason'];
  generation: number;
  duplicate?: true;
}

export interface DeliveryParts {
  core: WatcherCore;
  backstop: BackstopJobs;
  transcripts: Transcripts;
  published: Published;
  recent: Recent;
}

/** How far a stamp may be ahead of the moment the delivery was signed. */
const AHEAD_MS = 5_000;

/**
 * Applies one lifecycle event: check, record, see to its job on the queue; only then is there an answer (SPEC §4.1).
 *
 * Throws {@link Problem} 422 or 409 without having changed anything, or the connection's error when Redis is away: then
 * nothing was promised, and repeating the delivery completes whatever had been done.
 */
export async function acceptDelivery(parts: DeliveryParts, accepted: Accepted): Promise<DeliveryAnswer> {
  const { core } = parts;
  const { event, server, cid } = accepted;
  refuseFuture(event, accepted.signedMs);
  const arm = event.type === 'turn.ended' ? await prepareArm(parts, accepted, event.data) : undefined;
  const result = await core.store.applyEvent({
    deliveryId: accepted.deliveryId,
    server: server.id,
    source: accepted.source,
    cid,
    event,
    knownServers: core.settings.chatServers.map((known) => known.id),
    ...(arm === undefined ? {} : { arm: armedAs(arm) }),
  });
  if (result.outcome === 'other-owner') throw otherOwner(event.data.sessionId);
  if (result.step !== undefined) await parts.backstop.expect(result.step);
  parts.recent.add(accepted);
  follow(parts, accepted, result, arm);
  return {
    armed: result.armed,
    reason: result.reason,
    generation: result.generation,
    ...(result.outcome === 'duplicate' ? { duplicate: true as const } : {}),
  };
}

function refuseFuture(event: LifecycleEvent, signedMs: number): void {
  if (event.timestamp <= signedMs + AHEAD_MS) return;
  throw new Problem({
    status: 422,
    code: 'timestamp_ahead',
    field: 'timestamp',
    detail: `"timestamp" is more than ${AHEAD_MS / 1_000} s ahead of the moment the delivery was signed.`,
  });
}

type TurnEnd = Extract<LifecycleEvent, { type: 'turn.ended' }>['data'];

/** What a turn end arms, and the file as it was found. */
interface Arm extends Arming {
  path: string;
  mark: FileMark | undefined;
}

/** The part of it that is recorded. */
const armedAs = ({ path, armed, auto, reason }: Arm): NonNullable<Delivery['arm']> => ({ path, armed, auto, reason });

async function prepareArm(
  { core, published, transcripts }: DeliveryParts,
  { server, foundHung }: Accepted,
  data: TurnEnd,
): Promise<Arm> {
  const theirs = data.transcriptPath ?? core.reader.defaultPath(server, data.cwd ?? '', data.sessionId);
  const isWatched = (path: string): boolean => transcripts.isWatching(data.sessionId, path);
  const confined = await core.reader.confine(server, theirs, isWatched);
  if ('refused' in confined) {
    throw new Problem({
      status: 422,
      code: 'transcript_path_outside_roots',
      field: data.transcriptPath === undefined ? 'data.cwd' : 'data.transcriptPath',
      detail: REFUSED_PATHS[confined.refused],
      extra: { reason: confined.refused },
    });
  }
  const { values } = await published.project(server, data.project);
  const what = arming(data, values);
  return { path: confined.path, mark: confined.mark, ...what, ...(what.armed && foundHung === true ? FOUND_HUNG : {}) };
}

const FOUND_HUNG = { auto: false, reason: 'found-hung' } as const;

const REFUSED_PATHS = {
  'not-absolute': 'The transcript path is not absolute.',
  'odd-path': 'The transcript path has ".." or NUL in it.',
  'sub-agent': 'The transcript path is that of a sub-agent, not of a chat.',
  'outside-roots': 'The transcript path does not resolve under one of the transcript roots of this chat server.',
  unresolvable: 'The transcript path cannot be resolved.',
} as const satisfies Record<Refusal, string>;

function otherOwner(sessionId: string): Problem {
  return new Problem({
    status: 409,
    code: 'session_owned_by_other_server',
    field: 'data.sessionId',
    detail: `Session ${sessionId} belongs to another chat server of this deployment; nothing was changed.`,
  });
}

/** The watching side learns what the record now says. */
function follow(
  { transcripts }: DeliveryParts,
  { event, server, cid }: Accepted,
  result: DeliveryResult,
  arm: Arm | undefined,
): void {
  const { sessionId, project } = event.data;
  if (result.outcome === 'stale') return;
  switch (event.type) {
    case 'turn.ended':
      if (arm === undefined) return;
      if (result.armed) {
        const { path, auto, mark } = arm;
        transcripts.arm({ sessionId, server, project, path, auto, generation: result.generation, cid }, mark);
      } else if (result.outcome === 'applied') transcripts.end(sessionId);
      return;
    case 'session.closed':
      if (result.outcome === 'applied') transcripts.end(sessionId);
      return;
    case 'turn.started':
    case 'message.human':
    case 'task.stopped':
      transcripts.advance(sessionId, result.generation, event.type === 'message.human');
  }
}
