import type { FileMark, TranscriptSource, TranscriptView } from '#shared/transcript/finding.js';
import type { RangeAnswer, RangeClient } from './range-client.ts';

/** The end of the file comes with its size, and is nearly always enough for a verdict. */
const TAIL_BYTES = 16 * 1024;
/** Where a chat server knows no ranges, a transcript up to this length is taken whole. */
const WHOLE_BYTES = 1024 * 1024;
/**
 * Each further part is fetched with this much of the one behind it: only where the two agree were both cut from one file.
 * Every entry has ids and times of its own, so another file never has the same bytes at the same place.
 */
const SEAM_BYTES = 256;

/**
 * One session's transcript through its chat server's session API, a part at a time.
 *
 * The view is what stood in the file when it was opened. A file that shrinks, is replaced or goes away while it is read ends
 * the read as the local one does: it is begun again, or is missing. The path of `open` means nothing here.
 */
export function remoteTranscript(client: RangeClient, sessionId: string): TranscriptSource {
  return {
    async open() {
      const answer = await client.get(sessionId, `-${TAIL_BYTES}`, WHOLE_BYTES);
      switch (answer.kind) {
        case 'part':
          return new RemoteView(client, sessionId, answer);
        case 'whole':
          return wholeView(answer);
        case 'outside':
          return answer.total === 0 ? wholeView({ bytes: Buffer.alloc(0), modifiedMs: 0 }) : UNREADABLE_RANGE;
        case 'missing':
          return { missing: true };
        case 'failed':
          return { unreadable: answer.code };
      }
    },
  };
}

const UNREADABLE_RANGE = { unreadable: 'invalid_answer' };

function wholeView({ bytes, modifiedMs }: { bytes: Buffer; modifiedMs: number }): TranscriptView {
  return {
    mark: { size: bytes.length, mtimeMs: modifiedMs, ino: 0 },
    readAt: (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)),
    close: () => Promise.resolve(),
  };
}

type Part = Extract<RangeAnswer, { kind: 'part' }>;

class RemoteView implements TranscriptView {
  readonly mark: FileMark;
  readonly #client: RangeClient;
  readonly #sessionId: string;
  readonly #tail: Part;
  /** The beginning of the part that was read last, which lies lowest so far. */
  #seam: { offset: number; bytes: Buffer };

  constructor(client: RangeClient, sessionId: string, tail: Part) {
    this.#client = client;
    this.#sessionId = sessionId;
    this.#tail = tail;
    this.mark = { size: tail.total, mtimeMs: tail.modifiedMs, ino: 0 };
    this.#seam = { offset: tail.start, bytes: tail.bytes.subarray(0, SEAM_BYTES) };
  }

  /** Fewer bytes than asked for say that the file is another now. */
  async readAt(offset: number, length: number): Promise<Buffer> {
    const inTail = offset - this.#tail.start;
    if (inTail >= 0) return this.#tail.bytes.subarray(inTail, inTail + length);
    const end = Math.min(offset + length, this.mark.size);
    const seam = this.#seam.offset <= end ? this.#seam : undefined;
    const last = seam === undefined ? end : Math.max(end, seam.offset + seam.bytes.length);
    const bytes = await this.#fetch(offset, last);
    if (bytes === undefined || (seam !== undefined && !fits(bytes, offset, seam))) return CHANGED;
    this.#seam = { offset, bytes: bytes.subarray(0, SEAM_BYTES) };
    return bytes.subarray(0, end - offset);
  }

  /** Whether its end is still what it was. */
  async isIntact(): Promise<boolean> {
    const seen = this.#tail.bytes.subarray(-SEAM_BYTES);
    const offset = this.mark.size - seen.length;
    const bytes = await this.#fetch(offset, this.mark.size);
    return bytes?.equals(seen) ?? false;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Throws like the file system where there is nothing to be had. `undefined`: the file is shorter than it was, or another. */
  async #fetch(offset: number, end: number): Promise<Buffer | undefined> {
    const answer = await this.#client.get(this.#sessionId, `${offset}-${end - 1}`, end - offset);
    switch (answer.kind) {
      case 'part':
        return answer.start === offset && answer.bytes.length === end - offset && answer.total >= this.mark.size
          ? answer.bytes
          : undefined;
      case 'whole':
      case 'outside':
        return undefined;
      case 'missing':
        throw Object.assign(new Error('The transcript has gone.'), { code: 'ENOENT' });
      case 'failed':
        throw Object.assign(new Error(`The transcript cannot be read: ${answer.code}.`), { code: answer.code });
    }
  }
}

const CHANGED = Buffer.alloc(0);

function fits(bytes: Buffer, offset: number, seam: { offset: number; bytes: Buffer }): boolean {
  const at = seam.offset - offset;
  return bytes.subarray(at, at + seam.bytes.length).equals(seam.bytes);
}
