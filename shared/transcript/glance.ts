import type { FileMark, TranscriptSource } from './finding.ts';

/** More than this is read as everything else is. */
const MOST_BYTES = 64 * 1_024;
const NEWLINE = 0x0a;
const WORD = 'task-notification';
/** An ASCII letter, a hyphen or a bracket written as an escape: legal JSON, though nobody writes it. */
const ESCAPED = /\\u00[2-7]/;

/**
 * A glance at what was appended to a transcript since it was judged: the file as it is now where nothing in that can be a
 * notification or a part of one, else `undefined`, which says only that it must be read.
 *
 * No chat becomes hung by anything but a notification, and each of them has its name in it (SPEC §5). It counts only where the
 * judged part ended with a line end: what is appended to half a line may complete one.
 */
export const glance = async (
  source: TranscriptSource,
  path: string,
  since: FileMark,
): Promise<FileMark | undefined> => {
  const view = await source.open(path);
  if (!('mark' in view)) return undefined;
  try {
    const { ino, size } = view.mark;
    const length = size - since.size;
    if (ino !== since.ino || since.size === 0 || length <= 0 || length > MOST_BYTES) return undefined;
    const bytes = await view.readAt(since.size - 1, length + 1);
    if (bytes.length !== length + 1 || bytes[0] !== NEWLINE) return undefined;
    const text = bytes.toString('latin1').toLowerCase();
    return text.includes(WORD) || ESCAPED.test(text) ? undefined : view.mark;
  } finally {
    await view.close();
  }
};
