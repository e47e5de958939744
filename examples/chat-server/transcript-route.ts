import type { Request, Response } from 'express';
import { once } from 'node:events';
import { createReadStream, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../shared/platform/problem.ts';

/**
 * Sends the transcript, or the one range that was asked for (RFC 9110 §14). The size is taken once: what is appended while
 * the bytes go out belongs to the next request.
 */
export async function sendTranscript(path: string, request: Request, response: Response): Promise<void> {
  const { size, mtime } = await fileAt(path);
  response.set({
    'Accept-Ranges': 'bytes',
    'Content-Type': 'application/x-ndjson',
    'Last-Modified': mtime.toUTCString(),
  });
  const range = rangeOf(request.get('range'), size);
  if (range === 'unsatisfiable') {
    response.set('Content-Range', `bytes */${size}`);
    throw new Problem({ status: 416, code: 'range_not_satisfiable', detail: `The transcript has ${size} bytes.` });
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  if (range !== undefined) response.status(206).set('Content-Range', `bytes ${start}-${end}/${size}`);
  response.set('Content-Length', String(end - start + 1));
  if (request.method === 'HEAD' || end < start) return void response.end();
  const file = createReadStream(path, { start, end });
  await once(file, 'open');
  await pipeline(file, response).catch((error: NodeJS.ErrnoException) => {
    // The reader went away: its own business.
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
}

async function fileAt(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch {
    throw new Problem({ status: 404, code: 'transcript_missing', detail: 'This session has no transcript yet.' });
  }
}

/** One byte range; anything else (several ranges, another unit) is answered whole, as the RFC allows. */
function rangeOf(
  header: string | undefined,
  size: number,
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  if (from === '') {
    const length = Math.min(Number(to), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(from);
  const end = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (start >= size) return 'unsatisfiable';
  return end < start ? undefined : { start, end };
}
