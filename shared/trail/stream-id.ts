/** Id of an entry of the trail's Redis stream: `<epoch ms>-<sequence>`; it orders all entries. */
export type StreamId = string;

/** Before every entry. */
export const STREAM_START: StreamId = '0-0';

const PATTERN = /^(\d{1,15})-(\d{1,15})$/;

export const isStreamId = (text: string): boolean => PATTERN.test(text);

/** Negative, zero or positive, as for `sort`. What is no id counts as {@link STREAM_START}. */
export function compareStreamIds(a: StreamId, b: StreamId): number {
  const [aMs, aSeq] = partsOf(a);
  const [bMs, bSeq] = partsOf(b);
  return aMs - bMs || aSeq - bSeq;
}

export const isAfter = (a: StreamId, b: StreamId): boolean => compareStreamIds(a, b) > 0;

/** When the entry was written, epoch milliseconds (Redis time). */
export const streamIdMs = (id: StreamId): number => partsOf(id)[0];

function partsOf(id: StreamId): [number, number] {
  const found = PATTERN.exec(id);
  return found === null ? [0, 0] : [Number(found[1]), Number(found[2])];
}
