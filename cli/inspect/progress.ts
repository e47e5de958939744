/** Shows how far a long job is, on a terminal only. */
export interface Progress {
  step(what: string): void;
  end(): void;
}

const WIDTH = 24;
/** Redrawn at most this often: drawing must not cost more than looking. */
const REDRAW_MS = 80;
const CLEAR_LINE = '\r\u001B[K';

export const createProgress = (stream: { isTTY?: boolean; write(text: string): unknown }, total: number): Progress => {
  if (stream.isTTY !== true || total === 0) return { step: () => undefined, end: () => undefined };
  let done = 0;
  let drawnMs = 0;
  return {
    step(what) {
      done += 1;
      const nowMs = performance.now();
      if (nowMs - drawnMs < REDRAW_MS) return;
      drawnMs = nowMs;
      const filled = Math.round((done / total) * WIDTH);
      stream.write(
        `${CLEAR_LINE}[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${done}/${total} ${what.slice(0, 40)}`,
      );
    },
    end() {
      stream.write(CLEAR_LINE);
    },
  };
};
